"""``mint-envs bench``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ..bench.batteries import BATTERIES
from ..bench.bench import PARTS, bench, try_one
from ..bench.floors import missed, with_floors
from ..bench.run import Options
from ..bench.target.client import TargetVerdict
from ..records.files import check_folders, write_result
from ..reports.pages import report_page
from ..reports.terminal import print_report, progress_bar
from .bench_judge import JudgeOptions, judge_options, judge_report
from .options import FILE, complete_id, report_options, settings_option


class SearchKind(click.ParamType[int | None]):
    """A number of responses, or "trained", which is None."""

    name = "N|trained"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int | None:
        if value is None or value == "trained":
            return None
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number of responses nor 'trained'", parameter)


@click.command("bench")
@click.argument("target", required=False, shell_complete=complete_id)
@click.option(
    "--cases", type=FILE, help="Labelled responses: prompt, response, label (and answer)."
)
@click.option(
    "--battery", type=click.Choice(list(BATTERIES)), help="Labelled cases that ship, by kind."
)
@click.option("--responses", type=FILE, help="Saved responses: several to each prompt.")
@click.option("--data", type=FILE, help="Problems for a function: rows with prompt and answer.")
@click.option("--against", metavar="TARGET", help="A stricter reference to compare with.")
@click.option("--solve", "solver", metavar="M:F", help="Function: prompt → the right response.")
@settings_option
@click.option(
    "--range",
    "bounds",
    type=(float, float),
    default=(None, None),
    help="Lowest and highest reward of a function; learned if not given.",
)
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Run this part only.")
@click.option("--problems", default=32, show_default=True, help="Problems to try.")
@click.option("--group", default=8, show_default=True, help="Responses to a prompt in training.")
@click.option(
    "--search",
    type=SearchKind(),
    default="300",
    show_default=True,
    help="Responses the search tries; or trained: a small policy is trained on the reward too.",
)
@click.option("--texts", default=100, show_default=True, help="Hostile texts to try.")
@click.option("--workers", default=2, show_default=True, help="Processes for the speed-up.")
@click.option("--seconds", default=2.0, show_default=True, help="Of each measurement of speed.")
@click.option("--timeout", default=5.0, show_default=True, help="CPU seconds for one reward.")
@click.option(
    "--within",
    default=45.0,
    show_default=True,
    help="Seconds after which no new responses are tried; the report says what it left out.",
)
@click.option("--try", "tried", metavar="TEXT", help="Only ask for the reward of one response.")
@click.option("--row", default=0, show_default=True, help="The problem of --try.")
@click.option(
    "--memory-mb", default=0, help="Address space of its process; 0: half of what is free."
)
@judge_options
@report_options
@with_floors
def command(
    target: str | None, settings: dict[str, Any], bounds: tuple[float, float], timeout: float,
    json_file: str | None, html_file: str | None, tried: str | None, row: int,
    judging: JudgeOptions | None, search: int | None, **rest: Any,
) -> None:  # fmt: skip
    """Benchmark a reward offline: is it right, sound, useful, fast, and hard to cheat?

    TARGET is an environment id, or module:function (or file.py:function): a plain function of
    response, prompt, answer or sample; one made for TRL, verl or OpenRLHF; a MinT RLAdapter; a
    Task. It runs in a process of its own, so one that hangs or exits is reported.

    \b
    Examples:
      mint-envs bench mint/Math-v0
      mint-envs bench rewards.py:exact --data problems.jsonl --html report.html
      mint-envs bench rewards.py:exact --data problems.jsonl --search trained
      mint-envs bench rewards.py:exact --cases labelled.jsonl --min-accuracy 0.99
      mint-envs bench mint_envs.math:grade --battery math
      mint-envs bench mint/Math-v0 --responses rollouts.jsonl --only learning
      mint-envs bench rewards.py:exact --data problems.jsonl --against mint_envs.math:grade
      mint-envs bench --judge http://localhost:8000/v1 --judge-model Qwen/Qwen3-8B
    """
    if (target is None) == (judging is None):
        raise click.UsageError("give a TARGET, or a judge with --judge, and not both")
    floors = {name: rest.pop(name) for name in list(rest) if name.startswith("floor_")}
    low, high = bounds
    check_folders(json_file, html_file)
    amount = {"trained": True} if search is None else {"search": search}
    options = Options(low=low, high=high, timeout_s=timeout, **amount, **rest)
    if tried is not None:
        if target is None:
            raise click.UsageError("--try asks a TARGET, and no judge")
        _say(try_one(target, options, settings, tried, row))
        return
    console = Console(stderr=True)
    words = " ".join(["mint-envs", *sys.argv[1:]])
    with progress_bar(console) as tell:
        if judging is not None:
            report = judge_report(judging, words, tell)
        else:
            report = bench(str(target), options, settings, tell, words)
    print_report(report, Console(highlight=False))
    if json_file:
        write_result(Path(json_file), json.dumps(report.to_json(), indent=1) + "\n")
    if html_file:
        write_result(Path(html_file), report_page(report))
    said = missed(report.numbers, floors)
    for line in said:
        click.echo(f"mint-envs: floor missed: {line}", err=True)
    sys.exit(1 if said else 0)


def _say(got: TargetVerdict) -> None:
    """Print what one response gets: its number, or what went wrong."""
    told = f"{got.raw!r}" if got.raw is not None else got.status
    click.echo(f"{told} {got.note}".rstrip())
