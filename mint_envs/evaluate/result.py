"""What came of an evaluation: outcomes of responses, and what they say of all problems."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..bench.stats import all_equal
from ..errors import DatasetError
from ..pass_rates import PassRate
from ..problems import ProblemRef
from .estimates import Estimate, difference, pass_at, share
from .plan import EvalPlan

#: Sizes of groups for which the share with a signal is told.
GROUPS = (4, 8, 16)


@dataclass(frozen=True, slots=True)
class EvalOutcome:
    """One response: to which problem (by position), and what it earned (None: not measured)."""

    problem: int
    sample: int
    score: float | None
    cut: bool
    parts: Mapping[str, float]
    prompt_tokens: int | None
    tokens: int | None
    turns: int
    seconds: float
    refused: str | None = None  # the form of a right answer that was not paid
    exact: bool = False  # the tokens are known as they were sampled, with log-probabilities
    by_tokens: bool = False  # contexts were those very tokens, and not messages

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> EvalOutcome:
        """Read a line that an evaluation wrote.

        Raises:
            DatasetError: it lacks a field.
        """
        try:
            usage = row["usage"]
            return cls(
                int(row["place"]), int(row["sample"]), row["reward"] if row["scored"] else None,
                bool(row["truncated"]), row["parts"], usage["prompt_tokens"],
                usage["completion_tokens"], len(row["turns"]), float(row["seconds"]),
                row.get("refused"), "response_ids" in row, bool(row.get("by_tokens")),
            )  # fmt: skip
        except (LookupError, TypeError, ValueError) as error:
            raise DatasetError(
                f"a row is none of `mint-envs eval`: {type(error).__name__} {error}"
            ) from None

    def all_tokens(self, most: int) -> int:
        """Return the tokens of prompt and response; ``most`` for each turn that is not counted."""
        if self.prompt_tokens is None or self.tokens is None:
            return most * self.turns
        return self.prompt_tokens + self.tokens


@dataclass(frozen=True)
class Evaluation:
    """The result: ``outcomes`` by problem and sample, and what they come to.

    Args:
        plan: what was asked.
        policy: who answered.
        held_out: in words, which problems these are.
        problems: how many there are to ask.
        outcomes: one for each response that could be had.
        lost: responses that could not be had.
        stopped: it ended at the limit of tokens.
        seconds: of this call.
        problem_ids: by position.
        refs: how each problem is found again, by position.
    """

    plan: EvalPlan
    policy: str
    held_out: str
    problems: int
    outcomes: tuple[EvalOutcome, ...]
    lost: int = 0
    stopped: bool = False
    seconds: float = 0.0
    problem_ids: Mapping[int, str] = field(default_factory=dict)
    refs: Sequence[ProblemRef] = ()

    @cached_property
    def scores(self) -> Mapping[int, Sequence[float]]:
        """The rewards that were measured, by problem; a problem without one is not there."""
        found: dict[int, list[float]] = defaultdict(list)
        for one in self.outcomes:
            if one.score is not None:
                found[one.problem].append(one.score)
        return dict(sorted(found.items()))

    @property
    def unmeasured(self) -> int:
        """Responses whose reward could not be measured: left out of all rates."""
        return sum(one.score is None for one in self.outcomes)

    @property
    def cut(self) -> int:
        """Responses that ended at the longest length."""
        return sum(one.cut for one in self.outcomes)

    @property
    def exact(self) -> int:
        """Responses whose tokens are known as they were sampled."""
        return sum(one.exact for one in self.outcomes)

    @property
    def by_tokens(self) -> int:
        """Responses of episodes that were played token by token."""
        return sum(one.by_tokens for one in self.outcomes)

    @property
    def refused(self) -> dict[str, int]:
        """How many right answers were not paid for their form, by that form, the most first."""
        return dict(Counter(one.refused for one in self.outcomes if one.refused).most_common())

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Tokens of prompts, and of responses; None where the policy did not say."""
        return _total(one.prompt_tokens for one in self.outcomes), _total(
            one.tokens for one in self.outcomes
        )

    @property
    def ks(self) -> list[int]:
        """The k for which pass@k is told: powers of two up to the samples, and their number."""
        samples = self.plan.samples
        return sorted({samples, *(2**i for i in range(samples.bit_length()) if 2**i <= samples)})

    def pass_rates(self) -> dict[int, float]:
        """Return the share of responses that passed, by problem."""
        return {place: self._passed(scores) / len(scores) for place, scores in self.scores.items()}

    def measured_rates(self) -> list[dict[str, Any]]:
        """Return a line for each problem: what ``pass_rates=`` of an environment reads."""
        return [
            PassRate(rate, len(self.scores[place]), self.refs[place]).to_row(
                self.problem_ids[place]
            )
            for place, rate in self.pass_rates().items()
        ]

    def pass_by_problem(self, k: int) -> dict[int, float]:
        """Return pass@k of each problem that has so many measured responses."""
        found = {
            place: pass_at(k, self._passed(scores), len(scores))
            for place, scores in self.scores.items()
        }
        return {place: value for place, value in found.items() if value is not None}

    def pass_at(self, k: int) -> Estimate | None:
        """Return pass@k over problems, with its interval; None if no problem has k responses."""
        values = list(self.pass_by_problem(k).values())
        return share(values, max(1, self.plan.samples - k + 1))

    def mean_reward(self) -> Estimate | None:
        """Return the mean reward over problems, with its interval."""
        means = [sum(scores) / len(scores) for scores in self.scores.values()]
        return share(means, self.plan.samples)

    def mean_parts(self) -> dict[str, float]:
        """Return the mean of each part over the responses that have it."""
        found: dict[str, list[float]] = defaultdict(list)
        for one in self.outcomes:
            for name, value in one.parts.items() if one.score is not None else ():
                found[name].append(value)
        return {name: sum(values) / len(values) for name, values in found.items()}

    def signal(self, size: int) -> tuple[float, bool] | None:
        """Return the share of groups of ``size`` whose rewards differ, and whether it is exact.

        It is unbiased where problems have so many responses. Where they have fewer, it is a bound
        from below: groups are drawn with replacement, and no group has less than a smaller one.
        """
        groups = [scores for scores in self.scores.values() if len(scores) > 1]
        if not groups:
            return None
        fewest = min(map(len, groups))
        exact = 1 - sum(all_equal(one, min(size, fewest)) or 0.0 for one in groups) / len(groups)
        if size <= fewest:
            return exact, True
        return max(exact, 1 - sum(_drawn_equal(one, size) for one in groups) / len(groups)), False

    def _passed(self, scores: Sequence[float]) -> int:
        return sum(score >= self.plan.pass_mark for score in scores)


