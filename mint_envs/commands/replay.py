"""``mint-envs replay``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .. import __version__
from ..errors import DatasetError
from ..records.replay import (
    DIFFERS,
    LOST,
    SAME,
    UNMEASURED,
    UNMEASURED_NOW,
    Lines,
    RowVerdict,
    origin_of_run,
    replay,
)
from .options import settings_option

_SHOWN = 20


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--env", help="id of the rows that do not name their environment")
@settings_option
@click.option(
    "--all", "show_all", is_flag=True, help=f"show all that differ, not the first {_SHOWN}"
)
@click.option("--json", "as_json", is_flag=True, help="print one JSON object a row that differs")
def command(
    file: Path, env: str | None, settings: dict[str, Any], show_all: bool, as_json: bool
) -> None:
    """Compute every reward of a run again, and say which differ.

    FILE is the rollouts.jsonl (or .jsonl.gz) of a run, its folder, or what RecordJSONL wrote.
    Rows say what their environments are, and a module named in them is imported: replay the files
    of people you trust. Rows that were not measured are counted apart. Exits with 1 if a reward
    differs, an episode cannot be rebuilt, or no reward could be compared.

    \b
    Examples:
      mint-envs replay runs/mint-Math-v0-20260101-120000
      mint-envs replay old.jsonl --env mint/Math-v0 --set digits=1
    """
    lines = Lines(file)
    origin = origin_of_run(lines.path.parent)
    if env is not None or settings:
        origin |= {"env": env or origin.get("env"), "env_settings": settings}
    counts: Counter[str] = Counter()
    versions: set[str] = set()
    notes: set[str] = set()
    with _progress(lines.path) as on_bytes:
        for verdict in replay(lines.rows(on_bytes), origin):
            counts[verdict.status] += 1
            versions.add(str(verdict.row.get("version", __version__)))
            if verdict.status not in (DIFFERS, LOST):
                continue
            if as_json:
                click.echo(_verdict_json(verdict))
            elif show_all or (counts[DIFFERS] <= _SHOWN and verdict.note not in notes):
                _echo_text(_verdict_line(verdict))
            notes |= {verdict.note} - {""}
    if not counts:
        raise DatasetError(f"{lines.path} holds no whole row: there is nothing to compute again")
    if not as_json:
        _echo_text(_summary(counts, versions, lines.torn))
    sys.exit(_exit_status(counts))


def _exit_status(counts: Counter[str]) -> int:
    if not counts[SAME] + counts[DIFFERS]:
        click.echo("mint-envs: no reward of them could be compared", err=True)
        return 1
    return 1 if counts[DIFFERS] + counts[LOST] else 0


def _echo_text(text: str) -> None:
    click.echo(text.encode("utf-8", "backslashreplace").decode())  # a row may hold half a character


def _verdict_line(verdict: RowVerdict) -> str:
    row = verdict.row
    where = (
        f"line {verdict.line}: step {row['step']}, " if "step" in row else f"line {verdict.line}: "
    )
    where += f"{row.get('env', '')} seed {row.get('seed')}"
    if verdict.status == LOST:
        return f"{where} cannot be rebuilt: {verdict.note}"
    return f"{where} earned {row.get('reward')}, and now {verdict.now}: {_short_response(row)}"


def _short_response(row: Any) -> str:
    text = repr((row.get("turns") or [row.get("response")])[-1])
    return text if len(text) <= 60 else text[:57] + "..."


def _verdict_json(verdict: RowVerdict) -> str:
    row = verdict.row
    names = ("env", "step", "seed", "problem_id", "reward")
    kept = {name: row[name] for name in names if name in row}
    return json.dumps(
        {"line": verdict.line, "status": verdict.status, **kept, "now": verdict.now,
         "note": verdict.note}
    )  # fmt: skip


def _summary(counts: Counter[str], versions: set[str], torn: bool) -> str:
    total = sum(counts.values())
    text = f"{total:,} episodes: {counts[SAME]:,} rewards the same, {counts[DIFFERS]:,} differ"
    extra = {
        LOST: "cannot be rebuilt",
        UNMEASURED: "were not measured then",
        UNMEASURED_NOW: "cannot be measured now",
    }
    text += "".join(f", {counts[kind]:,} {words}" for kind, words in extra.items() if counts[kind])
    if torn:
        text += "; the last line was cut off and is left out"
    if versions - {__version__}:
        text += f"\nRecorded by version {', '.join(sorted(versions))}; this is {__version__}."
    return text


@contextmanager
def _progress(path: Path) -> Iterator[Any]:
    """Show how much of the file is done, on a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("replaying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=path.stat().st_size)
        yield lambda done: bar.update(task, completed=done)
