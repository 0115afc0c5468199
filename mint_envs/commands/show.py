"""``mint-envs show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from ..errors import DatasetError
from ..records.files import write_result
from ..reports.plain import comparison, headline, render
from ..reports.side_by_side import by_problem as grouped
from ..reports.surveys import Survey, gather, survey
from ..reports.transcripts import (
    Rollouts,
    Transcript,
    TranscriptFilter,
    load_rollouts,
    parse_span,
)

_MOST_ON_A_PAGE = 2000


@click.command("show")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--step", "steps", metavar="N[:N]", help="only these steps")
@click.option("--reward", "rewards", metavar="X[:X]", help="only these rewards")
@click.option("--unmeasured", is_flag=True, help="only episodes without a verdict")
@click.option("--search", default="", metavar="TEXT", help="only episodes with this text")
@click.option("--by-problem", is_flag=True, help="by problem, those of the lowest rewards first")
@click.option("--html", type=click.Path(path_type=Path), help="write one page, to be read anywhere")
@click.option("--plain", is_flag=True, help="print, without the browser (as into a pipe)")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"most episodes printed (20) or on the page ({_MOST_ON_A_PAGE}), evenly spread",
)
def command(
    sources: tuple[Path, ...],
    steps: str | None,
    rewards: str | None,
    unmeasured: bool,
    search: str,
    by_problem: bool,
    html: Path | None,
    plain: bool,
    limit: int | None,
) -> None:
    """Look at the transcripts of a run, or of a file of rollouts; or at two side by side.

    SOURCES are the folder of a run of mint-grpo, or a file of rows with prompt, response and reward
    (.jsonl, .jsonl.gz, .json, .parquet). In a terminal it opens a browser; "/" searches, r and s
    choose rewards and steps, q ends. Of two it prints what differs: settings, rewards by step,
    where they part, and the problems whose rewards are furthest apart (--limit of them).

    \b
    Examples:
      mint-envs show runs/mint-Math-v0-20260101-120000
      mint-envs show runs/... --step 30:40 --reward 0
      mint-envs show rollouts.jsonl --unmeasured --plain
      mint-envs show runs/... --by-problem --plain
      mint-envs show runs/... --html run.html
      mint-envs show runs/first runs/second
    """
    wanted = TranscriptFilter(
        None if steps is None else parse_span(steps, "--step"),
        None if rewards is None else parse_span(rewards, "--reward"),
        unmeasured,
        search,
    )
    if len(sources) > 1:
        _print_both(sources, wanted, limit or 5, html is not None or by_problem)
        return
    rollouts = load_rollouts(sources[0])
    counted = _some_found(sources[0], rollouts, wanted)
    to_browse = html is None and not plain and sys.stdout.isatty()
    most = limit or counted.most(20 if html is None and not to_browse else _MOST_ON_A_PAGE)
    shown = (
        grouped(rollouts, wanted, most) if by_problem else gather(rollouts, wanted, counted, most)
    )
    if html is not None:
        from ..reports.pages import transcripts_page

        write_result(html, transcripts_page(counted, shown))
        click.echo(f"Wrote {html}: {len(shown):,} of {counted.found:,} episodes")
    elif not to_browse:
        _print_transcripts(shown, counted.found)
    elif by_problem:
        _browse(Rollouts(rollouts.name, tuple(shown)), wanted, counted, shown)
    else:
        _browse(rollouts, wanted, counted, shown)


def _some_found(source: Path, rollouts: Rollouts, wanted: TranscriptFilter) -> Survey:
    """Count the episodes.

    Raises:
        DatasetError: the filter takes none.
    """
    counted = survey(rollouts, wanted)
    if not counted.found:
        raise DatasetError(
            f"'{source}' has {counted.total:,} episodes, and none is like that: leave "
            "out --step, --reward, --unmeasured or --search"
        )
    return counted


def _print_both(sources: tuple[Path, ...], wanted: TranscriptFilter, most: int, more: bool) -> None:
    """Print two runs side by side."""
    if len(sources) > 2 or more:
        raise DatasetError("two runs are set side by side: no third, no --html, no --by-problem")
    one, other = map(load_rollouts, sources)
    for source, rollouts in zip(sources, (one, other), strict=True):
        _some_found(source, rollouts, wanted)
    console = Console(highlight=False, soft_wrap=True)
    for part in comparison(sources, (one, other), wanted, most):
        console.print(part)


def _print_transcripts(shown: list[Transcript], found: int) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for one in shown:
        console.rule(Text(headline(one)), align="left")
        console.print(render(one))
    if len(shown) < found:
        console.print(f"\n{len(shown)} of {found:,} episodes, evenly spread: --limit shows more")


def _browse(
    rollouts: Rollouts, wanted: TranscriptFilter, counted: Survey, shown: list[Transcript]
) -> None:
    """Browse all episodes, with the filter; or those that are found, of so many as are there."""
    try:
        from ..reports.browser import Browser
    except ImportError:
        raise DatasetError(
            "the browser needs: pip install 'mint-envs[show]'. Without it: --plain, or --html FILE"
        ) from None
    everything = TranscriptFilter()
    most = counted.most(_MOST_ON_A_PAGE)
    if counted.total <= most:
        shown = gather(rollouts, everything, survey(rollouts, everything), counted.total)
        Browser(Rollouts(rollouts.name, tuple(shown)), wanted).run()
        return
    name = f"{rollouts.name}: {len(shown):,} of {counted.found:,} episodes, evenly spread"
    Browser(Rollouts(name, tuple(shown)), everything).run()
