"""Right: does it pay what is right, and nothing else?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..errors import SettingError
from ..records.cases import Saved
from ..reports.report import Case, Section, Table, short
from ..responses import probes as make
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.solvers import solve
from .run import Run, shown, spread
from .stats import kappa, rate_text
from .target.client import Verdict

_UNPAID = "Pay the right answer however it is written, and make question and answer from one draw"
_PAID = "Pay right answers only"


def check(run: Run) -> Section:
    """Return what labels say, and what is known without them."""
    section = Section("right", "Does it pay what is right, and nothing else?")
    if run.cases:
        _labelled(run, section)
    _solved(run, section)
    _known(run, section)
    if run.reference is not None:
        _agreement(run, section)
    return section


# -- with labels ----------------------------------------------------------------------------------


def _labelled(run: Run, section: Section) -> None:
    verdicts = run.saved(run.cases, "labelled responses")
    pairs = [(c, v) for c, v in zip(run.cases, verdicts, strict=True) if v.status != "unmeasured"]
    right = [(case, v) for case, v in pairs if (case.label or 0) >= 0.5]
    wrong = [(case, v) for case, v in pairs if (case.label or 0) < 0.5]
    false = [(case, v) for case, v in wrong if v.paid]
    missed = [(case, v) for case, v in right if not v.paid]
    good = len(pairs) - len(false) - len(missed)
    table = Table("By the labels", ["", "rate (95 % interval)"])
    table.rows += [
        ["accuracy", rate_text(good, len(pairs))],
        ["false rewards, of wrong responses", rate_text(len(false), len(wrong))],
        ["missed rewards, of right responses", rate_text(len(missed), len(right))],
        ["not measured", str(len(verdicts) - len(pairs))],
    ]
    section.tables.append(table)
    section.numbers |= {
        "accuracy": good / len(pairs) if pairs else None,
        "false_rewards": len(false) / len(wrong) if wrong else None,
        "missed_rewards": len(missed) / len(right) if right else None,
    }
    if false:
        text = f"{len(false)} of {len(wrong)} responses that are labelled wrong are paid"
        section.fault("false rewards", text, _PAID, [_case(run, *pair) for pair in false])
    if missed:
        text = f"{len(missed)} of {len(right)} responses that are labelled right are not paid"
        section.fault("missed rewards", text, _UNPAID, [_case(run, *pair) for pair in missed])


def _case(run: Run, case: Saved, verdict: Verdict) -> Case:
    prompt = short(run.items[case.item].prompt)
    response = " ⏎ ".join(map(short, case.turns))
    return Case(
        prompt, response, verdict.score, case.label, f"line {case.line} {verdict.note}".strip()
    )


# -- without labels -------------------------------------------------------------------------------


def _solved(run: Run, section: Section) -> None:
    """The answer to the prompt must earn the full mark: found from the prompt alone."""
    answers = _answers(run)
    probes = [
        Probe("solved from the prompt", item, turns, 1.0)
        for item, turns in zip(run.items, answers, strict=True)
        if turns is not None
    ]
    if not probes:
        section.notes.append(
            "No prompt could be solved by itself: give --solve module:function to see whether "
            "questions and answers belong together."
        )
        section.numbers["oracle"] = None
        return
    tried = run.verdicts(probes, "solved from the prompt")
    results = [pair for pair in tried if pair[1].status != "unmeasured"]
    if not results:
        section.notes.append("No answer that was solved from the prompt was measured.")
        section.numbers["oracle"] = None
        return
    paid = [verdict for _, verdict in results if verdict.score == 1.0]
    section.numbers["oracle"] = len(paid) / len(results)
    table = Table("Solved from the prompt alone", ["", "full marks"])
    table.rows.append(["the right answer to the prompt", rate_text(len(paid), len(results))])
    section.tables.append(table)
    if len(paid) < len(results):
        cases = [_with_gold(pair) for pair in results if pair[1].score != 1.0]
        text = (
            f"the right answer, solved from the prompt, earns the full mark on {len(paid)} of "
            f"{len(results)} problems"
        )
        advice = "Make the question and its answer from the same numbers"
        section.fault("unsolvable", text, advice, cases)
    if not run.about["same_again"]:
        section.notes.append("build_dataset() gives other problems each time: it is not seeded.")


def _with_gold(pair: tuple[Probe, Verdict]) -> Case:
    case = shown(*pair)
    gold = pair[0].item.gold
    return Case(
        case.prompt, case.response, case.score, 1.0, f"what is paid is {gold!r}" if gold else ""
    )


def _answers(run: Run) -> list[tuple[str, ...] | None]:
    if run.options.solver:
        limit = run.options.timeout_s * len(run.items)
        (replies,) = run.worker.ask("solve", solver=run.options.solver, timeout_s=limit)
        if isinstance(replies, dict):
            raise SettingError(f"--solve {run.options.solver}: {replies['failed']}")
        return [None if reply is None else tuple(reply) for reply in replies]
    return [_solved_sum(item) for item in run.items]


def _solved_sum(item: Item) -> tuple[str, ...] | None:
    """Return the answer to a prompt that is a sum; what asks for a program is none."""
    answer = solve(item.prompt) if item.kind in ("answer", "text") else None
    return None if answer is None else (_as_asked(answer, item),)


def _as_asked(answer: str, item: Item) -> str:
    """Return an answer in the form of the right response: in a box, if that is asked for."""
    if item.kind != "answer" or item.gold is None:
        return answer
    before, _, after = make.framed(item.gold)
    return f"{before}{answer}{after}"


def _known(run: Run, section: Section) -> None:
    """Responses whose worth is known by how they were made."""
    items = spread(run.items)
    results = run.verdicts([*make.known_worth(items), *make.other_ways(items)], "known responses")
    by_name: dict[str, list[tuple[Probe, Verdict]]] = defaultdict(list)
    for probe, verdict in results:
        by_name[probe.name].append((probe, verdict))
    table = Table("Known by how they were made", ["response", "must earn", "does", "mean reward"])
    table.rows = [_row(name, group) for name, group in by_name.items()]
    for name, group in by_name.items():
        if not name.startswith(make.OTHERWISE):
            _judge(section, name, group)
    _written(section, [pair for pair in results if pair[0].name.startswith(make.OTHERWISE)])
    section.tables.append(table)
    lost = sum(verdict.status == "unmeasured" for _, verdict in results)
    if lost:
        section.notes.append(f"{lost} of {len(results)} of these responses were not measured.")
    if not any(item.examples for item in run.items):
        section.notes.append("No right response is known: give rows with an answer, or --cases.")


def _row(name: str, group: Sequence[tuple[Probe, Verdict]]) -> list[str]:
    scores = [v.score for _, v in group if v.score is not None]
    good = sum(_as_wanted(*pair) for pair in group)
    wants = {probe.want for probe, _ in group}
    want = f"{wants.pop():g}" if len(wants) == 1 else "as told"
    mean = f"{sum(scores) / len(scores):.3f}" if scores else "none"
    return [name, want, rate_text(good, len(group)), mean]


def _as_wanted(probe: Probe, verdict: Verdict) -> bool:
    if verdict.status == "unmeasured":
        return True
    if probe.want == 0.0:
        return not verdict.paid
    return verdict.score is not None and abs(verdict.score - probe.want) < 1e-6


def _judge(section: Section, name: str, group: Sequence[tuple[Probe, Verdict]]) -> None:
    bad = [pair for pair in group if not _as_wanted(*pair)]
    if not bad:
        return
    cases = [shown(*pair) for pair in bad]
    text = f"{name}: {len(bad)} of {len(group)} do not earn what they must"
    if bad[0][0].want == 0.0:
        section.fault("false rewards", text, _PAID, cases)
    else:
        section.fault("missed rewards", text, _UNPAID, cases)


def _written(section: Section, results: Sequence[tuple[Probe, Verdict]]) -> None:
    """Right answers in other words: one fault for all the ways in which they are not paid."""
    bad = {probe.name: (probe, v) for probe, v in results if not _as_wanted(probe, v)}
    if bad:
        ways = ", ".join(name.removeprefix(make.OTHERWISE) for name in bad)
        text = f"the right answer is not paid when it is written {ways}"
        section.fault("missed rewards", text, _UNPAID, [shown(*pair) for pair in bad.values()])


# -- two functions --------------------------------------------------------------------------------


def _agreement(run: Run, section: Section) -> None:
    """Compare the target with another one, on saved responses or else on known ones."""
    assert run.reference is not None
    pool = _pool(run)
    one = run.score(pool, "this one")
    two = list(run.reference.each(pool))
    both = [
        (pair, a, b)
        for pair, a, b in zip(pool, one, two, strict=True)
        if "unmeasured" not in (a.status, b.status)
    ]
    apart = [row for row in both if row[1].paid != row[2].paid]
    section.numbers["agreement"] = 1 - len(apart) / len(both) if both else None
    value = kappa([a.paid for _, a, _ in both], [b.paid for _, _, b in both])
    table = Table(f"Agreement with {run.options.against}", ["", ""])
    table.rows += [
        ["same verdict", rate_text(len(both) - len(apart), len(both))],
        ["beyond chance (kappa)", "none" if value is None else f"{value:.2f}"],
        ["only this one pays", str(sum(a.paid for _, a, _ in apart))],
        ["only the other pays", str(sum(b.paid for _, _, b in apart))],
    ]
    section.tables.append(table)
    if apart:
        cases = [_apart(run, *row) for row in apart]
        text = f"the two differ on {len(apart)} of {len(both)} responses"
        section.fault("agreement", text, "Look at the cases: one of the two is wrong", cases)


def _pool(run: Run) -> list[tuple[int, tuple[str, ...]]]:
    saved = run.cases or run.responses
    if saved:
        return [(row.item, row.turns) for row in saved]
    items = spread(run.items)
    known = [*make.known_worth(items), *make.other_ways(items)]
    return [(probe.item.index, probe.turns) for probe in known]


def _apart(run: Run, pair: tuple[int, tuple[str, ...]], one: Verdict, two: Verdict) -> Case:
    response = " ⏎ ".join(map(short, pair[1]))
    other = "nothing" if two.score is None else f"{two.score:g}"
    prompt = short(run.items[pair[0]].prompt)
    return Case(prompt, response, one.score, note=f"the other pays {other}")
