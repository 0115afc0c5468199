"""The formats by name: what reads the calls of each, and what writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import SettingError, did_you_mean, require
from . import json_calls, python_calls, text_calls
from .scan import Attempt, failed
from .writers import WRITERS, Step

Find = Callable[[str], Iterable[Attempt]]
Write = Callable[[Sequence[Step]], str]


@dataclass(frozen=True)
class Format:
    """One way to write calls. ``find``: the attempts in a text, linear in it, never raising.

    ``plain``: where strings stand in a call as they are, so that marks of all kinds may stand in
    them, what opens a value and what closes it. ``opened``: the prompt may end within a thought, so
    that a mark which closes one needs none that opens it.
    """

    name: str
    find: Find
    write: Write
    plain: tuple[str, str] | None = None
    opened: bool = True


_FINDERS: Mapping[str, Find] = {
    "hermes": json_calls.hermes,
    "qwen3_coder": text_calls.qwen3_coder,
    "llama3_json": json_calls.llama3_json,
    "llama_pythonic": python_calls.llama_pythonic,
    "mistral": json_calls.mistral,
    "glm45": text_calls.glm45,
    "deepseek_v3": json_calls.deepseek_v3,
    "deepseek_v31": json_calls.deepseek_v31,
    "gemma_tool_code": python_calls.gemma_tool_code,
    "openai_message": json_calls.openai_message,
    "harmony": json_calls.harmony,
    "kimi_k2": json_calls.kimi_k2,
    "lfm2": python_calls.lfm2,
    "granite33": json_calls.granite33,
}

_PLAIN = {
    "qwen3_coder": ("<parameter=", "</parameter>"),
    "glm45": ("<arg_value>", "</arg_value>"),
}

#: The formats that are known, by name.
FORMATS: dict[str, Format] = {
    name: Format(name, find, WRITERS[name], _PLAIN.get(name)) for name, find in _FINDERS.items()
}


def register_format(
    name: str,
    read: Callable[[str], Iterable[tuple[str, Mapping[str, Any]]]],
    write: Callable[[Sequence[tuple[str, Mapping[str, Any]]]], str],
) -> None:
    """Make a format of your own known, to ``format=`` and to ``parse_calls``.

    ``format="auto"`` tries it, too: a chat template whose calls ``read`` reads back exactly is
    taken to speak it.

    Args:
        name: what ``format=`` calls it.
        read: a message of the model, its thoughts blanked, to its calls, ``(tool, arguments)``,
            in order. Any string whatever may come; ValueError says what is wrong with a call.
        write: calls to the message that makes them: the inverse.

    Both should be functions at the top level of a module: environments that work in other
    processes pickle them.

    Raises:
        SettingError: the name is taken, or what is written is not read back.
    """
    require(name not in FORMATS and name not in ("", "auto"), f"format {name!r} is there already")
    for probe in _PROBES:
        found = _as_written(read, write(probe))
        require(
            found == probe,
            f"format {name!r}: of {probe}, written as {write(probe)!r}, {found} is read",
        )
    FORMATS[name] = Format(name, _Simple(read), write)


#: What every format must be able to write and read.
_PROBES: tuple[list[Step], ...] = (
    [("f", {})],
    [("f", {"a": "x", "b": 1}), ("g", {"c": [True, None]})],
)


def _as_written(read: Callable[[str], Iterable[Any]], text: str) -> Any:
    try:
        return [(tool, dict(arguments)) for tool, arguments in read(text)]
    except Exception as error:  # a user's function
        return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class _Simple:
    """A reader of a user's, as the formats here have it."""

    read: Callable[[str], Iterable[tuple[str, Mapping[str, Any]]]]

    def __call__(self, text: str) -> Iterator[Attempt]:
        try:
            for name, arguments in self.read(text):
                yield Attempt(0, len(text), str(name), dict(arguments))
        except ValueError as error:
            yield failed(0, len(text), "invalid_markup", str(error) or "the call cannot be read")


def format_named(name: str | Format) -> Format:
    """Return the format of this name.

    Raises:
        SettingError: there is none.
    """
    if isinstance(name, Format):
        return name
    if name not in FORMATS:
        raise SettingError(f"format={name!r} is unknown. {did_you_mean(str(name), FORMATS)}")
    return FORMATS[name]
