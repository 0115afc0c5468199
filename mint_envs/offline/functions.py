"""Reward functions of any library, called through one form: ``call(row, prompt, response)``.

Which library a function is made for is read from the names of its parameters.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Prompt
from ..datasets import Row, look_up
from ..errors import SettingError

Call = Callable[[Row, Prompt, str], Any]

PROMPTS = ("prompt", "question", "problem", "query", "q", "instruction", "input", "text", "content")
GOLDS = (
    "reward_model.ground_truth",
    "reward_spec.ground_truth",
    "answer",
    "gold",
    "ground_truth",
    "expected",
    "target",
    "reference",
    "canonical_solution",
    "solution",
    "label",
)
RESPONSES = ("response", "completion", "output", "generation", "solution_str", "prediction")
_SAMPLES = ("sample", "row", "problem", "example", "item", "doc", "data", "record")
_HARMLESS = ("log_extra", "log_metric", "trainer_state")


def gold_of(row: Row) -> Any:
    """Return the right answer of a row under any of its usual names, else None."""
    return look_up(row, GOLDS)


def adapt(function: Callable[..., Any], name: str) -> Call:
    """Return ``function`` in the one form.

    Known: TRL (``prompts``, ``completions``), verl (``solution_str``, ``ground_truth``), OpenRLHF
    (``queries``, ``prompts``, ``labels``), and plain functions whose parameters are called
    ``response`` (or ``completion``, ``output``), ``prompt``, ``answer`` (or ``gold``,
    ``ground_truth``), ``sample`` (or ``row``), or as a field of the rows.

    Raises:
        SettingError: the signature is none of these.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} cannot be called as a reward function: {error}") from None
    if "completions" in parameters:
        return _trl(function, parameters)
    if "solution_str" in parameters:
        return _verl(function, parameters)
    if {"queries", "prompts"} <= set(parameters):
        return _open_rlhf(function)
    return _plain(function, parameters, name)


def _finish(value: Any) -> Any:
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Any) -> Any:
    return await value


def _wanted(parameters: Mapping[str, inspect.Parameter], offered: Mapping[str, Any]) -> Any:
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
        return _one(
            _finish(function(**_wanted(parameters, {**extra, "trainer_state": None, **offered})))
        )

    return call


def _verl(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        offered = {
            "data_source": row.get("data_source", "bench"),
            "solution_str": response,
            "ground_truth": gold_of(row),
            "extra_info": row.get("extra_info") or {},
        }
        return _finish(function(**_wanted(parameters, {**offered})))

    return call


def _open_rlhf(function: Callable[..., Any]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        text = prompt if isinstance(prompt, str) else "\n".join(m["content"] for m in prompt)
        return _one(_finish(function([text + response], [text], [gold_of(row)])))

    return call


def _plain(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], name: str
) -> Call:
    makers = [_maker(p, number, name) for number, p in enumerate(parameters.values())]
    if "response" not in {kind for kind, _ in makers}:
        raise SettingError(
            f"{name}{inspect.signature(function)}: no parameter takes the response. Name one "
            f"{', '.join(RESPONSES[:3])}; the others prompt, answer, sample or a field of the rows"
        )

    def call(row: Row, prompt: Prompt, response: str) -> Any:
        return _finish(function(*(m(row, prompt, response) for kind, m in makers if kind)))

    return call


def _maker(parameter: inspect.Parameter, number: int, owner: str) -> tuple[str, Call]:
    """Return (what a parameter takes, how it is filled); "" for one that is left to its default."""
    name = parameter.name
    optional = parameter.default is not parameter.empty
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
        return "", lambda row, prompt, response: None
    if name in RESPONSES or (number == 0 and name == "text"):
        return "response", lambda row, prompt, response: response
    if name in ("prompt", "question", "query"):
        return "prompt", lambda row, prompt, response: prompt
    if name in _SAMPLES:
        return "sample", lambda row, prompt, response: row
    if name in GOLDS:
        return "gold", lambda row, prompt, response: row.get(name, gold_of(row))
    return ("" if optional else "field"), lambda row, prompt, response: _field(row, name, owner)


def _field(row: Row, name: str, owner: str) -> Any:
    if name not in row:
        raise SettingError(
            f"{owner} has a parameter {name!r}, and the rows have only {', '.join(map(str, row))}"
        )
    return row[name]


def _one(value: Any) -> Any:
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
