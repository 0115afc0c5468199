"""``mint-envs audit``: are the problems themselves fit to be trained on?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..bench.stats import rate_text
from ..code.rows import reader_of
from ..core import Prompt
from ..datasets import Row, load_rows, look_up, row_id
from ..errors import DatasetError, SettingError
from ..jsonl import Appended, cut_torn, line_of, read_rows
from ..math.rows import PRESETS
from ..records.fields import PROMPTS
from ..reports.report import Case, Finding, Report, Section, Table, Tell
from ..sandbox import Sandbox, shared
from . import audit_math
from .audit_code import CodeSettings, audit_row
from .audited import KINDS, Audited
from .duplicates import twins

_WORDS = (
    "question",
    "q",
    "problem",
    "prompt",
    "content",
    "text",
    "description",
    "question_content",
)


@dataclass(frozen=True)
class AuditOptions:
    """Settings of an audit.

    Args:
        split: of the data set, as in ``load_rows``.
        test: another data set that must not share problems with this one.
        kind: ``"code"``, ``"math"`` or ``"auto"``.
        out: file to which the result of each problem is appended; a restart goes on from there.
        limit: how many problems to audit; 0 for all.
    """

    split: str | None = None
    test: str | None = None
    kind: str = "auto"
    out: str | None = None
    limit: int = 0
    code: CodeSettings = field(default_factory=CodeSettings)
    sandbox: str | Sandbox | None = None


def audit(
    dataset: str, options: AuditOptions | None = None, progress: Tell | None = None
) -> list[Audited]:
    """Return what is wrong with each problem of a data set of code or math.

    Raises:
        DatasetError: it is missing or broken, or ``out`` belongs to another data set.
        SettingError: ``kind`` is unknown.
        SandboxUnavailable: (code) no sandbox works here.
    """
    options = options or AuditOptions()
    rows, texts, checks = _rows_to_audit(dataset, options)
    tell = progress or (lambda *_: None)
    with Appended(Path(options.out)) if options.out else nullcontext() as file:
        done = _done(options.out, len(rows))
        for number in range(1, len(rows) + 1):
            if number not in done:
                done[number] = checks(number)
                if file:
                    file.write([done[number].to_json()])
            tell("problems", number, len(rows))
    found = [done[number] for number in sorted(done)]
    _note_duplicates(found, texts, dataset, options)
    return found


def _rows_to_audit(
    dataset: str, options: AuditOptions
) -> tuple[list[Row], list[str], Callable[[int], Audited]]:
    """Return the rows, their questions, and what audits the row of a number (from 1)."""
    source, default = PRESETS.get(dataset, (dataset, None))
    rows = load_rows(source, options.split or default)
    kind = options.kind if options.kind != "auto" else _row_kind(rows[0])
    if kind not in ("code", "math"):
        raise SettingError(f"kind={options.kind!r}: 'code', 'math' or 'auto'")
    if options.limit:
        rows = rows[: options.limit]
    if kind == "code":
        box = shared(options.sandbox)

        def code(number: int) -> Audited:
            return audit_row(rows[number - 1], number, source, options.code, box)

        return rows, [_question(row) for row in rows], code
    problems = audit_math.math_problems(dataset, options.split)[: len(rows)]

    def math(number: int) -> Audited:
        problem = problems[number - 1]
        name = row_id(problem.question)
        return audit_math.audit_problem(problem, rows[number - 1], number, name)

    return rows, [problem.question for problem in problems], math


def _row_kind(row: Row) -> str:
    return "math" if reader_of(row) is None else "code"


def _question(row: Row) -> str:
    value: Prompt | Any = look_up(row, [*_WORDS, *PROMPTS])
    return value if isinstance(value, str) else json.dumps(value, default=str)


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
    found: Sequence[Audited], texts: Sequence[str], dataset: str, options: AuditOptions
) -> None:
    for twin in twins(texts):
        kind = "duplicate" if twin.likeness == 1.0 else "near duplicate"
        found[twin.later].add(kind, f"row {found[twin.earlier].row} ({twin.likeness:.0%} alike)")
    if options.test is None:
        return
    others = [_question(row) for row in load_rows(options.test)]
    for twin in twins(texts, others):
        kind = "in the test set" if twin.likeness == 1.0 else "near one in the test set"
        found[twin.later].add(kind, f"row {twin.earlier + 1} of {options.test}")


def drop_lines(found: Sequence[Audited]) -> Iterator[str]:
    """Yield the lines of the file that the setting ``drop=`` takes."""
    seen: Counter[str] = Counter()
    for one in found:
        if one.drop:
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
        advice = "Drop them with drop=FILE" if drop else "Look at them"
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
