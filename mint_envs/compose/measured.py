"""Problems chosen by how often a model solved them, and put in order by that."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core import Task
from ..errors import DatasetError, require
from ..pass_rates import PassRate, check_range, read_pass_rates
from ..problems import ProblemRef, row_at
from .wrapper import TaskWrapper


class MeasuredTask(TaskWrapper):
    """The problems of a task whose pass rate is known and suits; they are numbered from 0.

    Rows of a data set are found by their ``problem_id``; problems that are drawn are made again
    from the seed of their line. What is not in the file was not measured, and is left out, with a
    warning that counts it.

    Args:
        task: whose problems.
        pass_rates: a file of ``mint-envs eval --write-pass-rates``, measured with the same
            settings.
        min_pass_rate, max_pass_rate: leave out what was solved less often, or more often.
        curriculum: order them by pass rate, the easiest first; else as the task has them.

    Raises:
        SettingError: a value out of range.
        DatasetError: the file is broken, belongs to other problems, or leaves none.
    """

    def __init__(
        self,
        task: Task[Any],
        pass_rates: str,
        min_pass_rate: float | None = None,
        max_pass_rate: float | None = None,
        curriculum: bool = False,
    ) -> None:
        super().__init__(task)
        check_range(min_pass_rate, max_pass_rate)
        known = read_pass_rates(pass_rates)
        found = _rows_known(task, known, pass_rates) if task.size else _drawn_again(task, known)
        require_some(len(found), len(known), pass_rates)
        low = 0.0 if min_pass_rate is None else min_pass_rate
        high = 1.0 if max_pass_rate is None else max_pass_rate
        kept = [(ref, rate) for ref, rate in found if low <= rate <= high]
        if not kept:
            rates = [rate for _, rate in found]
            raise DatasetError(
                f"no problem of pass_rates={pass_rates!r} has a pass rate from {low:g} to "
                f"{high:g}; they are from {min(rates):g} to {max(rates):g}"
            )
        if curriculum:
            kept.sort(key=lambda pair: -pair[1])  # stable: what is as easy stays in order
        self._refs = [ref for ref, _ in kept]

    @property
    def size(self) -> int:
        return len(self._refs)

    def sample(self, rng: np.random.Generator) -> Any:
        return self.problem(int(rng.integers(len(self._refs))))

    def problem(self, index: int) -> Any:
        ref: ProblemRef = row_at(self._refs, index)
        return ref.of(self.task)


def by_difficulty(task: Task[Any], settings: dict[str, Any]) -> Task[Any]:
    """Return the task with its problems chosen by ``settings``, those of ``MeasuredTask``.

    Raises:
        SettingError: there is a range, and no file of pass rates.
    """
    off = (None, False)  # by identity: a highest pass rate of 0 is given
    given = {name: one for name, one in settings.items() if not any(one is no for no in off)}
    if not given:
        return task
    require(
        isinstance(given.get("pass_rates"), str),
        f"{', '.join(given)}: needs pass_rates=FILE, as `mint-envs eval ID --train "
        "--write-pass-rates FILE` writes",
    )
    require(
        given.get("curriculum", True) is True,
        f"curriculum={given.get('curriculum')!r} must be true or false",
    )
    return MeasuredTask(task, **given)


def require_some(found: int, known: int, file: str) -> None:
    """Raise DatasetError if none of the ``known`` problems of a file was found."""
    if not found:
        raise DatasetError(
            f"none of the {known} problems of pass_rates={file!r} is here: they were measured on "
            "another split or with other settings. For what is trained on: `mint-envs eval ID "
            "--train --write-pass-rates FILE`, with the same --set"
        )


def _rows_known(
    task: Task[Any], known: dict[str, PassRate], file: str
) -> list[tuple[ProblemRef, float]]:
    """Return the rows of a data set that are known, with their pass rates, in order."""
    many = task.size or 0
    names = [task.problem_id(task.problem(index)) for index in range(many)]
    found = [
        (ProblemRef(index=index), known[name].rate)
        for index, name in enumerate(names)
        if name in known
    ]
    if 0 < len(found) < many:
        warnings.warn(
            f"{many - len(found)} of {many} rows are not in pass_rates={file!r}, and are left out: "
            f"`mint-envs eval ID --train -n {many} --write-pass-rates FILE` measures all",
            stacklevel=2,
        )
    return found


def _drawn_again(task: Task[Any], known: dict[str, PassRate]) -> list[tuple[ProblemRef, float]]:
    """Return the drawn problems that are the same here, with their pass rates, in order."""
    return [
        (one.ref, one.rate)
        for name, one in known.items()
        if one.ref is not None and task.problem_id(one.ref.of(task)) == name
    ]
