"""Compute the rewards of recorded episodes again: a run's ``rollouts.jsonl``, or ``RecordJSONL``'s.

A row says what its episode was made of: ``env``, ``env_settings`` (and ``wrappers``), ``seed`` or
``index``; and what was said: ``turns``. That is all a reward depends on.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import wrappers
from ..compose.wrapper import TaskChange
from ..core import Reward, Task
from ..errors import DatasetError, MintEnvsError, SettingError, require
from ..jsonl import read_rows
from ..problems import NUMBERS, ProblemRef, Turns, play_all, play_whole
from ..registration import make, task_of

_CHUNK = 512  # rows that are scored together

SAME, DIFFERS, UNMEASURED, UNMEASURED_NOW, LOST = (
    "same", "differs", "unmeasured", "unmeasured now", "cannot be rebuilt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One row, and what came of it.

    ``status`` is ``SAME``, ``DIFFERS``, ``UNMEASURED`` (it was not measured then, and is not
    compared), ``UNMEASURED_NOW``, or ``LOST`` (why is in ``note``).
    """

    line: int
    row: Mapping[str, Any]
    status: str
    now: float | None = None
    note: str = ""


@dataclass
class Lines:
    """The rows of a file, plain or .gz, one at a time. ``torn``: the last line was cut off."""

    path: Path
    torn: bool = False

    def __post_init__(self) -> None:
        if self.path.is_dir():
            found = [self.path / name for name in ("rollouts.jsonl", "rollouts.jsonl.gz")]
            self.path = next((path for path in found if path.is_file()), found[0])
        if not self.path.is_file():
            raise DatasetError(f"{self.path} does not exist: name the rollouts.jsonl of a run")

    def rows(self, on_bytes: Callable[[int], None] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield (line number, row); ``on_bytes`` is told how far the file has been read.

        Raises:
            DatasetError: a line that was written to its end is no JSON object.
        """
        return read_rows(self.path, self._note_torn, on_bytes)

    def _note_torn(self, line: int) -> None:
        self.torn = True


def origin_of_run(folder: Path) -> dict[str, Any]:
    """Return ``env`` and ``env_settings`` of a run whose rows do not say, from its config.json."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        settings = dict(config["env_settings"])
        origin = {"env": str(config["env"]), "env_settings": settings}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    if config.get("eval_every"):
        origin["split"] = "train"  # given to the environments that have the setting
    return origin


def replay(
    rows: Iterable[tuple[int, Mapping[str, Any]]], origin: Mapping[str, Any] | None = None
) -> Iterator[RowVerdict]:
    """Yield the verdict on every (line number, row), in order.

    Args:
        rows: as ``Lines.rows`` gives them.
        origin: ``env`` and ``env_settings`` for rows that do not name theirs.
    """
    tasks = _Tasks(dict(origin or {}))
    chunk: list[tuple[int, Mapping[str, Any]]] = []
    for item in rows:
        chunk.append(item)
        if len(chunk) == _CHUNK:
            yield from _judge_rows(tasks, chunk)
            chunk = []
    yield from _judge_rows(tasks, chunk)


class _Tasks:
    """The tasks of rows, each made once."""

    def __init__(self, origin: dict[str, Any]) -> None:
        self._split = origin.pop("split", None)
        self._origin = origin
        self._made: dict[str, Task[Any] | str] = {}

    def of(self, row: Mapping[str, Any]) -> Task[Any]:
        """Return the task of a row.

        Raises:
            SettingError: it names none, or one that cannot be made.
        """
        own = {k: v for k, v in row.items() if k in _ORIGIN and v}
        full = own if row.get("env") else {**self._origin, **own}
        key = json.dumps(full, sort_keys=True, default=str)
        if key not in self._made:
            try:
                self._made[key] = self._make(full, own=bool(row.get("env")))
            except MintEnvsError as error:
                self._made[key] = str(error)
        task = self._made[key]
        if isinstance(task, str):
            raise SettingError(task)
        return task

    def _make(self, full: Mapping[str, Any], own: bool) -> Task[Any]:
        id, settings = full.get("env"), dict(full.get("env_settings", {}))
        if not id:
            raise SettingError("the row names no environment: give --env ID")
        around = full.get("wrappers", [])
        if around:
            return _wrapped(make(id, **settings), around)
        if not own and self._split and "split" not in settings:
            try:
                return task_of(id, **settings, split=self._split)
            except SettingError:
                pass
        return task_of(id, **settings)


_ORIGIN = ("env", "env_settings", "wrappers")


def _wrapped(env: Any, around: Sequence[Any]) -> Task[Any]:
    """Return the task of ``env`` in these wrappers, which are ours."""
    for wrapper in around:
        env = _wrap(env, wrapper)
    task: Task[Any] = env.unwrapped.task
    return task


def _wrap(env: Any, wrapper: Any) -> Any:
    good = isinstance(wrapper, Mapping) and isinstance(wrapper.get("settings"), Mapping)
    require(good, f"the wrapper {reprlib.repr(wrapper)} has no name and settings")
    module, _, name = str(wrapper.get("name")).partition(":")
    if module.startswith("gymnasium."):
        return env
    found = getattr(wrappers, name, None) if module.startswith("mint_envs.wrappers") else None
    if not (isinstance(found, type) and issubclass(found, TaskChange)):
        raise SettingError(f"the wrapper {wrapper.get('name')} is not one of mint_envs")
    try:
        return found(env, **wrapper["settings"])
    except TypeError as error:  # settings that it does not have
        raise SettingError(f"the wrapper {name}: {error}") from error


# -- verdicts -------------------------------------------------------------------------------------


def _judge_rows(tasks: _Tasks, chunk: Sequence[tuple[int, Mapping[str, Any]]]) -> list[RowVerdict]:
    """Return the verdicts on some rows; single turns of one task are scored in one batch."""
    verdicts: dict[int, RowVerdict] = {}
    batches: dict[int, tuple[Task[Any], list[tuple[int, Any, Turns]]]] = {}
    for place, (line, row) in enumerate(chunk):
        try:
            _check_row_form(row)
            if not row.get("scored", True):
                verdicts[place] = RowVerdict(line, row, UNMEASURED)
                continue
            task = tasks.of(row)
            problem = _rebuilt_problem(task, row)
            turns = _recorded_turns(row)
            if task.single_turn:
                _, batch = batches.setdefault(id(task), (task, []))
                batch.append((place, problem, turns))
            else:
                reward = play_whole(task, problem, turns, cut=bool(row.get("truncated")))
                verdicts[place] = _compare_reward(line, row, reward)
        except MintEnvsError as error:
            verdicts[place] = RowVerdict(line, row, LOST, note=str(error))
    for task, batch in batches.values():
        rewards = play_all(task, [(problem, turns) for _, problem, turns in batch])
        for (place, _, _), reward in zip(batch, rewards, strict=True):
            verdicts[place] = _compare_reward(*chunk[place], reward)
    return [verdicts[place] for place in range(len(chunk))]


#: What a row may hold, where it holds anything: a file may have been edited, or be of another tool.
_FORM: Mapping[str, tuple[type, str]] = {
    "env": (str, "an id"),
    "env_settings": (dict, "an object"),
    "wrappers": (list, "a list"),
    "turns": (list, "a list of texts"),
}


def _check_row_form(row: Mapping[str, Any]) -> None:
    for name, (kind, words) in _FORM.items():
        value = row.get(name)
        good = value is None or isinstance(value, kind)
        require(good, f"the row's {name} is {reprlib.repr(value)}, not {words}")


def _rebuilt_problem(task: Task[Any], row: Mapping[str, Any]) -> Any:
    ref = ProblemRef.from_row(row, NUMBERS)
    if ref is None:
        raise SettingError("the row has no seed and no index")
    problem = ref.of(task)
    wanted, found = row.get("problem_id"), task.problem_id(problem)
    if wanted and wanted != found:
        raise SettingError(
            f"{ref} gives the problem {found} now, and gave {wanted}: another version, "
            "other settings or other data"
        )
    return problem


def _recorded_turns(row: Mapping[str, Any]) -> Turns:
    turns = row.get("turns") or [row.get("response")]
    if not all(isinstance(turn, str) for turn in turns):
        raise SettingError("the row has no responses (turns)")
    return tuple(turns)


def _compare_reward(line: int, row: Mapping[str, Any], reward: Reward) -> RowVerdict:
    if reward.score is None:
        return RowVerdict(line, row, UNMEASURED_NOW, note=json.dumps(reward.metadata, default=str))
    before = row.get("reward")
    same = isinstance(before, int | float) and abs(before - reward.score) <= 1e-9
    return RowVerdict(line, row, SAME if same else DIFFERS, reward.score)
