"""Evaluations as a report: one table of all, one of what a group would learn, one of two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from ..reports.report import Report, Section, Table
from .estimates import Estimate
from .result import GROUPS, Evaluation, compare, parted

_PARTED = 10  # problems that are shown where two models part
_BINS = ("0", "to 25 %", "to 50 %", "to 75 %", "below 100 %", "100 %")


def report_of(
    evaluations: Sequence[Evaluation], command: str = "", prices: tuple[float, float] | None = None
) -> Report:
    """Return the report.

    Args:
        evaluations: of any environments and models.
        command: how to make it again.
        prices: of a million tokens of prompts, and of responses.
    """
    report = Report("Evaluation", command)
    report.sections = [
        _section_of_rates(evaluations),
        _section_of_signal(evaluations),
        _section_of_costs(evaluations, prices),
    ]
    pairs = [
        (one, two) for one, two in combinations(evaluations, 2)
        if one.plan == two.plan and one.policy != two.policy
    ]  # fmt: skip
    if pairs:
        report.sections.append(_section_of_pairs(pairs))
    return report


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return one evaluation as JSON values: the plan, estimates, and each problem's pass rate."""
    prompt_tokens, tokens = evaluation.tokens
    return {
        "plan": asdict(evaluation.plan),
        "policy": evaluation.policy,
        "problems": evaluation.held_out,
        "asked": evaluation.problems,
        "pass_at": {str(k): _estimate_json(evaluation.pass_at(k)) for k in evaluation.ks},
        "mean_reward": _estimate_json(evaluation.mean_reward()),
        "parts": evaluation.mean_parts(),
        "signal": {str(size): evaluation.signal(size) for size in GROUPS},
        "responses": len(evaluation.outcomes),
        "unmeasured": evaluation.unmeasured,
        "lost": evaluation.lost,
        "cut": evaluation.cut,
        "token_exact": evaluation.exact,
        "by_tokens": evaluation.by_tokens,
        "refused": evaluation.refused,
        "stopped": evaluation.stopped,
        "prompt_tokens": prompt_tokens,
        "tokens": tokens,
        "pass_rates": evaluation.measured_rates(),
    }  # fmt: skip


def _estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else asdict(estimate)


def _name_of(one: Evaluation) -> list[str]:
    """The first columns of every table: the environment and the model."""
    settings = ", ".join(f"{name}={value}" for name, value in one.plan.settings.items())
    return [f"{one.plan.env} ({settings})" if settings else one.plan.env, one.policy]


def _section_of_rates(evaluations: Sequence[Evaluation]) -> Section:
    section = Section("rates", "How often is it right?")
    heads = ["environment", "model", "", "mean", "95 % interval", "problems"]
    table = Table("Of all problems; the interval is by problem", heads)
    for one in evaluations:
        names = [*_name_of(one)]
        told = {f"pass@{k}": one.pass_at(k) for k in one.ks} | {"reward": one.mean_reward()}
        for name, estimate in told.items():
            table.rows.append([*names, name, *_cells(estimate)])
            names = ["", ""]
    section.tables.append(table)
    if parts := _parts_table(evaluations):
        section.tables.append(parts)
    if refused := _refused_table(evaluations):
        section.tables.append(refused)
    for one in evaluations:
        section.notes += _notes_of(one, named=len(evaluations) > 1)
    return section