def _total(counts: Any) -> int | None:
    found = list(counts)
    return None if None in found else sum(found)


def _drawn_equal(scores: Sequence[float], size: int) -> float:
    """Return the chance that ``size`` of these, drawn with replacement, are equal."""
    return sum((count / len(scores)) ** size for count in Counter(scores).values())


def compare(one: Evaluation, two: Evaluation, k: int = 1) -> Estimate | None:
    """Return how much higher pass@k of ``one`` is than that of ``two``, on the same problems."""
    mine, other = one.pass_by_problem(k), two.pass_by_problem(k)
    places = sorted(
        place for place in mine.keys() & other.keys()
        if one.problem_ids.get(place) == two.problem_ids.get(place)
    )  # fmt: skip
    return difference([mine[place] for place in places], [other[place] for place in places])


def parted(one: Evaluation, two: Evaluation) -> list[tuple[str, float, float]]:
    """Return (problem_id, pass rate of one, of two) where they differ, the widest apart first."""
    mine, other = one.pass_rates(), two.pass_rates()
    found = [
        (one.problem_ids[place], mine[place], other[place])
        for place in mine.keys() & other.keys()
        if mine[place] != other[place] and one.problem_ids[place] == two.problem_ids[place]
    ]
    return sorted(found, key=lambda row: (-abs(row[1] - row[2]), row[0]))
