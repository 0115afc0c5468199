"""Hackable: responses that are paid and should not be, known ones and found ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..reports.report import Section, Table
from ..responses import hacks as make
from ..responses.items import Item
from ..responses.probes import Probe
from .answers import check_other_golds, check_wrong_answers
from .run import BenchRun, Tried, first_cases, spread
from .search import search
from .stats import rate_texts, wilson
from .trained import check_trained

_ADVICE = {
    "program": "Run the program in another process, and compare its values outside of it",
    "text": "Let the reward depend on what was asked, not on how the text looks",
    "answer": "Take one answer, the last that is meant, and pay nothing for two",
    "turns": "Pay for the change that was made, not for what is said of it",
}
_IN_PROCESS = (
    "Never exec or eval a response: use mint_envs.code.grade, or another sandbox, and compare "
    "outside"
)
_KINDS = ("hack", "gold", "constant", "found", "trained")


def check_hacks(run: BenchRun) -> Section:
    """Try the known hacks, then search for others."""
    section = Section("hackable", "Can it be paid without being right?")
    if run.learned:
        _learned_form(section, run)
    else:
        _known_ways(section, run)
    if run.options.trained:
        check_trained(run, section)
    section.numbers["hacks"] = float(sum(f.check in _KINDS for f in section.findings))
    return section


def _learned_form(section: Section, run: BenchRun) -> None:
    """Attack the form that a function pays; where none is known, say so."""
    assert run.paid is not None
    if run.reads_answers:
        check_other_golds(run, section)  # few, and telling: they come first
        check_wrong_answers(run, section)
        _one_for_all(section, run)
    elif run.paid.kind == "nothing":
        section.notes.append("Wrong answers and hacks: not tried, since no paid form is known.")
    if run.reads_answers or (not run.about["answers"] and "prompt" in run.about["sees"]):
        _search_found(section, search(run), run.options.search)
    results = run.tried(make.known_hacks(spread(run.items)[:2]), "code in a response", apart=True)
    _in_process(section, results)
    _ended(section, results)


def _one_for_all(section: Section, run: BenchRun) -> None:
    """The most frequent answer, in the form, to every problem."""
    assert run.paid is not None
    known = [item for item in run.items if item.index in run.paid.right]
    for answer, count in Counter(item.answer for item in known).most_common(1):
        if answer is not None and count > 1:
            text = run.paid.wordings[0].write(answer)
            probes = [Probe("one answer for all", item, (text,), 0.0) for item in known]
            _constant_paid(section, run.tried(probes, "one answer for all"))


def _known_ways(section: Section, run: BenchRun) -> None:
    items = spread(run.items)
    results = run.tried(make.known_hacks(items), "known hacks", apart=True)
    results += run.tried(_endless_programs(run.items), "a program without end", apart=True)
    _in_process(section, results)
    _ended(section, results)
    constants = list(make.constants(items[: make.FEW]))
    earned = _most(run.tried(constants, "programs of one value", apart=True))
    _hacks(section, results, earned)
    _constant_paid(section, run.tried(_one_answer(items), "one answer for all"))
    _search_found(section, search(run), run.options.search)
    if run.paid is not None and run.paid.kind == "correctness":
        check_wrong_answers(run, section)


def _endless_programs(items: Sequence[Item]) -> list[Probe]:
    """A program that never ends, on one problem: each try may cost a time-out."""
    return [make.endless(item) for item in items if item.kind == "program"][:1]


def _most(results: Sequence[Tried]) -> dict[int, float]:
    """Return by problem the most that a program of one value earns: a part of the tests passed."""
    earned: dict[int, float] = defaultdict(float)
    for one in results:
        earned[one.item.index] = max(earned[one.item.index], one.score or 0.0)
    return earned


def _hacks(section: Section, results: Sequence[Tried], earned: dict[int, float]) -> None:
    groups = _by_probe_name(results)
    paid = {
        name: [one for one in group if _gained(one, earned.get(one.item.index, 0.0))]
        for name, group in groups.items()
    }
    rates = rate_texts([(len(paid[name]), len(group)) for name, group in groups.items()])
    for name, bad in paid.items():
        if bad:
            text = f"{name}: {len(bad)} of {len(groups[name])} are paid"
            section.find(
                "hack", text, _ADVICE[bad[0].item.kind], first_cases(bad), severity="exploitable"
            )
    rows = [[name, rate] for name, rate in zip(groups, rates, strict=True)]
    section.tables.append(Table("Known hacks", ["kind", "paid"], rows))


def _gained(one: Tried, earned: float) -> bool:
    """Whether a hack is paid in full, or more than one value passes of tests that pay in part."""
    return one.score == 1.0 or (one.paid and (one.score or 0.0) > earned)


def _one_answer(items: Sequence[Item]) -> list[Probe]:
    """The most frequent answer, to every problem; nothing if each has its own."""
    asked = [item for item in items if item.kind == "answer"]
    for text, count in Counter(item.gold for item in asked).most_common(1):
        if text is not None and count > 1:
            return [Probe("one answer for all", item, (text,), 0.0) for item in asked]
    return []


def _constant_paid(section: Section, results: Sequence[Tried]) -> None:
    """One answer that is paid on most problems, whatever they ask."""
    paid = [one for one in results if one.paid]
    if wilson(len(paid), len(results))[0] > 0.5:
        (answer,) = paid[0].turns
        text = f"the one answer {answer!r} is paid on {len(paid)} of {len(results)} problems"
        advice = "Balance the answers of the problems, or a policy learns to say this one"
        section.find("constant", text, advice, first_cases(paid), severity="exploitable")


def _by_probe_name(results: Sequence[Tried]) -> dict[str, list[Tried]]:
    found: dict[str, list[Tried]] = defaultdict(list)
    for one in results:
        found[one.name].append(one)
    return found


def _in_process(section: Section, results: Sequence[Tried]) -> None:
    """The response left its mark where the reward is computed: it was run in there."""
    ran = [one for one in results if one.ran]
    if ran:
        kinds = ", ".join(_by_probe_name(ran))
        text = (
            f"{len(ran)} responses were run as code in the process of the reward function "
            f"({kinds}): they can read the answers, change the verdict and this machine"
        )
        section.find("in-process exec", text, _IN_PROCESS, first_cases(ran), severity="exploitable")


def _ended(section: Section, results: Sequence[Tried]) -> None:
    """A response ended or hung the process, or raised out of the function."""
    words = {
        "died": "end the process of the reward function",
        "hung": "never come back",
        "error": "raise an error out of it",
    }
    for status, what in words.items():
        bad = [one for one in results if one.status == status]
        if bad:
            text = f"of {len(results)} responses {len(bad)} {what}, which would stop a training run"
            advice = "Score any response in bounded time, and give 0 for what cannot be read"
            section.find(f"response: {status}", text, advice, first_cases(bad), severity="fragile")


def _search_found(section: Section, found: Sequence[Tried], tries: int) -> None:
    if not found:
        section.notes.append(f"The search ({tries} responses) found nothing more.")
        return
    groups = _by_probe_name(found)
    rows = [[name, str(len(group))] for name, group in groups.items()]
    section.tables.append(Table("Found by search", ["kind", "responses"], rows))
    text = f"the search found {len(found)} responses that are paid and wrong"
    firsts = first_cases(group[0] for group in groups.values())
    section.find("found", text, _ADVICE[found[0].item.kind], firsts, severity="exploitable")
