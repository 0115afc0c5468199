"""``mint-envs audit``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..audit.audit import AuditOptions, audit, clean_lines, drop_lines, report_of
from ..audit.audit_code import CodeSettings
from ..audit.kinds import SETTINGS
from ..errors import require
from ..records.files import check_folders, write_result
from ..reports.pages import report_page
from ..reports.terminal import print_report, progress_bar
from .options import FILE, report_options, settings_option


def _count_option(name: str, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(name, default=60, type=click.IntRange(min=0), show_default=True, help=help)


@click.command("audit")
@click.argument("dataset")
@click.option("--split", help="Of the data set: train, test or all.")
@click.option("--test", help="A test set that must not share problems with DATASET.")
@click.option(
    "--kind",
    default="auto",
    type=click.Choice(["auto", *SETTINGS]),
    show_default=True,
    help="What the rows are; auto: as the first of them looks.",
)
@settings_option
@click.option(
    "-o", "--out", type=FILE, help="Append the result of each problem; makes it resumable."
)
@click.option("--drop", type=FILE, help="Write the problems to drop, for the setting drop=.")
@click.option(
    "--write-clean", "clean", type=FILE, help="Write the rows that need not go, as JSONL."
)
@report_options
@_count_option("--mutants", "Wrong programs for each problem.")
@_count_option("--inputs", "Inputs that tell programs apart.")
@click.option(
    "--killed",
    default=0.9,
    type=click.FloatRange(0, 1),
    show_default=True,
    help="Share of wrong programs that the tests must catch, or they are weak.",
)
@click.option("--max-tests", default=10, show_default=True, help="Tests of a problem that are run.")
@click.option("--timeout", default=5.0, show_default=True, help="CPU seconds of one run.")
@click.option(
    "--limit", default=0, type=click.IntRange(min=0), help="Audit this many problems only."
)
@click.option("--max-drop-rate", type=float, metavar="X",
              help="Exit with 1 if more than this share is to be dropped.")  # fmt: skip
def command(
    dataset: str, split: str | None, test: str | None, kind: str, out: str | None,
    settings: dict[str, Any], drop: str | None, clean: str | None,
    json_file: str | None, html_file: str | None, mutants: int, inputs: int,
    killed: float, max_tests: int, timeout: float, limit: int, max_drop_rate: float | None,
) -> None:  # fmt: skip
    """Audit the problems of a data set: are they fit to be trained on?

    Code: the reference must pass its tests, always and in time; programs with one change that
    behave differently must fail them; the examples of the prompt must be right. Math: the grader
    must read the answer and accept it, and it must fit the question and the worked solution. Tool
    use: the requested calls must earn 1. Chat: the instructions must be known. All: no broken rows,
    and no problem that occurs twice, or in the test set.

    \b
    Examples:
      mint-envs audit problems.jsonl --drop drop.jsonl
      mint-envs audit rows.csv --set answer_field=solution --write-clean clean.jsonl
      mint-envs audit train.jsonl --test test.jsonl -o audit.jsonl --html audit.html
      mint-grpo mint/Code-v0 --dataset problems.jsonl --drop drop.jsonl
    """
    require(
        re.search(r"\w/[\w.]+-v\d+$", dataset) is None,
        f"{dataset} is the id of an environment: name a data set, e.g. a file of its rows",
    )
    check_folders(out, drop, clean, json_file, html_file)
    code = CodeSettings(mutants, inputs, killed, max_tests, timeout)
    options = AuditOptions(split, test, kind, out, limit, code, settings=settings)
    with progress_bar(Console(stderr=True)) as tell:
        found = audit(dataset, options, tell)
    report = report_of(dataset, found, " ".join(["mint-envs", *sys.argv[1:]]))
    print_report(report, Console(highlight=False))
    if drop:
        write_result(Path(drop), "".join(drop_lines(found)))
    if clean:
        write_result(Path(clean), "".join(clean_lines(dataset, found, options)))
    if json_file:
        problems = [one.to_json() for one in found if one.findings]
        text = json.dumps(report.to_json() | {"problems": problems}, indent=1, default=str)
        write_result(Path(json_file), text + "\n")
    if html_file:
        write_result(Path(html_file), report_page(report))
    rate = report.numbers["drop_rate"] or 0.0
    if max_drop_rate is not None and rate > max_drop_rate:
        click.echo(
            f"mint-envs: floor missed: --max-drop-rate {max_drop_rate:g}: {rate:.3f}", err=True
        )
        sys.exit(1)
