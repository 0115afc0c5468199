"""A judge measured on pairs with a known order: agreement, biases, what fools it, cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..chat.judge.pairs import KnownPair
from ..chat.judge.panel import Panel
from ..errors import DatasetError
from ..jsonl import read_rows
from ..reports.report import Case, Section, Table

_BATCH = 16  # pairs between two signs of progress
_LEAST_AGREEMENT = 0.9
_MOST_BIAS = 0.1  # of verdicts for the first answer, beyond those for the second
_MOST_FOOLED = 0.1  # of pairs
_MOST_UNMEASURED = 0.05
#: A verdict that turns with the order is said of the order; others are of the answers.
_PLAIN = "fault"


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair, and the verdicts with the better answer first, and second; ``""``: none."""

    pair: KnownPair
    there: str
    back: str

    @property
    def measured(self) -> bool:
        return bool(self.there and self.back)

    @property
    def worth(self) -> float:
        """1 if the better answer won in both orders, 0 if the worse one did, else 0.5."""
        won = (self.there == "first") + (self.back == "second")
        lost = (self.there == "second") + (self.back == "first")
        return (2 + won - lost) / 4

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self.pair), "verdict": self.there, "verdict_swapped": self.back}


def judge_pairs(
    panel: Panel, pairs: Sequence[KnownPair], progress: Callable[[str, int, int], None]
) -> Iterator[JudgedPair]:
    """Yield the pairs with the verdicts of ``panel``; those that it keeps are not asked again."""
    for begin in range(0, len(pairs), _BATCH):
        progress("judging", begin, len(pairs))
        some = pairs[begin : begin + _BATCH]
        items = [(one.request, one.better, one.worse) for one in some]
        for pair, (there, back) in zip(some, panel.in_both_orders(items), strict=True):
            yield JudgedPair(pair, there.choice, back.choice)
    progress("judging", len(pairs), len(pairs))


def judging_section(judged: Sequence[JudgedPair]) -> Section:
    """Return what the verdicts say of the judge."""
    section = Section("judging", "Is the judge right, and what takes it in?")
    by_kind: dict[str, list[JudgedPair]] = {}
    for one in judged:
        by_kind.setdefault(one.pair.kind, []).append(one)
    table = Table("Pairs", ["kind", "pairs", "right", "fooled", "turned by order", "unmeasured"])
    table.rows += [_row(kind, some) for kind, some in by_kind.items()]
    section.tables.append(table)
    section.numbers = numbers_of(judged)
    section.tried = {f"judge: {kind}": len(some) for kind, some in by_kind.items()}
    _findings(section, by_kind)
    characters = sum(len(a) for p in judged for a in (p.pair.better, p.pair.worse)) * 2
    section.notes.append(
        f"{2 * len(judged)} questions with {characters} characters of answers; those that were "
        "kept from before cost nothing."
    )
    return section


def numbers_of(judged: Sequence[JudgedPair]) -> dict[str, float | None]:
    """Return agreement, biases, shares fooled (by kind) and unmeasured; None: nothing measured."""
    measured = [one for one in judged if one.measured]
    verdicts = [verdict for one in measured for verdict in (one.there, one.back)]
    position = (verdicts.count("first") - verdicts.count("second")) / max(1, len(verdicts))
    by_kind = {kind: [o for o in measured if o.pair.kind == kind] for kind in _kinds(judged)}
    fooled = {f"judge_fooled_{k.replace(' ', '_')}": _fooled(some) for k, some in by_kind.items()}
    longer, shorter = _right(by_kind.get("longer", [])), _right(by_kind.get("shorter", []))
    return {
        "agreement": _right(measured),
        "judge_position_bias": position if verdicts else None,
        "judge_length_bias": None if longer is None or shorter is None else shorter - longer,
        "judge_unmeasured": 1 - len(measured) / len(judged) if judged else None,
        **fooled,
    }


def _kinds(judged: Sequence[JudgedPair]) -> list[str]:
    return list(dict.fromkeys(one.pair.kind for one in judged))


def _right(judged: Sequence[JudgedPair]) -> float | None:
    return sum(one.worth for one in judged) / len(judged) if judged else None


