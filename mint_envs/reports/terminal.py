"""The report in a terminal, and the progress on the way to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

from .report import SEVERITIES, Finding, Report, Section, Table, Tell, short

_CASES = 2  # cases of a finding that are shown; the JSON and the page have more


@contextmanager
def progress_bar(console: Console) -> Iterator[Tell]:
    """Yield a function that shows how far the work is; the bar goes away at the end."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell


def print_report(report: Report, console: Console) -> None:
    """Print every section: its tables, what is wrong, and a word on what was not measured."""
    print_sections(report, console)
    console.print()
    _print_first(report, console)
    console.print(verdict(report.findings, report.untried))


def print_sections(report: Report, console: Console) -> None:
    """Print every section, of a report that is no verdict."""
    console.print(Text(f"\n{report.subject}", style="bold"))
    if report.lead:
        console.print(Text(report.lead))
    for section in report.sections:
        _section(section, console)
    if report.policies:
        _policies(report, console)


def _policies(report: Report, console: Console) -> None:
    """Print the rules that authors choose, apart from what is wrong."""
    console.print(Text("\nRules it has, which are no faults", style="bold cyan"))
    for policy in report.policies:
        console.print(Text(f"  · {policy.fault}: ").append(policy.advice, "dim"))


def _print_first(report: Report, console: Console) -> None:
    """Print what to do first: the worst finding, how to mend it and how to see it again."""
    ranked = [one for one in report.worst_first if one.severity]
    if not ranked:
        return
    counts = Counter(one.severity for one in ranked)
    told = ", ".join(f"{counts[s]} {what}" for s, what in SEVERITIES.items() if counts[s])
    first = ranked[0]
    console.print(Text(f"By severity: {told}."))
    console.print(Text("First: ", style="bold").append(f"{first.fault}. {first.advice}."))
    if first.repeat:
        console.print(Text(f"  {first.repeat}", style="dim"), soft_wrap=True)


def verdict(found: list[Finding], untried: str) -> Text:
    """Return the last line: what was found, or that little could be tried."""
    if not found and untried:
        return Text(f"No fault was found, but {untried}", style="yellow")
    if not found:
        return Text("No fault was found.", style="green")
    checks = ", ".join(dict.fromkeys(one.check for one in found))
    number = len(found)
    return Text(f"{number} fault{'s' * (number > 1)}: {checks}.", style="red")


def _section(section: Section, console: Console) -> None:
    console.print()
    console.print(
        Text(f"{section.name.capitalize()}  ", style="bold cyan").append(section.question, "dim")
    )
    for table in section.tables:
        console.print(_rich_table(table))
    for finding in section.findings:
        console.print(_finding(finding))
    for note in section.notes:
        console.print(Text(f"  {note}", style="dim"))


def _rich_table(table: Table) -> RichTable:
    made = RichTable(
        title=table.title, title_justify="left", title_style="", box=None, padding=(0, 2)
    )
    for number, head in enumerate(table.heads):
        made.add_column(head, overflow="fold", no_wrap=number == 0)
    for row in table.rows:
        made.add_row(*map(Text, row))
    return made


def _finding(finding: Finding) -> Group:
    kind = f"{finding.check} ({finding.severity})" if finding.severity else finding.check
    lines = [Text(f"  ✗ {kind}: ", style="red").append(finding.fault, "default")]
    for case in finding.cases[:_CASES]:
        earns = "" if case.score is None else f"  earns {case.score:g}"
        lines.append(Text(f"      {short(case.prompt, 70)} → {case.response}{earns}", "dim"))
    if finding.cost:
        lines.append(Text(f"    costs: {finding.cost}", style="dim"))
    lines.append(Text(f"    → {finding.advice}", style="yellow"))
    return Group(*lines)
