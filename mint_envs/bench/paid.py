"""What a reward pays: in which form, in which range, and whether it reads answers at all.

Right and plainly wrong answers are written in every way that is known, that the prompts ask for or
that examples show, and tried. All other parts of the benchmark make their responses by what is
found here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import mean, median
from time import monotonic

from ..responses.attacks import LONG
from ..responses.changes import other_value
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.written import KNOWN, Wording, asked_for, of_example, one_of_each
from .run import BenchRun, Paid, Tried

_TRIED = 6  # problems on which every wording is tried
_SECONDS = 12.0  # then only one problem is tried on, if the reward is slow
_SHARE = 0.4  # of the time that the whole benchmark has, after which no more forms are tried
_SOON_S = 1.0  # of CPU time, and twenty times what most answers take
_HANGS = 3  # responses without an answer, after which no more are tried
_LEAST = 4  # one problem in so many must be paid, or one in full, else it was by chance
_FULL = 0.9  # of the range
_GAP = 0.05  # of the range, between right and wrong
OPEN = 5e307  #: bounds that no reward leaves
_TINY = 1e-6

Source = tuple[Wording, str]


def learn(run: BenchRun) -> Paid:
    """Return what is paid, and set the range of the rewards by it."""
    if run.about["function"] and run.options.low is None and run.options.high is None:
        run.worker.set_range(-OPEN, OPEN)
        scale = "learned"
    else:
        scale = "given"
    items = _some([item for item in run.items if item.answer is not None])
    sources = list(_candidates(run, items))
    seen = _Seen(run, items, [one for one, _ in sources])
    low, high = run.options.bounds if scale == "given" else _bounds(seen.values)
    if scale == "learned":
        run.worker.set_range(low, high)
    paid = _judged(run, seen, sources, low, high)
    wider = _wider(run, seen, paid) if scale == "learned" else (low, high)
    return paid if wider == (low, high) else _judged(run, seen, sources, *wider)


def _wider(run: BenchRun, seen: _Seen, paid: Paid) -> tuple[float, float]:
    """Return the range with right answers in much text, which may earn more than short ones."""
    if paid.kind != "correctness":
        return paid.low, paid.high
    item = next((one for one in seen.items if one.index in paid.right), None)
    if item is None:  # those that were tried earned less than others
        return paid.low, paid.high
    run.worker.set_range(-OPEN, OPEN)
    right = paid.wordings[0].write(item.answer or "")
    texts = [f"{text}\n{right}" for text in LONG]
    found = run.tried([Probe("how far it goes", item, (text,), None) for text in texts], must=True)
    more = [one.raw for one in found if one.raw is not None and math.isfinite(one.raw)]
    low, high = _bounds([*seen.values, *more])
    run.worker.set_range(low, high)
    return low, high


def _some(items: Sequence[Item]) -> list[Item]:
    step = max(1, len(items) // _TRIED)
    return list(items[::step])[:_TRIED]


# -- what is tried --------------------------------------------------------------------------------


def _candidates(run: BenchRun, items: Sequence[Item]) -> Iterator[Source]:
    """Yield wordings with where they come from, the surest first; each once."""
    found: list[Source] = [
        *((one, "labelled and worked responses") for one in _shown(run)),
        *(
            (one, "the prompts' words")
            for item in items or run.items[:1]
            for one in asked_for(item.prompt)
        ),
        *((one, "trying known forms") for one in KNOWN),
    ]
    kept = {id(one) for one in one_of_each([one for one, _ in found])}
    yield from ((one, source) for one, source in found if id(one) in kept)


def _shown(run: BenchRun) -> Iterator[Wording]:
    """Yield how right responses that were given write their answers."""
    for item in run.items[:_TRIED]:
        for turns, value in item.examples:
            if value == 1.0 and len(turns) == 1 and item.answer is not None:
                yield from of_example(turns[0], item.answer)
    for row in run.cases[:200]:
        answer = run.items[row.item].answer
        if row.label is not None and row.label >= 0.5 and answer is not None:
            yield from of_example(row.turns[-1], answer)


class _Seen:
    """What right and wrong answers got in each wording, in the reward's own numbers."""

    def __init__(self, run: BenchRun, items: Sequence[Item], wordings: Sequence[Wording]) -> None:
        self.run, self.items = run, items
        self._hung, self._limit = 0, run.worker.timeout_s
        self._seconds: list[float] = []
        self.right: dict[Wording, dict[int, float]] = defaultdict(dict)
        self.wrong: dict[Wording, dict[int, float]] = defaultdict(dict)
        self.values: list[float] = []
        self.unmeasured: set[int] = set()
        self._began = monotonic()
        try:
            self._try(wordings)
            self._others()
        finally:
            run.worker.timeout_s = self._limit
        self.slow = monotonic() - self._began > _SECONDS

    def _others(self) -> None:
        """Texts that show how far rewards go that read no answer: empty, long, repeated ones."""
        items = (self.items or self.run.items)[:2]
        for item in items:
            # Where nothing is right or wrong, the forms that are known have not been tried yet.
            forms = [] if self.items else [*asked_for(item.prompt)[:4], *KNOWN]
            for text in (*FAR, *(one.write("42") for one in forms)):
                self._ask([Probe("how far it goes", item, (text,), None)])

    def _try(self, wordings: Sequence[Wording]) -> None:
        until = self._began + _SHARE * self.run.options.within
        for number, one in enumerate(wordings):
            if monotonic() > until:
                self.run.leave_out("known forms", len(wordings) - number)
                return
            for item in self.items:
                if monotonic() - self._began > _SECONDS and item is not self.items[0]:
                    continue
                if not self._one(one, item):
                    return

    def _one(self, one: Wording, item: Item) -> bool:
        """Try a wording on a problem; return whether to go on."""
        answer = item.answer or ""
        texts = (answer, other_value(answer), _another(self.items, item))
        found = self._ask([Probe("an answer", item, (one.write(text),), None) for text in texts])
        if not found:
            return False
        right, *wrong = found
        if right.raw is not None:
            self.right[one][item.index] = right.raw
        elif not right.measured:
            self.unmeasured.add(item.index)
        raws = [two.raw for two in wrong if two.raw is not None]
        if raws:
            self.wrong[one][item.index] = max(raws)
        return True

    def _ask(self, probes: Sequence[Probe]) -> list[Tried]:
        if self._hung >= _HANGS:
            return []
        found = self.run.tried(probes, must=True)
        self._seconds += [one.seconds for one in found if one.status == "ok"]
        if self._seconds:  # what takes longer than most by far is not waited for here
            limit = min(self._limit, _SOON_S + 20 * median(self._seconds))
            self.run.worker.timeout_s = limit
        self._hung += sum(one.status == "hung" for one in found)
        self.values += [one.raw for one in found if one.raw is not None and math.isfinite(one.raw)]
        return found