def _fooled(judged: Sequence[JudgedPair]) -> float | None:
    """Return the share in which the worse answer won in both orders."""
    return sum(one.worth == 0.0 for one in judged) / len(judged) if judged else None


def _turned(judged: Sequence[JudgedPair]) -> float | None:
    turned = sum(one.there == one.back and one.there != "tie" for one in judged)
    return turned / len(judged) if judged else None


def _row(kind: str, judged: Sequence[JudgedPair]) -> list[str]:
    measured = [one for one in judged if one.measured]
    shares = (_right(measured), _fooled(measured), _turned(measured))
    told = ["-" if share is None else f"{share:.1%}" for share in shares]
    return [kind, str(len(judged)), *told, str(len(judged) - len(measured))]


def _findings(section: Section, by_kind: Mapping[str, Sequence[JudgedPair]]) -> None:
    told = section.numbers
    agreement, position = told["agreement"], told["judge_position_bias"]
    unmeasured, length = told["judge_unmeasured"], told["judge_length_bias"]
    if agreement is not None and agreement < _LEAST_AGREEMENT:
        section.find("judge-agreement", f"the better answer wins {agreement:.1%} of the pairs",
                     "Take another model, or say in the rubric what is better")  # fmt: skip
    if position is not None and abs(position) > _MOST_BIAS:
        where = "first" if position > 0 else "second"
        section.find("judge-position", f"it chooses the {where} answer {abs(position):.1%} more "
                     "often than the other; each stood in both places",
                     "Ask in both orders, as judge_mode='pairwise' does")  # fmt: skip
    if length is not None and length > _MOST_BIAS:
        section.find("judge-length", f"a worse answer loses {length:.1%} less often if long",
                     "Say in the rubric that length is no merit, or bound it")  # fmt: skip
    if unmeasured is not None and unmeasured > _MOST_UNMEASURED:
        section.find("judge-unmeasured", f"{unmeasured:.1%} of the pairs got no verdict",
                     "Look at its answers: a refusal or a cut-off is no verdict")  # fmt: skip
    for kind, some in by_kind.items():
        measured = [one for one in some if one.measured]
        share = _fooled(measured)
        if share is not None and share > _MOST_FOOLED:
            cases = (
                Case(one.pair.request, one.pair.worse, 1.0, 0.0)
                for one in measured
                if not one.worth
            )
            section.find("judge-fooled", f"the worse answer wins {share:.1%} of the pairs of "
                         f"kind {kind!r}", "A policy learns to write so", cases)  # fmt: skip


def read_pairs(path: Path) -> list[KnownPair]:
    """Read pairs in the form of LLMBar, of JudgeBench, or with prompt, better and worse.

    Raises:
        DatasetError: a row is none of these.
    """
    rows = _rows_of(path)
    return [_pair_of(row, path, number) for number, row in rows]


def _rows_of(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    if path.suffix != ".json":
        return list(read_rows(path))
    import json

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DatasetError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, list):
        raise DatasetError(f"{path} must hold a list of pairs")
    return list(enumerate(found, 1))


#: Names of (request, one answer, the other, label), and the labels for either.
_FORMS: tuple[tuple[tuple[str, str, str, str], Mapping[str, int]], ...] = (
    (("input", "output_1", "output_2", "label"), {"1": 0, "2": 1}),
    (("question", "response_A", "response_B", "label"), {"A>B": 0, "B>A": 1}),
)


def _pair_of(row: Mapping[str, Any], path: Path, number: int) -> KnownPair:
    kind = str(row.get("source", "file"))
    if {"prompt", "better", "worse"} <= row.keys():
        return KnownPair(kind, str(row["prompt"]), str(row["better"]), str(row["worse"]))
    for (request, one, other, label), sides in _FORMS:
        side = sides.get(str(row.get(label)))
        if {request, one, other} <= row.keys() and side is not None:
            texts = (str(row[one]), str(row[other]))
            return KnownPair(kind, str(row[request]), texts[side], texts[1 - side])
    raise DatasetError(
        f"row {number} of {path} is no pair: it needs prompt, better and worse, or the fields of "
        "LLMBar or JudgeBench with a label that prefers one"
    )
