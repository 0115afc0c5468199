"""``mint-envs bench --judge``: a judge measured, not a reward."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ..atomic import write_whole
from ..bench.judging import JudgedPair, judge_pairs, judging_section, read_pairs
from ..chat.judge.pairs import known_pairs
from ..chat.judge.settings import CHOICES, KEY_ENV, JudgeSettings
from ..errors import require
from ..loading import imported
from ..reports.report import Report, Tell
from .options import FILE


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What ``--judge`` and its like say.

    Args:
        judge: an address, or ``module:object`` of a judge.
        pairs: pairs of each kind that are made.
        pairs_file: pairs of others; none are made then.
        record: where each pair is written with its verdicts.
    """

    judge: str
    judge_model: str | None
    rubric: str | None
    judge_cache: str | None
    pairs: int
    pairs_file: str | None
    record: str | None

    def settings(self) -> JudgeSettings:
        live = self.judge.startswith(("http://", "https://"))
        judge: Any = self.judge if live else imported(self.judge)
        return JudgeSettings(judge, self.judge_model, self.rubric, "pairwise", CHOICES,
                             self.judge_cache, KEY_ENV, 8, 5, 60.0, None)  # fmt: skip


def judge_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--judge`` and its like, which the command gets as one ``judging``: None without it."""

    @wraps(command)
    def with_judge(judge: str | None, **rest: Any) -> Any:
        given = {field.name: rest.pop(field.name) for field in fields(JudgeOptions)[1:]}
        return command(judging=None if judge is None else JudgeOptions(judge, **given), **rest)

    options = (
        click.option("--judge", metavar="URL", help="Measure this judge, and no TARGET: an "
                     "address, or module:object."),
        click.option("--judge-model", metavar="NAME", help="Name of the model there."),
        click.option("--rubric", metavar="TEXT", help="What the judge judges by."),
        click.option("--judge-cache", metavar="DIR", help="Where its verdicts are kept."),
        click.option("--pairs", default=20, show_default=True, help="Pairs of each kind to make."),
        click.option("--judge-pairs", "pairs_file", type=FILE,
                     help="Pairs to judge instead: prompt, better, worse; LLMBar's; JudgeBench's."),
        click.option("--record", type=FILE, help="Write each pair and its verdicts as JSONL."),
    )  # fmt: skip
    for option in reversed(options):
        with_judge = option(with_judge)
    return with_judge


def judge_report(options: JudgeOptions, command: str, tell: Tell) -> Report:
    """Return the report on a judge, and write the record if there is to be one."""
    require(options.pairs >= 1, f"--pairs={options.pairs} must be 1 or more")
    settings = options.settings()
    pairs = (
        read_pairs(Path(options.pairs_file)) if options.pairs_file else known_pairs(options.pairs)
    )
    panel = settings.panel()
    judged = list(judge_pairs(panel, pairs, tell))
    if options.record:
        write_whole(Path(options.record), _lines(judged))
    subject = options.judge_model or panel.judge.name
    return Report(f"judge {subject}", command, {"pairs": len(pairs)}, [judging_section(judged)])


def _lines(judged: list[JudgedPair]) -> str:
    return "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in judged)
