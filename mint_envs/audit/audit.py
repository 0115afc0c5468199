"""``mint-envs audit``: are the problems themselves fit to be trained on?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..bench.stats import rate_text
from ..datasets import Row, load_rows, rows_or_faults
from ..errors import DatasetError
from ..jsonl import Appended, cut_torn, line_of, read_rows
from ..math.rows import PRESETS
from ..reports.report import Case, Finding, Report, Section, Table, Tell
from ..sandbox import Sandbox
from .audit_code import CodeSettings
from .audited import KINDS, Audited
from .duplicates import twins
from .kinds import AuditedKind, audited_kind, broken, kind_of


@dataclass(frozen=True)
class AuditOptions:
    """Settings of an audit.

    Args:
        split: of the data set, as in ``load_rows``.
        test: another data set that must not share problems with this one.
        kind: ``"code"``, ``"math"``, ``"tooluse"``, ``"chat"``; ``"auto"``: what the first row is.
        out: file to which the result of each problem is appended; a restart goes on from there.
        limit: how many problems to audit; 0 for all.
        settings: of the environment, by which its rows are read (``question_field`` ...).
    """

    split: str | None = None
    test: str | None = None
    kind: str = "auto"
    out: str | None = None
    limit: int = 0
    code: CodeSettings = field(default_factory=CodeSettings)
    sandbox: str | Sandbox | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def audit(
    dataset: str, options: AuditOptions | None = None, progress: Tell | None = None
) -> list[Audited]:
    """Return what is wrong with each problem of a data set. A row that is broken is a finding.

    Raises:
        DatasetError: it is missing, or ``out`` belongs to another data set.
        SettingError: ``kind`` or a setting is unknown.
        SandboxUnavailable: (code) no sandbox works here.
    """
    options = options or AuditOptions()
    rows = _rows_to_audit(dataset, options)
    first: Row = next((row for row in rows if not isinstance(row, DatasetError)), {})
    kind = kind_of(first) if options.kind == "auto" else options.kind
    source = _source_of(dataset)[0]
    asked = audited_kind(kind, source, options.code, options.sandbox, options.settings)
    tell = progress or (lambda *_: None)
    with Appended(Path(options.out)) if options.out else nullcontext() as file:
        done = _done(options.out, len(rows))
        for number in range(1, len(rows) + 1):
            if number not in done:
                row = rows[number - 1]
                fault = isinstance(row, DatasetError)
                done[number] = broken({}, number, row) if fault else asked.check(row, number)
                if file:
                    file.write([done[number].to_json()])
            tell("problems", number, len(rows))
    found = [done[number] for number in sorted(done)]
    readable = [(one, row) for one, row in zip(found, rows, strict=True)
                if "broken row" not in one.kinds]  # fmt: skip
    texts = [asked.question(row) for _, row in readable]
    _note_duplicates([one for one, _ in readable], texts, asked, options)
    return found


def clean_lines(dataset: str, found: Sequence[Audited], options: AuditOptions) -> Iterator[str]:
    """Yield the rows that were audited and need not go, as lines of JSON."""
    for one, row in zip(found, _rows_to_audit(dataset, options), strict=True):
        if not one.drop:
            yield line_of(row)


def _rows_to_audit(dataset: str, options: AuditOptions) -> list[Any]:
    """Return the rows, and in place of one that is no row the error that says so."""
    source, default = _source_of(dataset)
    rows = rows_or_faults(source, options.split or default)
    return rows[: options.limit] if options.limit else rows


def _source_of(dataset: str) -> tuple[str, str | None]:
    """Return what a name stands for, and its split."""
    return PRESETS.get(dataset, (dataset, None))


def _done(out: str | None, count: int) -> dict[int, Audited]:
    """Return what an earlier run has written, by row."""
    found: dict[int, Audited] = {}
    if out is None:
        return found
    cut_torn(Path(out))
    for number, row in read_rows(Path(out)):
        try:
            one = Audited.from_json(row)
        except (ValueError, TypeError, KeyError) as error:
            raise DatasetError(
                f"line {number} of {out!r} is no line of an audit: {error}"
            ) from error
        found[one.row] = one
    if found and max(found) > count:
        raise DatasetError(f"{out!r} is the audit of another data set: delete it, or name another")
    return found


def _note_duplicates(
    found: Sequence[Audited], texts: Sequence[str], asked: AuditedKind, options: AuditOptions
) -> None:
    for twin in twins(texts):
        kind = "duplicate" if twin.likeness == 1.0 else "near duplicate"
        found[twin.later].add(kind, f"row {found[twin.earlier].row} ({twin.likeness:.0%} alike)")
    if options.test is None:
        return
    others = [asked.question(row) for row in load_rows(options.test)]
    for twin in twins(texts, others):
        kind = "in the test set" if twin.likeness == 1.0 else "near one in the test set"
        found[twin.later].add(kind, f"row {twin.earlier + 1} of {options.test}")


def drop_lines(found: Sequence[Audited]) -> Iterator[str]:
    """Yield the lines of the file that the setting ``drop=`` takes.

    A row that cannot be read has no id, and its data set is refused whatever ``drop=`` names:
    ``clean_lines`` leaves it out.
    """
    seen: Counter[str] = Counter()
    for one in found:
        if one.drop and "broken row" not in one.kinds:
            only_repeated = all(k == "duplicate" for k in one.kinds if KINDS[k][0])
            # Of the same id the first stays; another id with the same words may go by its own.
            keep = {"keep": 1} if only_repeated and seen[one.problem_id] else {}
            reasons = [f"{f.check}: {f.fault}" for f in one.findings]
            yield line_of({"problem_id": one.problem_id, **keep, "row": one.row, "why": reasons})
        seen[one.problem_id] += 1


def report_of(dataset: str, found: Sequence[Audited], command: str = "") -> Report:
    """Return the audit as a report: counts, the mutants, and every finding with what shows it."""
    section = Section("problems", "Are the problems fit to be trained on?")
    counts = Counter(kind for one in found for kind in set(one.kinds))
    dropped = [one for one in found if one.drop]
    section.numbers = {
        "problems": float(len(found)),
        "to_drop": float(len(dropped)),
        "drop_rate": len(dropped) / len(found) if found else 0.0,
        "weak": float(counts["weak tests"] + counts["a mutant passes"]),
    }
    table = Table("What was found", ["", "problems", "dropped", "meaning"])
    for kind, (drop, meaning) in KINDS.items():
        if counts[kind]:
            table.rows.append([kind, str(counts[kind]), "yes" if drop else "no", meaning])
    table.rows.append(["problems to drop", rate_text(len(dropped), len(found)), "", ""])
    section.tables.append(table)
    _mutant_table(section, found)
    section.findings += [one for kind in KINDS for one in _of_kind(kind, found)]
    return Report(dataset, command, {"problems": len(found)}, [section])


def _of_kind(kind: str, found: Sequence[Audited]) -> Iterator[Finding]:
    """Yield the findings of one kind as one, with all its cases: each is a problem to look at."""
    hit = [(one, f) for one in found for f in one.findings if f.check == kind]
    if hit:
        cases = [Case(f"row {one.row}: {one.question}", f.fault, None) for one, f in hit]
        drop, meaning = KINDS[kind]
        text = f"{len({one.row for one, _ in hit})} of {len(found)} problems: {meaning}"
        advice = "Drop them with drop=FILE, or write the others by --write-clean FILE"
        if kind == "broken row":
            advice = "Mend them, or write the others by --write-clean FILE"
        elif not drop:
            advice = "Look at them"
        yield Finding(kind, text, advice, tuple(cases), ("problem", "what was found"))


def _mutant_table(section: Section, found: Sequence[Audited]) -> None:
    total = sum(one.mutants for one in found)
    if not total:
        return
    killed = sum(one.killed for one in found)
    survived = sum(one.survived for one in found)
    table = Table("Mutants of the references", ["", ""])
    table.rows += [
        ["mutants", str(total)],
        [
            "caught by the tests, of those that behave differently",
            rate_text(killed, killed + survived),
        ],
        ["pass, and behave the same on all inputs tried", str(sum(o.equivalent for o in found))],
        ["pass, and could not be judged", str(sum(o.unjudged for o in found))],
    ]
    section.tables.append(table)
    section.numbers["caught"] = killed / (killed + survived) if killed + survived else None
