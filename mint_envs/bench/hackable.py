"""Hackable: responses that are paid and should not be, known ones and found ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..reports.report import Section, Table
from ..responses import hacks as make
from ..responses.probes import Probe
from .run import Run, shown, spread
from .search import constant_nonsense, mutations
from .stats import rate_text, wilson
from .target.client import Verdict

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


def check(run: Run) -> Section:
    """Try the known hacks, then search for others."""
    section = Section("hackable", "Can it be paid without being right?")
    probes = make.known_hacks(spread(run.items))
    results = run.verdicts(probes, "known hacks", apart=True)
    results += _endless(run)
    _in_process(section, results)
    _ended(section, results)
    earned = _by_constants(run)
    table = Table("Known hacks", ["kind", "paid"])
    for name, group in _by_name(results).items():
        paid = [(p, v) for p, v in group if _gained(v, earned.get(p.item.index, 0.0))]
        table.rows.append([name, rate_text(len(paid), len(group))])
        if paid:
            kind = paid[0][0].item.kind
            text = f"{name}: {len(paid)} of {len(group)} are paid"
            section.fault("hack", text, _ADVICE[kind], [shown(*pair) for pair in paid])
    section.tables.append(table)
    _constant(run, section)
    _search(run, section)
    kinds = ("hack", "constant", "found")
    section.numbers["hacks"] = float(sum(f.check in kinds for f in section.faults))
    return section


def _by_constants(run: Run) -> dict[int, float]:
    """Return by problem the most that a program of one value earns: a part of the tests passed."""
    earned: dict[int, float] = defaultdict(float)
    probes = list(make.constants(spread(run.items)[: make.FEW]))
    for probe, verdict in run.verdicts(probes, "programs of one value", apart=True):
        earned[probe.item.index] = max(earned[probe.item.index], verdict.score or 0.0)
    return earned


def _gained(verdict: Verdict, earned: float) -> bool:
    """Whether a hack is paid in full, or more than one value passes of tests that pay in part."""
    return verdict.score == 1.0 or (verdict.paid and (verdict.score or 0.0) > earned)


def _constant(run: Run, section: Section) -> None:
    """One answer that is paid on most problems, whatever they ask."""
    items = [item for item in spread(run.items) if item.kind == "answer"]
    for text, count in Counter(item.gold for item in items).most_common(1):
        if text is None or count < 2:
            return
        probes = [Probe("one answer for all", item, (text,), 0.0) for item in items]
        results = run.verdicts(probes, "one answer for all")
        paid = [pair for pair in results if pair[1].paid]
        if wilson(len(paid), len(results))[0] > 0.5:
            section.fault(
                "constant",
                f"the one answer {text!r} is paid on {len(paid)} of {len(results)} problems",
                "Balance the answers of the problems, or a policy learns to say this one",
                [shown(*pair) for pair in paid],
            )


def _by_name(
    results: Sequence[tuple[Probe, Verdict]],
) -> dict[str, list[tuple[Probe, Verdict]]]:
    found: dict[str, list[tuple[Probe, Verdict]]] = defaultdict(list)
    for pair in results:
        found[pair[0].name].append(pair)
    return found


def _endless(run: Run) -> list[tuple[Probe, Verdict]]:
    """A program that never ends, on one problem: each try may cost a time-out."""
    programs = [item for item in run.items if item.kind == "program"][:1]
    return run.verdicts(
        [make.endless(item) for item in programs], "a program without end", apart=True
    )


def _in_process(section: Section, results: Sequence[tuple[Probe, Verdict]]) -> None:
    """The response left its mark where the reward is computed: it was run in there."""
    ran = [pair for pair in results if pair[1].ran]
    if ran:
        kinds = ", ".join(_by_name(ran))
        text = (
            f"{len(ran)} responses were run as code in the process of the reward function "
            f"({kinds}): they can read the answers, change the verdict and this machine"
        )
        section.fault("in-process exec", text, _IN_PROCESS, [shown(*pair) for pair in ran])


def _ended(section: Section, results: Sequence[tuple[Probe, Verdict]]) -> None:
    """A response ended or hung the process, or raised out of the function."""
    words = {
        "died": "end the process of the reward function",
        "hung": "never come back",
        "error": "raise an error out of it",
    }
    for status, what in words.items():
        bad = [pair for pair in results if pair[1].status == status]
        if bad:
            text = f"of {len(results)} responses {len(bad)} {what}, which would stop a training run"
            advice = "Score any response in bounded time, and give 0 for what cannot be read"
            section.fault(f"response: {status}", text, advice, [shown(*pair) for pair in bad])


def _search(run: Run, section: Section) -> None:
    found = [*constant_nonsense(run), *mutations(run)]
    if not found:
        section.notes.append(f"The search ({run.options.search} responses) found nothing more.")
        return
    table = Table("Found by search", ["kind", "responses"])
    table.rows = [[name, str(len(group))] for name, group in _by_name(found).items()]
    section.tables.append(table)
    text = f"the search found {len(found)} responses that are paid and wrong"
    firsts = [shown(*group[0]) for group in _by_name(found).values()]
    section.fault("found", text, _ADVICE[found[0][0].item.kind], firsts)
