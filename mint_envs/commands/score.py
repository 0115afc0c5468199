"""``mint-envs score``."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console

from ..bench.target.targets import Target, load
from ..records.scoring import score_file
from ..reports.terminal import progress_bar
from .options import FILE, complete_id, settings_option


@click.command("score")
@click.argument("env", shell_complete=complete_id)
@click.argument("source", metavar="IN", type=FILE)
@click.option("-o", "--out", required=True, type=FILE, help="JSONL to append to.")
@settings_option
@click.option(
    "--min-mean", type=float, metavar="X", help="Exit with 1 unless the mean reward is X."
)
def command(
    env: str, source: str, out: str, settings: dict[str, Any], min_mean: float | None
) -> None:
    """Score saved responses with an environment: one line of OUT for each of IN, in order.

    IN is JSONL (plain or .gz) or Parquet. A row names its problem by index, seed, problem_id or
    prompt, and has a response (a list of texts for several turns) or several responses. A reward
    that could not be measured is null, with "scored": false; if none could, this ends with 1. Run
    it again after a kill: it goes on where it was.

    \b
    Examples:
      mint-envs score mint/Math-v0 responses.jsonl -o rewards.jsonl
      mint-envs score mint/Code-v0 rows.parquet -o rewards.jsonl --set partial_credit=true
    """
    task = load(Target(env, settings))
    with progress_bar(Console(stderr=True)) as tell:
        tally = score_file(task, source, out, tell)
    words = [f"{tally.rows} rows scored"]
    words += [f"{tally.earlier} were there already"] if tally.earlier else []
    words += [f"{tally.unmeasured} responses not measured"] if tally.unmeasured else []
    words += [f"mean reward {tally.mean:.3f}"] if tally.mean is not None else []
    click.echo(", ".join(words))
    if tally.mean is None:
        click.echo("mint-envs: not one response could be measured", err=True)
        sys.exit(1)
    if min_mean is not None and tally.mean < min_mean:
        click.echo(f"mint-envs: floor missed: --min-mean {min_mean:g}", err=True)
        sys.exit(1)
