"""An environment of reward functions and a file: ``from_reward_func``.

    task = mint_envs.from_reward_func([exact, brief], weights=[1, 0.2], dataset="rows.csv")
    mint_envs.register("my/Rows-v0", task)

The functions may be made for TRL, verl or OpenRLHF, or be plain ones of ``response``, ``prompt``,
``answer`` or a field of the rows; which, is read from their parameters. A command takes the same:
``mint-grpo rewards.py:exact --dataset rows.csv``.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from string import Formatter
from typing import Annotated, Any, Literal

import numpy as np

from ..bench.target.functions import adapt, no_number, number_of
from ..core import Message, Prompt, Reward, Task
from ..datasets import DatasetTask, Row, look_up, placed_rows
from ..errors import DatasetError, MintEnvsError, RewardError, SettingError, require
from ..family import Dataset, Drop, Split, Style
from ..loading import FUNCTIONS, Loaded, imported
from ..records.fields import GOLDS, PROMPTS, gold_of, prompt_of
from ..responses.texts import CONSTANTS, GARBAGE, ODD
from .mint import RLAdapter
from .reward_ranges import (
    checked_ranges,
    leaves_range,
    outside_range,
    paid_too_little,
    scaled_reward,
)

_TEXTS = 200  # responses on which a range that was not declared is measured
_ROWS = 12  # of which, in all forms of an answer
_SECONDS = 5.0  # at most, for a function that is slow

#: In which an answer may be wanted.
_FORMS = (
    "{}",
    "The answer is {}.",
    "Answer: {}",
    "\\boxed{{{}}}",
    "#### {}",
    "<answer>{}</answer>",
)

Functions = Callable[..., Any] | str | Sequence[Callable[..., Any] | str]


def from_reward_func(
    functions: Functions,
    weights: Sequence[float] | None = None,
    dataset: str | Sequence[Row] | None = None,
    *,
    prompt: str | None = None,
    answer: str | None = None,
    ranges: Sequence[Sequence[float]] | None = None,
    split: str | None = None,
    drop: str | None = None,
    style: Literal["completion", "chat"] = "chat",
) -> FunctionsTask:
    """Return a task of rows whose reward is the weighted mean of ``functions``.

    Args:
        functions: one or several, or their names: ``"module:function"``, ``"file.py:function"``.
            A function returns a number; None is a reward that could not be measured.
        weights: one for each function, none negative; None: all alike.
        dataset: rows, a file (JSONL, JSON, Parquet, CSV), a folder of such files, or a Hugging
            Face data set.
        prompt: the field that is the prompt, or a template of fields
            (``"{question}\\n{options}"``); None: the first of prompt, question, problem ...
        answer: the field that functions get as the answer; None: the first of answer, gold ...
        ranges: lowest and highest reward of each function. None: all of them are in [0, 1], which
            is tried on 200 texts here.
        split: ``"train"``, ``"test"`` (one row in ten, held out) or ``"all"``; None: all.
        drop: a file of problems to leave out, as ``mint-envs audit`` writes.
        style: ``"chat"``: a prompt that is text is a user's message; ``"completion"``: it is
            continued as it is.

    Returns:
        The task. ``parts`` of its rewards are the functions' own, each scaled to [0, 1];
        ``metadata["raw"]`` is what they returned. It can be given to ``mint_envs.register``, to
        ``TokenEnv`` and to the kit.

    Raises:
        SettingError: a function is none of a known form, leaves its range, or has a parameter that
            the rows do not fill; a weight is negative; all are 0.
        DatasetError: the data set cannot be read, or a row has no prompt.
    """
    many = [functions] if callable(functions) or isinstance(functions, str) else list(functions)
    return FunctionsTask(many, weights, dataset, prompt, answer, ranges, split, drop, style)


class FunctionsTask(Loaded, DatasetTask[Row]):
    """Rows, and reward functions of any library: see ``from_reward_func``."""

    def __init__(
        self,
        functions: Annotated[list[Any], "reward functions: file.py:name, or module:name"],
        weights: Annotated[Any, "of the functions, none negative; default: all alike"] = None,
        dataset: Dataset | Any = None,
        prompt: Annotated[str | None, "field of the prompt, or a template: '{q} {a}'"] = None,
        answer: Annotated[str | None, "field that functions get as the answer"] = None,
        ranges: Annotated[Any, "lowest and highest reward of each; default: 0 and 1"] = None,
        split: Split = None,
        drop: Drop = None,
        style: Style = "chat",
    ) -> None:
        require(bool(functions), "functions is empty: give at least one reward function")
        require(style in ("chat", "completion"), f"style={style!r}: 'chat' or 'completion'")
        self._names = _distinct_names([_name_of_function(one) for one in functions])
        self._weights = _checked_weights(weights, self._names)
        self._ranges = checked_ranges(ranges, self._names)
        rows = _rows_of(dataset, split)
        self._style = style
        super().__init__([_Row(row, prompt, answer, where) for where, row in rows], None, drop)
        self._calls = [
            adapt(imported(one) if isinstance(one, str) else one, name, self.rows or ())
            for one, name in zip(functions, self._names, strict=True)
        ]
        _check_answers(functions, self.rows or ())
        settings = {
            "functions": [_importable_name(one) for one in functions], "weights": weights,
            "dataset": dataset, "prompt": prompt, "answer": answer, "ranges": ranges,
            "split": split, "drop": drop, "style": style,
        }  # fmt: skip
        self.recipe = _recipe(settings)
        if self.recipe is not None:
            self.source = _made_again, settings
        self._seen = {name: list[float]() for name in self._names}
        if ranges is None:
            self._measure()

    # -- problems ---------------------------------------------------------------------------------

    def key(self, problem: Row) -> str:
        return str(problem.text)  # type: ignore[attr-defined]

    def draw(self, rng: np.random.Generator) -> Row:
        raise NotImplementedError("its problems are rows")

    def prompt(self, problem: Any) -> Prompt:
        asked: Prompt = problem.asked
        if isinstance(asked, str) and self._style == "chat":
            return [Message(role="user", content=asked)]
        return asked

    # -- verdicts ---------------------------------------------------------------------------------

    def score(self, problem: Any, response: str) -> Reward:
        raw: dict[str, Any] = {}
        parts: dict[str, float] = {}
        total = 0.0
        rows = zip(self._names, self._calls, self._weights, self._ranges, strict=True)
        for name, call, weight, bounds in rows:
            value = _given_by(call, name, problem, response)
            raw[name] = value if value is None else _number(value, name)
            if value is not None:
                parts[name] = scaled_reward(raw[name], bounds, name)
                total += weight * parts[name]
        if None in raw.values():
            return Reward(None, metadata={"raw": raw})
        return Reward(min(1.0, total), parts, {"raw": raw})

    def examples(self, problem: Any) -> dict[str, float]:
        """Return the answer of the row, in the first of some usual forms that is paid in full."""
        gold = gold_of(problem)
        for form in _FORMS if isinstance(gold, str | int | float) else ():
            text = form.format(gold)
            if self.score(problem, text).score == 1.0:
                return {text: 1.0}
        return {}

    def advice_without_examples(self) -> str:
        """Return why no answer of the rows is paid in full, and what to do, for the kit."""
        told = [paid_too_little(name, values) for name, values in self._seen.items()]
        why = "; ".join(filter(None, told)) or (
            f"no answer of the rows earns the full mark, in {len(_FORMS)} usual forms"
        )
        return f"{why}. Where only another form is paid in full, give it by examples() of a class"

    def _measure(self) -> None:
        """Try on some texts that the functions stay in [0, 1].

        Raises:
            SettingError: one does not; tells the range that it showed.
        """
        began, seen = time.monotonic(), self._seen
        for problem, text in _pairs(self.rows or ()):
            for name, call in zip(self._names, self._calls, strict=True):
                value = _given_by(call, name, problem, text)
                if value is not None:
                    seen[name].append(_number(value, name))
            if time.monotonic() - began > _SECONDS:
                break
        for name, values in seen.items():
            if leaves_range(values):
                raise SettingError(outside_range(name, values, seen.values()))


class _Row(dict[str, Any]):
    """A row as functions see it, and what its prompt is."""

    def __init__(self, row: Row, prompt: str | None, answer: str | None, where: str) -> None:
        super().__init__(row)
        self.where = where
        if answer is not None:
            self["answer"] = _field_of(row, answer, where)
        self.asked = _prompt_in(row, prompt, where)
        self.text = repr(self.asked) if not isinstance(self.asked, str) else self.asked


def _rows_of(dataset: Any, split: str | None) -> Sequence[tuple[str, Row]]:
    """Return (where it stands, row)."""
    if dataset is None:
        raise SettingError(
            "reward functions bring no problems: give dataset=, a file of rows with a prompt and "
            "an answer"
        )
    if isinstance(dataset, str):
        return placed_rows(dataset, split)
    require(split in (None, "all"), f"split={split!r} is of a file: split the rows yourself")
    require(bool(dataset), "dataset is empty: it must hold at least one row")
    return [(f"row {number} of the rows given", row) for number, row in enumerate(dataset, 1)]


def _prompt_in(row: Row, prompt: str | None, where: str) -> Prompt:
    """Return the prompt of a row.

    Raises:
        DatasetError: it has none; names the fields that it has.
    """
    if prompt is None:
        if look_up(row, PROMPTS) is None:
            raise DatasetError(
                f"{where} has no prompt: none of {', '.join(PROMPTS)} in "
                f"{', '.join(map(str, row)) or '(nothing)'}. Name its field, or a template: "
                "prompt='{question} {options}'"
            )
        return _placed_prompt(row, where)
    names = [name for _, name, _, _ in Formatter().parse(prompt) if name is not None]
    if not names:
        return _placed_prompt({"prompt": _field_of(row, prompt, where)}, where)
    values = {name: _field_of(row, name, where) for name in names}
    return re.sub(r"\{([^{}]*)\}", lambda found: str(values[found[1]]), prompt)


def _placed_prompt(row: Row, where: str) -> Prompt:
    try:
        return prompt_of(row)
    except (DatasetError, KeyError) as error:  # no role or content, or a part that is no text
        raise DatasetError(f"{where}: the prompt is no text and no messages: {error}") from None


def _field_of(row: Row, name: str, where: str) -> Any:
    value = look_up(row, [name])
    if value is None:
        why = "is null" if name in row else f"is not there; it has {', '.join(map(str, row))}"
        raise DatasetError(f"{where}: the field {name!r} {why}")
    return value


# -- functions, their weights and ranges ----------------------------------------------------------


def _name_of_function(one: Any) -> str:
    if isinstance(one, str):
        return one.rpartition(":")[2]
    return str(getattr(one, "__name__", type(one).__name__))


def _distinct_names(names: Sequence[str]) -> list[str]:
    return [
        name if names.count(name) == 1 else f"{name} {names[: n + 1].count(name)}"
        for n, name in enumerate(names)
    ]


def _checked_weights(weights: Any, names: Sequence[str]) -> list[float]:
    """Return the weights as shares of 1."""
    given = [1.0] * len(names) if weights is None else list(weights)
    require(
        len(given) == len(names), f"weights={weights}: {len(names)} functions want as many weights"
    )
    good = all(isinstance(w, int | float) and 0 <= w < float("inf") for w in given)
    require(good, f"weights={weights}: numbers from 0 up; a penalty is a function of its own range")
    require(sum(given) > 0, f"weights={weights}: at least one must be above 0")
    return [weight / sum(given) for weight in given]


def _given_by(call: Callable[..., Any], name: str, problem: Any, response: str) -> Any:
    """Return what a function gives for a response, or the number in it.

    Raises:
        RewardError: the function raised.
    """
    try:
        return number_of(call(problem, problem.asked, response))
    except MintEnvsError:
        raise
    except (Exception, SystemExit) as error:  # a user's function: whatever it raises
        raise RewardError(
            f"{name} raised {type(error).__name__} on the response {response!r:.60}: {error}. It "
            "gets whatever a model writes: return 0 for what it cannot read"
        ) from error


def _check_answers(functions: Sequence[Any], problems: Sequence[Any]) -> None:
    """Refuse a row without an answer, where a function asks for it: every response would be wrong.

    Raises:
        DatasetError: there is one; names it, and the field that is null.
    """
    if not any(_ANSWERS & _asked_by(one) for one in functions):
        return
    for row in problems:
        if gold_of(row) is None:
            empty = next((name for name in GOLDS if name in row), None)
            why = f"the field {empty!r} is null" if empty else "there is no answer"
            raise DatasetError(
                f"{row.where}: {why}, and the reward asks for it. Give it a value, leave the row "
                "out, or name its field: answer='...'"
            )


_ANSWERS = frozenset(("answer", "gold", "ground_truth", "solution", "label", "target"))


def _asked_by(one: Any) -> set[str]:
    try:
        return set(inspect.signature(imported(one) if isinstance(one, str) else one).parameters)
    except (TypeError, ValueError):  # of a builtin
        return set()


def _number(value: Any, name: str) -> float:
    """Return what a function gave as a float.

    Raises:
        RewardError: it is no number.
    """
    if isinstance(value, str | bytes) or not isinstance(value, int | float | np.number | np.bool_):
        raise RewardError(f"{name} gave {value!r:.80}, {no_number(value)}")
    return float(value)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Any, str]]:
    """Yield (row, response): right answers in the usual forms, those of other rows, odd texts."""
    few = rows[:_ROWS]
    pairs = [(row, form.format(gold_of(row))) for row in few for form in _FORMS]
    pairs += [(row, str(gold_of(other))) for row, other in pairwise(few)]
    odd = enumerate([*GARBAGE, *ODD, *CONSTANTS])
    pairs += [(rows[number % len(rows)], text) for number, text in odd]
    yield from pairs[:_TEXTS]


# -- the same task in another process -------------------------------------------------------------


def _importable_name(one: Any) -> str | None:
    """Return ``"module:name"`` of a function, if that is how another process finds it."""
    if isinstance(one, str):
        return one
    module, name = getattr(one, "__module__", None), getattr(one, "__qualname__", "")
    found: Any = sys.modules.get(str(module))
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is one else None


def _recipe(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return (task, settings) for ``register``; None if they cannot be written to a file."""
    if None in settings["functions"] or not isinstance(settings["dataset"], str):
        return None
    kept = {name: value for name, value in settings.items() if value is not None}
    return f"{__name__}:FunctionsTask", kept


def _made_again(settings: Mapping[str, Any]) -> FunctionsTask:
    return FunctionsTask(**settings)


def register_function(id: str, register: Callable[..., None]) -> None:
    """Register the id of one function, ``"functions/MODULE.NAME-v0"``, as ``locate`` writes it."""
    found = FUNCTIONS.fullmatch(id)
    assert found is not None
    name = f"{found[1]}:{found[2]}"
    named = imported(name)
    if isinstance(named, type) and issubclass(named, Task | RLAdapter):
        register(id, name)
    else:
        register(id, f"{__name__}:FunctionsTask", functions=[name])
