"""Reward functions of any library, called through one form: ``call(row, prompt, response)``.

Which library a function is made for is read from the names of its parameters.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core import Prompt
from ...datasets import Row
from ...errors import SettingError
from ...problems import as_text
from ...process_local import ProcessLocal
from ...records.fields import GOLDS, gold_of

Call = Callable[[Row, Prompt, str], Any]

RESPONSES = ("response", "completion", "output", "generation", "solution_str", "prediction")
_SAMPLES = ("sample", "row", "problem", "example", "item", "doc", "data", "record")
_HARMLESS = ("log_extra", "log_metric", "trainer_state")
_OF_TRL = {"prompts", "completions", "completion_ids", *_HARMLESS}
_OF_VERL = {"data_source", "solution_str", "ground_truth", "extra_info"}


def adapt(function: Callable[..., Any], name: str, rows: Sequence[Row] = ()) -> Call:
    """Return ``function`` in the one form.

    Known: TRL (``prompts``, ``completions``), verl (``solution_str``, ``ground_truth``; in batches
    their plurals), OpenRLHF (``queries``, ``prompts``, ``labels``), and plain functions whose
    parameters are called ``response`` (or ``completion``, ``output``), ``prompt``, ``answer`` (or
    ``gold``, ``ground_truth``), ``sample`` (or ``row``), or as a field of the rows.

    Args:
        rows: if given, a parameter that none of them fills is refused.

    Raises:
        SettingError: the signature is none of these.
    """
    call, needed = _adapted(function, name)
    fields = {key for row in rows for key in row}
    missing = sorted(needed - fields) if rows else []
    if missing:
        hint = ": it is a method, name one of an instance" if missing == ["self"] else ""
        raise SettingError(
            f"{name} has a parameter {missing[0]!r}, and the rows have only "
            f"{', '.join(sorted(map(str, fields)))}{hint}"
        )
    return call


def _adapted(function: Callable[..., Any], name: str) -> tuple[Call, set[str]]:
    """Return the function in the one form, and the fields without which it cannot be called."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} cannot be called as a reward function: {error}") from None
    if "completions" in parameters:
        return _trl(function, parameters), _without_default(parameters) - _OF_TRL
    if "solution_str" in parameters:
        return _verl(function, parameters), _without_default(parameters) - _OF_VERL
    if "solution_strs" in parameters:
        of_batches = {f"{key}s" for key in _OF_VERL}
        return _verl_batch(function, parameters), _without_default(parameters) - of_batches
    if {"queries", "prompts"} <= set(parameters):
        return _open_rlhf(function), set()
    return _from_signature(function, parameters, name)


def _without_default(parameters: Mapping[str, inspect.Parameter]) -> set[str]:
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {n for n, p in parameters.items() if p.default is p.empty and p.kind not in starred}


def _running_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


_loop = ProcessLocal(_running_loop)


def _finish(value: Any) -> Any:
    """Return the value; of an async function, once it is there.

    All run in one loop in a thread of its own, as in TRL: what they keep belongs to their loop.
    """
    if not inspect.isawaitable(value):
        return value
    found, error = asyncio.run_coroutine_threadsafe(_awaited(value), _loop.get()).result()
    if error is not None:
        raise error
    return found


async def _awaited(value: Any) -> tuple[Any, BaseException | None]:
    try:
        return await value, None
    except BaseException as error:  # SystemExit would end the loop
        return None, error


def _accepted_arguments(
    parameters: Mapping[str, inspect.Parameter], offered: Mapping[str, Any]
) -> Any:
    """Return of ``offered`` what the function has a parameter for."""
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(offered)
    return {key: value for key, value in offered.items() if key in parameters}


def _trl(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        chat = not isinstance(prompt, str)
        completion = [{"role": "assistant", "content": response}] if chat else response
        ids = list(response.encode("utf-8", "replace"))
        offered = {key: [value] for key, value in row.items()}
        offered |= {"prompts": [prompt], "completions": [completion], "completion_ids": [ids]}
        extra: dict[str, Any] = dict.fromkeys(_HARMLESS[:2], lambda *_: None)
        return _only_reward(
            _finish(
                function(
                    **_accepted_arguments(parameters, {**extra, "trainer_state": None, **offered})
                )
            )
        )

    return call


def _verl(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        return _finish(function(**_accepted_arguments(parameters, _verl_offers(row, response))))

    return call


def _verl_batch(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        offered = {f"{key}s": [value] for key, value in _verl_offers(row, response).items()}
        return _only_reward(_finish(function(**_accepted_arguments(parameters, offered))))

    return call


def _verl_offers(row: Row, response: str) -> dict[str, Any]:
    return {
        "data_source": row.get("data_source", "bench"),
        "solution_str": response,
        "ground_truth": gold_of(row),
        "extra_info": row.get("extra_info") or {},
    }


def _open_rlhf(function: Callable[..., Any]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        text = as_text(prompt)
        return _only_reward(_finish(function([text + response], [text], [gold_of(row)])))

    return call


def _from_signature(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], name: str
) -> tuple[Call, set[str]]:
    makers = {p.name: _maker(p, n) for n, p in enumerate(parameters.values())}
    if "response" not in {kind for kind, _ in makers.values()}:
        raise SettingError(
            f"{name}{inspect.signature(function)}: no parameter takes the response. Name one "
            f"{', '.join(RESPONSES[:3])}; the others prompt, answer, sample or a field of the rows"
        )
    placed = {n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY}
    starred = {p.kind for p in parameters.values()}

    def call(row: Row, prompt: Prompt, response: str) -> Any:
        given = {name: make(row, prompt, response) for name, (kind, make) in makers.items() if kind}
        if inspect.Parameter.VAR_KEYWORD in starred:
            given = {**{k: v for k, v in row.items() if k not in parameters}, **given}
        first = [given.pop(name) for name in makers if name in placed]
        return _finish(function(*first, **given))

    needed = {n for n, (kind, _) in makers.items() if kind == "field"}
    return call, needed & _without_default(parameters)


def _maker(parameter: inspect.Parameter, number: int) -> tuple[str, Call]:
    """Return (what a parameter takes, how it is filled); "" for the starred ones."""
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "", lambda row, prompt, response: None
    if name in RESPONSES or (number == 0 and name == "text"):
        return "response", lambda row, prompt, response: response
    if name in ("prompt", "query"):
        return "prompt", lambda row, prompt, response: prompt
    if name == "question":
        return "prompt", lambda row, prompt, response: _question(row, prompt)
    if name in _SAMPLES:
        return "sample", lambda row, prompt, response: row
    if name in GOLDS:
        return "gold", lambda row, prompt, response: row.get(name, gold_of(row))
    if parameter.default is parameter.empty:
        return "field", lambda row, prompt, response: row[name]
    return "field", lambda row, prompt, response: row.get(name, parameter.default)


def _question(row: Row, prompt: Prompt) -> str:
    """The row's own question as text; else what the prompt says."""
    own = row.get("question")
    if isinstance(own, str):
        return own
    return as_text(prompt)


def _only_reward(value: Any) -> Any:
    """Return the only reward of a batch of one."""
    if isinstance(value, Mapping):
        value = value.get("rewards", value.get("scores"))
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    if len(value) != 1:
        raise ValueError(f"1 completion got {len(value)} rewards")
    return value[0]


def number_of(value: Any) -> Any:
    """Return the number in what a reward function returned: its score, its item, or itself."""
    if isinstance(value, Mapping) and "score" in value:
        value = value["score"]
    elif hasattr(value, "score") and not callable(value.score):
        value = value.score
    if hasattr(value, "item") and callable(value.item):
        value = value.item()
    return value
