"""Right: does it pay what is right, and nothing else?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import SettingError
from ..reports.report import Section, Table
from ..responses import probes as make
from ..responses.framing import framed
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.solvers import solve
from .kinds import check_kind
from .refused import check_right_answers
from .run import BenchRun, Tried, first_cases, repeat_of, spread
from .stats import kappa, rate_text, rate_texts

_UNPAID = "Pay the right answer however it is written, and make question and answer from one draw"
_PAID = "Pay right answers only"


def check_correctness(run: BenchRun) -> Section:
    """Return what labels say, and what is known without them."""
    section = Section("right", "Does it pay what is right, and nothing else?")
    if run.cases:
        results = run.saved(run.cases, "labelled responses")
        _labelled(section, results)
    if run.options.battery:
        section.tables.append(_by_kind(results))
        _compared(run, section)
        return section
    _solved(run, section, run.tried(_solver_probes(run), "solved from the prompt", must=True))
    if not run.about["same_again"] and section.numbers["oracle"] is not None:
        section.notes.append("build_dataset() gives other problems each time: it is not seeded.")
    if run.reads_answers:
        check_right_answers(run, section)
    elif run.learned:
        check_kind(run, section)
    else:
        _known(section, run.tried(_worth_known(run), "known responses"))
    if not any(item.examples for item in run.items) and not run.reads_answers:
        section.notes.append(
            "No right response is known: give rows with an answer, a column 'right', or --cases."
        )
    _compared(run, section)
    return section


# -- with labels ----------------------------------------------------------------------------------


def _labelled(section: Section, every: Sequence[Tried]) -> None:
    results = [one for one in every if one.measured]
    right = [one for one in results if (one.want or 0.0) >= 0.5]
    wrong = [one for one in results if (one.want or 0.0) < 0.5]
    false = [one for one in wrong if one.paid]
    missed = [one for one in right if not one.paid]
    rates = {
        "accuracy": (len(results) - len(false) - len(missed), len(results)),
        "false_rewards": (len(false), len(wrong)),
        "missed_rewards": (len(missed), len(right)),
    }
    section.numbers |= {name: _hit_rate(*rate) for name, rate in rates.items()}
    section.tables.append(_label_table(rates.values(), len(every) - len(results)))
    if false:
        text = f"{len(false)} of {len(wrong)} responses that are labelled wrong are paid"
        section.find("false rewards", text, _PAID, first_cases(false), severity="exploitable")
    if missed:
        text = f"{len(missed)} of {len(right)} responses that are labelled right are not paid"
        section.find("missed rewards", text, _UNPAID, first_cases(missed), severity="honest")


def _by_kind(results: Sequence[Tried]) -> Table:
    """Return for each kind of case how many got the right verdict."""
    table = Table("By kind", ["kind", "cases", "accuracy", "false", "missed", "unmeasured"])
    groups: dict[str, list[Tried]] = defaultdict(list)
    for one in results:
        groups[one.name].append(one)
    for name, group in groups.items():
        known = [one for one in group if one.measured]
        false = sum(one.paid and not one.want for one in known)
        missed = sum(not one.paid and bool(one.want) for one in known)
        rate = f"{(len(known) - false - missed) / len(known):.0%}" if known else "none"
        counts = [str(false), str(missed), str(len(group) - len(known))]
        table.rows.append([name, str(len(group)), rate, *counts])
    return table


def _hit_rate(hits: int, total: int) -> float | None:
    return hits / total if total else None


def _label_table(rates: Iterable[tuple[int, int]], unmeasured: int) -> Table:
    names = ["accuracy", "false rewards, of wrong responses", "missed rewards, of right responses"]
    rows = [[name, text] for name, text in zip(names, rate_texts(rates), strict=True)]
    rows.append(["not measured", str(unmeasured)])
    return Table("By the labels", ["", "rate (95 % interval)"], rows)


# -- solved from the prompt -----------------------------------------------------------------------


def _solver_probes(run: BenchRun) -> list[Probe]:
    """Return the answers to the prompts, found from the prompts alone."""
    if run.learned and not run.reads_answers and not run.options.solver:
        return []  # it pays no answers
    found = _by_solver(run) if run.options.solver else [_solved_sum(i, run) for i in run.items]
    return [
        Probe("solved from the prompt", item, turns, 1.0)
        for item, turns in zip(run.items, found, strict=True)
        if turns is not None
    ]


def _by_solver(run: BenchRun) -> list[tuple[str, ...] | None]:
    limit = run.options.timeout_s * len(run.items)
    (replies,) = run.worker.ask("solve", solver=run.options.solver, timeout_s=limit)
    if isinstance(replies, dict):
        raise SettingError(f"--solve {run.options.solver}: {replies['failed']}")
    return [None if reply is None else tuple(reply) for reply in replies]


def _solved_sum(item: Item, run: BenchRun) -> tuple[str, ...] | None:
    """Return the answer to a prompt that is a sum; what asks for a program is none."""
    answer = solve(item.prompt) if item.kind in ("answer", "text") else None
    return None if answer is None else (_as_asked(answer, item, run),)


def _as_asked(answer: str, item: Item, run: BenchRun) -> str:
    """Return an answer in the form of the right response: in a box, if that is asked for."""
    if run.paid is not None and run.paid.wordings:
        return run.paid.wordings[0].write(answer)
    if item.kind != "answer" or item.gold is None:
        return answer
    before, _, after = framed(item.gold)
    return f"{before}{answer}{after}"


def _solved(run: BenchRun, section: Section, every: Sequence[Tried]) -> None:
    """The answer to the prompt must earn the full mark."""
    results = [one for one in every if one.measured]
    section.numbers["oracle"] = None
    if not results:
        section.notes.append(_UNMEASURED if every else _UNSOLVED)
        return
    top = run.paid.top if run.paid is not None and run.reads_answers else 1.0
    unpaid = [one for one in results if one.score is None or one.score < 0.9 * top]
    paid = len(results) - len(unpaid)
    section.numbers["oracle"] = paid / len(results)
    row = ["the right answer to the prompt", rate_text(paid, len(results))]
    section.tables.append(Table("Solved from the prompt alone", ["", "full marks"], [row]))
    if unpaid:
        text = (
            f"the right answer, solved from the prompt, earns the full mark on {paid} of "
            f"{len(results)} problems"
        )
        advice = "Make the question and its answer from the same numbers"
        section.find(
            "unsolvable", text, advice, first_cases(map(_with_gold, unpaid)), severity="honest",
            cost="A policy that solves the problem is not paid", repeat=repeat_of(run, unpaid[0]),
        )  # fmt: skip


_UNMEASURED = "No answer that was solved from the prompt was measured."
_UNSOLVED = (
    "No prompt could be solved by itself: give --solve module:function to see whether questions "
    "and answers belong together."
)


def _with_gold(one: Tried) -> Tried:
    gold = one.item.gold
    return replace(one, told=f"what is paid is {gold!r}" if gold else "")


# -- known by how they were made ------------------------------------------------------------------


def _worth_known(run: BenchRun) -> list[Probe]:
    items = spread(run.items)
    return [*make.known_worth(items), *make.other_ways(items)]


def _known(section: Section, results: Sequence[Tried]) -> None:
    """Responses whose worth is known by how they were made."""
    groups: dict[str, list[Tried]] = defaultdict(list)
    for one in results:
        groups[one.name].append(one)
    _judge(section, groups)
    _written(section, [one for one in results if one.name.startswith(make.OTHERWISE)])
    section.tables.append(_known_table(groups))
    lost = sum(not one.measured for one in results)
    if lost:
        section.notes.append(f"{lost} of {len(results)} of these responses were not measured.")


def _known_table(groups: Mapping[str, Sequence[Tried]]) -> Table:
    rates = [(sum(map(_as_wanted, group)), len(group)) for group in groups.values()]
    table = Table("Known by how they were made", ["response", "must earn", "does", "mean reward"])
    for (name, group), rate in zip(groups.items(), rate_texts(rates), strict=True):
        table.rows.append([name, _wanted_score(group), rate, _mean_score(group)])
    return table


def _wanted_score(group: Sequence[Tried]) -> str:
    wants = {one.want for one in group}
    return f"{wants.pop():g}" if len(wants) == 1 else "as told"


def _mean_score(group: Sequence[Tried]) -> str:
    scores = [one.score for one in group if one.score is not None]
    return f"{sum(scores) / len(scores):.3f}" if scores else "none"


def _as_wanted(one: Tried) -> bool:
    if not one.measured:
        return True
    if not one.want:
        return not one.paid
    return one.score is not None and abs(one.score - one.want) < 1e-6


def _judge(section: Section, groups: Mapping[str, Sequence[Tried]]) -> None:
    for name, group in groups.items():
        bad = [one for one in group if not _as_wanted(one)]
        if bad and not name.startswith(make.OTHERWISE):
            text = f"{name}: {len(bad)} of {len(group)} do not earn what they must"
            rule = ("missed rewards", _UNPAID) if bad[0].want else ("false rewards", _PAID)
            severity = "honest" if bad[0].want else "exploitable"
            section.find(rule[0], text, rule[1], first_cases(bad), severity=severity)


def _written(section: Section, results: Sequence[Tried]) -> None:
    """Right answers in other words: a strict form is a rule that its author chose."""
    bad = {one.name: one for one in results if not _as_wanted(one)}
    if bad:
        ways = ", ".join(name.removeprefix(make.OTHERWISE) for name in bad)
        text = f"the form is strict: the right answer is not paid when it is written {ways}"
        use = "a policy must learn the form; say it in the prompt"
        section.tell("policy", text, use, first_cases(bad.values()))


# -- two functions --------------------------------------------------------------------------------


def _compared(run: BenchRun, section: Section) -> None:
    """Compare with the other target, if there is one."""
    if run.reference is None:
        return
    pool = _compared_probes(run)
    first = run.saved(run.cases, "this one") if run.options.battery else run.tried(pool, "this one")
    second = run.tried(pool, by=run.reference, must=bool(run.options.battery))
    _agreement(section, str(run.options.against), first, second)
    if run.options.battery:
        _other_by_kind(section, str(run.options.against), second)


def _other_by_kind(section: Section, name: str, results: Sequence[Tried]) -> None:
    """The same table for the other target, where it has errors."""
    table = _by_kind(results)
    wrong = [row for row in table.rows if row[3:] != ["0", "0", "0"]]
    table.title = f"Errors of {name}, by kind"
    section.tables += [replace(table, rows=wrong)] if wrong else []


def _compared_probes(run: BenchRun) -> list[Probe]:
    """Return what two targets are compared on: saved responses, or else known ones."""
    saved = run.cases or run.responses
    return run.probes_of(saved) if saved else _worth_known(run)


def _agreement(section: Section, other: str, one: Sequence[Tried], two: Sequence[Tried]) -> None:
    """Compare what two targets pay."""
    both = [(a, b) for a, b in zip(one, two, strict=False) if a.measured and b.measured]
    apart = [(a, b) for a, b in both if a.paid != b.paid]
    section.numbers["agreement"] = _hit_rate(len(both) - len(apart), len(both))
    value = kappa([a.paid for a, _ in both], [b.paid for _, b in both])
    table = Table(f"Agreement with {other}", ["", ""])
    table.rows += [
        ["same verdict", rate_text(len(both) - len(apart), len(both))],
        ["beyond chance (kappa)", "none" if value is None else f"{value:.2f}"],
        ["only this one pays", str(sum(a.paid for a, _ in apart))],
        ["only the other pays", str(sum(b.paid for _, b in apart))],
    ]
    section.tables.append(table)
    if apart:
        text = f"the two differ on {len(apart)} of {len(both)} responses"
        advice = "Look at the cases: one of the two is wrong"
        section.find("agreement", text, advice, first_cases(_beside(*pair) for pair in apart))


def _beside(one: Tried, two: Tried) -> Tried:
    other = "nothing" if two.score is None else f"{two.score:g}"
    return replace(one, want=None, told=f"the other pays {other}")
