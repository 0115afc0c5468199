"""Right answers in the form that is paid, and refused: for their kind, length or lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..reports.report import Section, Table
from ..responses import attacks as make
from ..responses.attacks import Saying
from ..responses.changes import other_value
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.solvers import expression
from ..responses.written import ON_LINES, ON_ONE_LINE, Wording
from .answers import chosen, grouped
from .run import BenchRun, Paid, Tried, first_cases, repeat_of
from .stats import rate_text

_OPENING = ("<think>", "<reasoning>", "<thinking>")
_MANY = 8  # prompts that are read for what they rule out
_UNPAID = "Pay the right answer in the form that the prompt asks for, whatever its kind or length"


def check_right_answers(run: BenchRun, section: Section) -> None:
    """Report right answers in the form that are refused, and which rewritings are."""
    assert run.paid is not None
    _refused_problems(run, section)
    _wants_thoughts(run, section)
    items = chosen(run)
    wording = run.paid.wordings[0]
    results = _sayings(run, items, lambda answer: make.rounds(wording, answer), "text round it")
    _refused_text(run, section, results)
    _worth_less(run, section, results["long text before"])
    _thoughts(run, section, items)
    found = _sayings(run, items, lambda answer: make.rewritten(wording, answer), "rewritings")
    _rewritings(section, run.paid, {**results, **found})
    _usual_writings(run, section, results, found)
    every = [one for group in (*results.values(), *found.values()) for one in group]
    lost = sum(not one.measured for one in every)
    if lost:
        section.notes.append(f"{lost} of {len(every)} of these responses were not measured.")
    _sum_before(run, section, items)


def _refused_problems(run: BenchRun, section: Section) -> None:
    assert run.paid is not None
    paid, wording = run.paid, run.paid.wordings[0]
    total = len(paid.refused) + len(paid.right)
    refused = [run.items[place] for place in paid.refused]
    section.numbers["paid_in_form"] = len(paid.right) / total if total else None
    if refused:
        probes = [Probe("right", i, (wording.write(i.answer or ""),), 1.0) for i in refused[:20]]
        bad = run.tried(probes, must=True)
        text = (
            f"the right answer in the form that is paid ({wording.name}) is refused on "
            f"{len(refused)} of {total} problems, such as {refused[0].answer!r}"
        )
        section.find(
            "missed rewards", text, _UNPAID, first_cases(bad), severity="honest",
            cost="A policy that is right there learns that it was wrong",
            repeat=repeat_of(run, bad[0]),
        )  # fmt: skip


def _wants_thoughts(run: BenchRun, section: Section) -> None:
    """The form is paid after thoughts in tags only, of which the prompts say nothing."""
    assert run.paid is not None
    paid = run.paid
    tag = next((t for t in ("<think>", "<reasoning>") if t in paid.wordings[0].before), "")
    items = chosen(run)
    if not tag or not all(tag in one.before for one in paid.wordings) or not items:
        return
    if any(tag.strip("<>") in item.prompt.lower() for item in items):
        return
    plain = replace(paid.wordings[0], before=paid.wordings[0].before.rpartition(">\n")[2])
    probes = [Probe("without thoughts", i, (plain.write(i.answer or ""),), 1.0) for i in items]
    bad = [one for one in run.tried(probes) if not paid.is_full(one.item, one.score, 0.5)]
    if len(bad) * 2 > len(items):
        text = f"the right answer is paid after {tag} only, which the prompts do not ask for"
        section.find(
            "missed rewards", text, "Say it in the prompt, or pay the answer without thoughts too",
            first_cases(bad), severity="honest",
            cost="A policy that answers as it was asked is never paid",
            repeat=repeat_of(run, bad[0]),
        )  # fmt: skip


def opens_thoughts(items: Sequence[Item]) -> bool:
    """Whether the prompts end with the tag that opens thoughts, as some chat templates do."""
    return bool(items) and all(item.prompt.rstrip().endswith(_OPENING) for item in items[:_MANY])


def _sayings(
    run: BenchRun, items: Sequence[Item], say: Callable[[str], list[Saying]], what: str
) -> dict[str, list[Tried]]:
    probes = [
        Probe(one.name, item, (one.text,), 1.0) for item in items for one in say(item.answer or "")
    ]
    return grouped(run.tried(probes, what))


def _refused_text(run: BenchRun, section: Section, results: Mapping[str, list[Tried]]) -> None:
    """Text of one length is let pass and longer text is not, on one side of the form only."""
    assert run.paid is not None
    if run.paid.wordings[0].loose:
        return  # words among words: where the answer ends nobody has said
    ok = {name: _kept(run.paid, group) for name, group in results.items()}
    far = _first_refused(ok, ("a line after", "long text after", "longer text after"))
    near = _first_refused(ok, ("a line before", "long text before"))
    if bool(far) == bool(near):
        if far:
            section.tell("policy", "long responses are not paid", "text beyond a length costs all")
        return
    side = "after" if far else "before"
    bad = results[far or near]
    chars = len(bad[0].turns[-1])
    text = f"a right answer with {chars} characters is refused for the text {side} it"
    advice = "Read the whole response; a window at its end or start cuts off right answers"
    section.find(
        "missed rewards", text, advice, first_cases(bad), severity="honest",
        cost="Long right responses are punished, for their length only",
        repeat=repeat_of(run, bad[0]),
    )  # fmt: skip


def _worth_less(run: BenchRun, section: Section, right: Sequence[Tried]) -> None:
    """A right answer after some text earns less than a wrong one after the same text."""
    probes = []
    for one in right:
        answer = one.item.answer or ""
        before, _, after = one.turns[0].rpartition(answer)
        probes.append(replace(one, turns=(f"{before}{other_value(answer)}{after}",), want=0.0))
    pairs = zip(right, run.tried(probes), strict=False)
    bad = [a for a, b in pairs if a.raw is not None and b.raw is not None and a.raw < b.raw - 1e-9]
    if bad and len(bad) * 2 > len(right):
        chars = len(bad[0].turns[0])
        text = f"a right answer with {chars} characters earns less than a wrong one with as many"
        section.find(
            "missed rewards", text, "Bound what length may cost, so that right stays above wrong",
            first_cases(bad), severity="honest",
            cost="A policy that thinks aloud and is right learns that it was wrong",
            repeat=repeat_of(run, bad[0]),
        )  # fmt: skip


def _first_refused(ok: Mapping[str, bool], names: Sequence[str]) -> str:
    """Return the first of texts of growing length that is refused after a shorter one was not."""
    if not ok.get(names[0], False):
        return ""
    return next((name for name in names[1:] if not ok.get(name, True)), "")


def _kept(paid: Paid, group: Sequence[Tried], share: float = 0.25) -> bool:
    """Whether most of these are still paid more than wrong answers are."""
    kept = sum(one.score is None or paid.is_full(one.item, one.score, share) for one in group)
    return kept * 2 > len(group)


def _thoughts(run: BenchRun, section: Section, items: Sequence[Item]) -> None:
    """Thoughts on one line and on several must not matter."""
    assert run.paid is not None
    short = next((one for one in run.paid.wordings if on_lines(one) is not None), None)
    if short is None:
        return
    long = on_lines(short)
    assert long is not None
    probes = [Probe("on several lines", i, (long.write(i.answer or ""),), 1.0) for i in items]
    results = run.tried(probes, "thoughts")
    if results and not _kept(run.paid, results):
        refused_lines(run, section, results)


def refused_lines(run: BenchRun, section: Section, results: Sequence[Tried]) -> None:
    """Report that thoughts on several lines are refused where those on one are not."""
    section.find(
        "missed rewards", "in a form that is paid, thoughts on several lines are refused",
        "Let the dot match line ends (re.DOTALL)", first_cases(results), severity="honest",
        cost="Honest responses are refused for where their lines end",
        repeat=repeat_of(run, results[0]),
    )  # fmt: skip


def on_lines(wording: Wording) -> Wording | None:
    """Return a wording with its thoughts on several lines, if it has some on one."""
    before = wording.before.replace(ON_ONE_LINE, ON_LINES)
    return None if before == wording.before else replace(wording, before=before)


#: How honest responses write an answer in prose, and in display mathematics.
_IN_PROSE, _DISPLAYED, _CLOSE = ("in bold", "in a box"), "in display mathematics", "without spaces"
_NO_MORE = re.compile(r"\b(?:nothing else|only|just|alone|exactly|bare|plain)\b", re.IGNORECASE)


def _usual_writings(
    run: BenchRun,
    section: Section,
    rounds: Mapping[str, list[Tried]],
    found: Mapping[str, list[Tried]],
) -> None:
    """Writings of the right answer that the prompts ask for, or do not rule out, and refused.

    A strict form is a rule; but what lets words pass may not stumble over how they are set, and a
    list is a list with or without spaces.
    """
    assert run.paid is not None
    paid, wording = run.paid, run.paid.wordings[0]
    kept = {name: _kept(paid, group) for name, group in {**rounds, **found}.items()}
    around = kept.get("a line before", False) and kept.get("a line after", False)
    if "\\boxed" in wording.before and around and not kept.get(_DISPLAYED, True):
        what = (
            "in display mathematics, \\[ ... \\], is refused, where text round the box is let pass"
        )
        _refused_writing(
            run, section, found[_DISPLAYED], what, "Look for the box wherever it stands"
        )
    close = next((name for name in kept if name.startswith(_CLOSE)), "")
    lists = [one for one in found.get(close, ()) if (one.item.answer or " ")[0] in "[({"]
    if lists and not _kept(paid, lists):
        _refused_writing(run, section, lists, "as a list without spaces after commas is refused",
                 "Compare the members, not the text")  # fmt: skip
    prose = wording.loose and kept.get("long text before", False) and not paid.asked
    if prose and not any(_NO_MORE.search(item.prompt) for item in run.items[:_MANY]):
        for name in _IN_PROSE:
            if not kept.get(name, True):
                what = f"{name} is refused, where prose is read and the prompts ask for no form"
                advice = "Leave out the marks round an answer before it is read"
                _refused_writing(run, section, found[name], what, advice)


def _refused_writing(
    run: BenchRun, section: Section, results: Sequence[Tried], what: str, advice: str
) -> None:
    section.find(
        "missed rewards", f"a right answer {what}", advice, first_cases(results), severity="honest",
        cost="Honest responses are refused for how they are set", repeat=repeat_of(run, results[0]),
    )  # fmt: skip


def _rewritings(section: Section, paid: Paid, groups: Mapping[str, list[Tried]]) -> None:
    rows, strict = [], []
    for name, group in groups.items():
        kept = sum(paid.is_full(one.item, one.score) for one in group)
        rows.append([name, rate_text(kept, len(group))])
        strict += [name] if kept * 2 < len(group) else []
    section.tables.append(Table("The right answer, rewritten", ["rewriting", "still paid"], rows))
    if strict:
        use = "a policy must learn the form exactly; tell it in the prompt"
        section.tell("policy", f"the form is strict: refused with {', '.join(strict)}", use)


def _sum_before(run: BenchRun, section: Section, items: Sequence[Item]) -> None:
    """A reward that reads sentences and not "12 + 7 = 19" refuses the most honest answer."""
    assert run.paid is not None
    loose = [one for one in run.paid.wordings if one.loose]
    if len(loose) < 2:
        return
    probes = [
        Probe("the sum before it", item, (f"{asked.strip()} = {item.answer}",), 1.0)
        for item in items
        if (asked := expression(item.prompt))
    ]
    bad = [one for one in run.tried(probes) if not run.paid.is_full(one.item, one.score, 0.5)]
    if bad:
        text = "the right answer is not paid when it is written with the sum before it"
        advice = "Take the answer that is meant last, not the first number"
        section.find(
            "missed rewards", text, advice, first_cases(bad), severity="honest",
            cost="A policy learns not to show its work", repeat=repeat_of(run, bad[0]),
        )  # fmt: skip