def _cells(estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return ["none", "", "0"]
    interval = f"{estimate.low:.1%} to {estimate.high:.1%}"
    return [f"{estimate.value:.1%}", interval, str(estimate.problems)]


def _parts_table(evaluations: Sequence[Evaluation]) -> Table | None:
    table = Table("Parts of the reward, mean", ["environment", "model", "part", "mean"])
    for one in evaluations:
        for name, mean in one.mean_parts().items():
            table.rows.append([*_name_of(one), name, f"{mean:.3f}"])
    return table if table.rows else None


def _refused_table(evaluations: Sequence[Evaluation]) -> Table | None:
    """The forms of right answers that were not paid: the prompt may ask for the form in words."""
    heads = ["environment", "model", "form", "responses"]
    table = Table("Right answers that were refused for their form", heads)
    for one in evaluations:
        for form, many in one.refused.items():
            table.rows.append([*_name_of(one), form, str(many)])
    return table if table.rows else None


def _notes_of(one: Evaluation, named: bool) -> list[str]:
    plan = one.plan
    notes = [
        f"problems {one.held_out}; {plan.samples} responses to each of {one.problems}, at most "
        f"{plan.max_tokens} tokens, temperature {plan.temperature:g}, seed {plan.seed}; "
        f"{_manner(one)}"
    ]
    if one.problems < plan.problems:
        notes.append(f"only {one.problems} different problems were found, of {plan.problems} asked")
    if one.unmeasured:
        notes.append(f"{one.unmeasured} rewards could not be measured, and are left out")
    if one.lost:
        notes.append(
            f"{one.lost} responses could not be had, and are left out; the same command asks again"
        )
    if one.stopped:
        notes.append(
            "ended at the limit of tokens; the same command with a higher --max-tokens-total goes "
            "on"
        )
    if one.cut:
        notes.append(
            f"{one.cut} of {len(one.outcomes)} responses were cut off: a larger --max-tokens may "
            "say more"
        )
    return [f"{one.plan.env}, {one.policy}: {note}" if named else note for note in notes]


def _manner(one: Evaluation) -> str:
    """Return whether the tokens are known, and how turns were sent."""
    played = f"{one.by_tokens} of {len(one.outcomes)} responses are"
    if one.by_tokens == len(one.outcomes) > 0:
        return (
            "played token by token: contexts are the ids that were sampled, and these are in the "
            "file, with their log-probabilities"
        )
    if not one.exact:
        return "played by messages (texts), not token by token"
    which = "all" if one.exact == len(one.outcomes) else f"{one.exact} of {len(one.outcomes)}"
    contexts = (
        f"{played} played token by token, the others by messages"
        if one.by_tokens
        else ("contexts are messages")
    )
    return (
        f"{contexts}; token ids and log-probabilities of {which} responses are in the "
        "file, as they were sampled"
    )


def _section_of_signal(evaluations: Sequence[Evaluation]) -> Section:
    section = Section("signal", "Would a policy learn from it?")
    heads = ["environment", "model", *(f"groups of {size}" for size in GROUPS)]
    table = Table("Share of groups whose rewards differ", heads)
    rates = Table("Problems by pass rate", ["environment", "model", *_BINS])
    for one in evaluations:
        table.rows.append([*_name_of(one), *(_signal_cell(one, size) for size in GROUPS)])
        rates.rows.append([*_name_of(one), *map(str, _rate_counts(one))])
    section.tables = [table, rates]
    if any("at least" in cell for row in table.rows for cell in row):
        section.notes.append(
            "“at least”: problems have fewer responses than the group; -k "
            f"{max(GROUPS)} gives the share itself"
        )
    return section


def _signal_cell(one: Evaluation, size: int) -> str:
    found = one.signal(size)
    if found is None:
        return "needs -k 2 or more"
    value, exact = found
    return f"{value:.1%}" if exact else f"at least {value:.1%}"


def _rate_counts(one: Evaluation) -> list[int]:
    counts = [0] * len(_BINS)
    for rate in one.pass_rates().values():
        at = 0 if rate == 0 else len(_BINS) - 1 if rate == 1 else min(4, 1 + int(rate * 4 - 1e-9))
        counts[at] += 1
    return counts


def _section_of_costs(
    evaluations: Sequence[Evaluation], prices: tuple[float, float] | None
) -> Section:
    section = Section("cost", "What did it take?")
    heads = ["environment", "model", "responses", "prompt tokens", "tokens", "seconds"]
    table = Table("", heads + (["cost"] if prices else []))
    for one in evaluations:
        prompt, said = one.tokens
        row = [*_name_of(one), str(len(one.outcomes)), _count(prompt), _count(said)]
        row.append(f"{one.seconds:.1f}")
        if prices:
            known = prompt is not None and said is not None
            cost = ((prompt or 0) * prices[0] + (said or 0) * prices[1]) / 1e6
            row.append(f"{cost:.4f}" if known else "unknown")
        table.rows.append(row)
    section.tables.append(table)
    return section


def _count(tokens: int | None) -> str:
    return "not told" if tokens is None else f"{tokens:,}"


def _section_of_pairs(pairs: Sequence[tuple[Evaluation, Evaluation]]) -> Section:
    section = Section("side by side", "Which is better, on the same problems?")
    table = Table("pass@1 of the first, less that of the second",
                  ["environment", "first", "second", "difference"])  # fmt: skip
    for one, two in pairs:
        found = compare(one, two)
        table.rows.append([*_name_of(one), two.policy, "none" if found is None else _signed(found)])
    section.tables.append(table)
    for one, two in pairs:
        if apart := parted(one, two):
            rows = [[name, f"{a:.0%}", f"{b:.0%}"] for name, a, b in apart[:_PARTED]]
            title = f"Where they part ({len(apart)} problems)"
            section.tables.append(Table(title, ["problem", one.policy, two.policy], rows))
    return section


def _signed(estimate: Estimate) -> str:
    return f"{estimate.value:+.1%} ({estimate.low:+.1%} to {estimate.high:+.1%})"