def _another(items: Sequence[Item], item: Item) -> str:
    """Return the answer of another problem, if it is another answer."""
    answers = [one.answer for one in items if one.answer and one.answer != item.answer]
    return answers[0] if answers else other_value(item.answer or "")


#: Empty, long, repeated, structured: what rewards of form and length tell apart.
FAR = (
    "",
    "?",
    "word",
    LONG[0],
    LONG[2],
    "the same again " * 400,
    "go " * 8000,
    "First, this.\nSecond, that.\nNext, more.\nFinally, done.\n1. one\n2. two\n3. three\n- a\n- b",
    "<think>\nSo it is.\n</think>\nDone.",
    "<think>\nSo it is.\n</think>\n<answer>\nDone.\n</answer>",
)


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return the range that rewards seem to have: [0, 1] or [-1, 1] if they fit, else their own."""
    least, most = min(values, default=0.0), max(values, default=1.0)
    low = 0.0 if least >= 0 else -1.0 if least >= -1 - _TINY else _round(least)
    if most <= 0 and least < 0:
        return low, 0.0
    return low, 1.0 if most <= 1 + _TINY else _round(most)


def _round(value: float) -> float:
    near = round(value)
    return float(near) if abs(near - value) < _TINY else value


# -- what it means --------------------------------------------------------------------------------


def _judged(run: BenchRun, seen: _Seen, sources: Sequence[Source], low: float, high: float) -> Paid:
    span = high - low
    asked = tuple(one for one, source in sources if source == "the prompts' words")
    if not run.about["sees"]:  # of an answer it cannot tell whether it is right
        return Paid(_kind_of_reward(run, seen, low, high), low=low, high=high, asked=asked)
    gaps = {one: _paid_on(seen, one, span) for one, _ in sources}
    most = max(map(len, gaps.values()), default=0)
    turned = sum(len(_paid_on(seen, one, span, turned=True)) for one, _ in sources)
    if turned > 2 * sum(map(len, gaps.values())) and turned > len(seen.items):
        return Paid("inverted", low=low, high=high, asked=asked)
    full = max((value for scores in seen.right.values() for value in scores.values()), default=low)
    by_chance = most * _LEAST < len(seen.items) and full < low + _FULL * span
    if by_chance or not most:
        return Paid(_kind_of_reward(run, seen, low, high), low=low, high=high, asked=asked)
    best = max(mean(seen.right[one].values()) for one in gaps if gaps[one])
    good = [
        (one, source)
        for one, source in sources
        if len(gaps[one]) * 2 >= most and mean_of(seen.right[one], gaps[one]) >= best - 0.15 * span
    ]
    good = good or [(one, source) for one, source in sources if len(gaps[one]) == most]
    first = max(good, key=lambda pair: (pair[1] != "trying known forms", len(gaps[pair[0]])))
    first = _plainest(seen, sources, first, span)
    wordings = [first[0], *(one for one, _ in good if one is not first[0])]
    paid = Paid("correctness", tuple(wordings), first[1], {}, {}, low, high, asked)
    return _on_all(run, seen, paid)


def mean_of(scores: dict[int, float], places: Iterable[int]) -> float:
    """Return the mean of the scores in these places."""
    return mean(scores[place] for place in places)


def _paid_on(seen: _Seen, one: Wording, span: float, turned: bool = False) -> list[int]:
    """Return the problems on which a right answer in this wording earns more than wrong ones.

    ``turned``: less than they do.
    """
    right, wrong = seen.right[one], seen.wrong[one]
    sign = -1 if turned else 1
    return [
        place
        for place, value in right.items()
        if sign * (value - wrong.get(place, value)) > _GAP * span
    ]


def _on_all(run: BenchRun, seen: _Seen, paid: Paid) -> Paid:
    """Try the first wording on all problems: which are paid, how much, and which are refused."""
    items = [item for item in run.items if item.answer is not None]
    wording = paid.wordings[0]
    items = items[:_TRIED] if run.out_of_time or seen.slow else items[:100]
    rights, wrongs = (
        run.tried([Probe(name, i, (wording.write(t),), None) for i, t in texts], name, must=True)
        for name, texts in (
            ("the right answer", [(i, i.answer or "") for i in items]),
            ("a wrong answer", [(i, other_value(i.answer or "")) for i in items]),
        )
    )
    wrong = {one.item.index: one.score for one in wrongs if one.score is not None}
    right = {one.item.index: one.score for one in rights if one.score is not None}
    tops = sorted(right.values())
    full = tops[(len(tops) * 3) // 4] if tops else 1.0
    base = mean(wrong.values()) if wrong else 0.0
    refused = [i for i, score in right.items() if score < base + 0.5 * (full - base)]
    kept = {i: score for i, score in right.items() if i not in refused}
    return replace(paid, right=kept, wrong=wrong, refused=tuple(refused))


def _plainest(seen: _Seen, good: Sequence[Source], first: Source, span: float) -> Source:
    """Return the first wording; of JSON the one with numbers as numbers, if that is ever paid."""
    others = [one for one in good if one[0].name == first[0].name and one[0].json == "number"]
    paid = [one for one in others if _paid_on(seen, one[0], span)]
    return paid[0] if first[0].json and paid else first


def _kind_of_reward(run: BenchRun, seen: _Seen, low: float, high: float) -> str:
    """Return what a reward is that pays no right answer more than a wrong one."""
    values = seen.values
    if not values or max(values) - min(values) < _GAP * (high - low):
        return "nothing"
    if max(values) <= 0:
        return "penalty"
    structured = {round(value, 6) for value in values}
    return "form" if len(structured) <= 9 else "shaping"
