"""Useful for learning: do groups of responses to one prompt differ in reward?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..reports.report import Plot, Section, Table
from ..responses.repeats import repeated_sentences
from .run import BenchRun, Tried
from .stats import equal_shares

_BINS = 10
_LEAST_PROMPTS = 4
_MOST_REPEATED = 0.3  # of the prompts, those with one and the same sentence


def check_learning(run: BenchRun) -> Section:
    """Return the distribution of rewards on saved responses, and what a group would learn."""
    section = Section("learning", "Would a policy learn from it?")
    saved = run.responses or run.cases
    if not saved:
        section.notes.append(
            "Not measured: give --responses FILE with several responses to each prompt, sampled "
            "from the policy that is to be trained."
        )
        return section
    results = run.saved(saved, "saved responses")
    groups: dict[int, list[float]] = defaultdict(list)
    for one in results:
        if one.score is not None:
            groups[one.item.index].append(one.score)
    _repeats(section, results)
    _distribution(section, [score for group in groups.values() for score in group])
    _group_signal(section, list(groups.values()), run.options.group)
    _lost(section, results)
    return section


def _repeats(section: Section, results: Sequence[Tried]) -> None:
    """A sentence for all problems is no answer to any, whatever it is paid."""
    found = repeated_sentences((one.item.index, "\n".join(one.turns)) for one in results)
    section.numbers["repeated_sentences"] = found.share
    prompts = len({one.item.index for one in results})
    if found.prompts >= _LEAST_PROMPTS and found.prompts > _MOST_REPEATED * prompts:
        section.find(
            "repeated-sentences",
            f"responses to {found.prompts} of {prompts} prompts have the sentence "
            f"{found.sentence!r}",
            "Look at what it is paid for: a reward that a fixed text satisfies teaches that text",
        )


def _lost(section: Section, results: Sequence[Tried]) -> None:
    counts = Counter(one.status for one in results if one.score is None)
    if counts:
        told = ", ".join(f"{count} {status}" for status, count in counts.items())
        lost = f"{counts.total()} of {len(results)}"
        section.notes.append(f"{lost} responses got no reward: {told}.")


def _distribution(section: Section, scores: list[float]) -> None:
    if not scores:
        return
    counts = Counter(min(_BINS - 1, int(score * _BINS)) for score in scores)
    labels = [f"{i / _BINS:.1f} to {(i + 1) / _BINS:.1f}" for i in range(_BINS)]
    heights = [float(counts[i]) for i in range(_BINS)]
    section.plots.append(Plot("Rewards", "bars", labels, heights, "reward", "responses"))
    mean = sum(scores) / len(scores)
    table = Table("Rewards of saved responses", ["", ""])
    table.rows += [
        ["responses", str(len(scores))],
        ["mean", f"{mean:.3f}"],
        ["different values", str(len(set(scores)))],
        ["at 0", f"{scores.count(0.0) / len(scores):.1%}"],
        ["at 1", f"{scores.count(1.0) / len(scores):.1%}"],
    ]
    section.tables.append(table)
    section.numbers["mean_reward"] = mean


def _group_signal(section: Section, groups: list[list[float]], size: int) -> None:
    equal = equal_shares(groups, size)
    if not equal:
        most = max(map(len, groups), default=0)
        section.numbers["signal"] = None
        section.notes.append(
            f"No prompt has {size} responses (the most is {most}), so groups of {size} cannot be "
            "judged: sample more, or give a smaller --group."
        )
    else:
        flat = sum(equal) / len(equal)
        section.numbers["signal"] = 1 - flat
        table = Table(f"Groups of {size}", ["", "share"])
        table.rows += [
            ["all rewards equal: no advantage, no gradient", f"{flat:.1%}"],
            ["prompts with signal, expected in a batch", f"{1 - flat:.1%}"],
            [
                "prompts whose responses never differ",
                f"{sum(s == 1 for s in equal) / len(equal):.1%}",
            ],
        ]
        section.tables.append(table)
    _variance(section, [group for group in groups if len(group) > 1])


def _variance(section: Section, groups: list[list[float]]) -> None:
    """Split the variance: only the part within prompts teaches."""
    if not groups:
        return
    everything = [score for group in groups for score in group]
    mean = sum(everything) / len(everything)
    within = between = 0.0
    for group in groups:
        middle = sum(group) / len(group)
        within += sum((score - middle) ** 2 for score in group)
        between += len(group) * (middle - mean) ** 2
    total = len(everything)
    table = Table("Variance of the reward", ["", ""])
    table.rows += [
        ["within prompts (what a group learns from)", f"{within / total:.4f}"],
        ["between prompts (easy and hard ones)", f"{between / total:.4f}"],
    ]
    section.tables.append(table)
