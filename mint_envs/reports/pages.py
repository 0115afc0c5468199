"""Pages that need no network: of a report, of transcripts, of the server's API.

Whatever text stands in them was written by a model or by a user: it is escaped, and stays text.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..jsonl import line_of
from .drawing import NEEDED, can_draw
from .plots import svg
from .report import SEVERITIES, Case, Finding, Plot, Report, one_direction
from .surveys import Survey
from .transcripts import Transcript
from .transcripts_plots import draw_curve, draw_rewards

_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=lambda value: value if isinstance(value, Markup) else one_direction(value),
    trim_blocks=True,
    lstrip_blocks=True,
)
# NaN is null, and what JSON does not know is text.
_PAGES.policies["json.dumps_function"] = lambda value, **_: line_of(value).rstrip()
_PAGES.policies["json.dumps_kwargs"] = {}
_PAGES.filters["pretty"] = lambda value: json.dumps(value, indent=1)

#: Numbers that the tiles at the top show: (name, words, how it is written).
_TILES = (
    ("accuracy", "accuracy by the labels", "{:.1%}"),
    ("false_rewards", "false rewards", "{:.1%}"),
    ("missed_rewards", "missed rewards", "{:.1%}"),
    ("oracle", "solved from the prompt, paid", "{:.0%}"),
    ("agreement", "agreement", "{:.1%}"),
    ("signal", "prompts with signal", "{:.0%}"),
    ("hacks", "kinds of hacks paid", "{:.0f}"),
    ("rewards_per_second", "rewards per second", "{:,.0f}"),
    ("p99_ms", "p99, milliseconds", "{:,.3g}"),
    ("problems", "problems", "{:,.0f}"),
    ("weak", "problems with weak tests", "{:,.0f}"),
    ("to_drop", "problems to drop", "{:,.0f}"),
)


def _render(template: str, **fields: Any) -> str:
    return _PAGES.get_template(template).render(fields)


# -- a report -------------------------------------------------------------------------------------


def report_page(report: Report) -> str:
    """Return a report as HTML."""
    tiles = [
        (form.format(value), words)
        for name, words, form in _TILES
        if (value := report.numbers.get(name)) is not None
    ]
    made = [f"{name} {value}" for name, value in report.made.items() if value]
    return _render(
        "report.html", report=report, made=made, tiles=tiles, cases=_cases, plot=_plot,
        severities=SEVERITIES,
    )  # fmt: skip


def _plot(plot: Plot) -> Markup:
    return Markup(svg(plot) if can_draw() else NEEDED)


def _cases(finding: Finding) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the cases, without columns that are empty in all of them."""
    rows = [_case_cells(case) for case in finding.cases]
    heads = [*finding.heads, "earns", "must earn", ""]
    kept = [i for i in range(len(heads)) if i < 2 or any(row[i] for row in rows)]
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _case_cells(case: Case) -> list[str]:
    marks = ["" if value is None else f"{value:g}" for value in (case.score, case.wanted)]
    return [case.prompt, case.response, *marks, case.note]


# -- transcripts ----------------------------------------------------------------------------------


def transcripts_page(survey: Survey, shown: Sequence[Transcript]) -> str:
    """Return a page with the curve, the rewards by step and transcripts.

    Args:
        survey: gives the name, the numbers and the pictures, which are of all episodes.
        shown: the transcripts on the page.
    """
    return _render(
        "transcripts.html",
        title=survey.name,
        counts=_counts(survey, len(shown)),
        plots=_pictures(survey),
        rows=[_row(one) for one in shown],
    )


def _pictures(survey: Survey) -> list[Markup]:
    if not can_draw():
        return [Markup(NEEDED)]
    return [Markup(draw_curve(survey)), Markup(draw_rewards(survey))]


def _counts(survey: Survey, shown: int) -> str:
    measured, total = survey.measured, survey.total
    mean = f", mean reward {survey.reward_sum / measured:.3f}" if measured else ""
    odd = f", {total - measured:,} not measured" if measured < total else ""
    here = "all here" if shown == total else f"{shown:,} of {survey.found:,} here, evenly spread"
    return f"{total:,} episodes{mean}{odd}; {here}"


def _row(one: Transcript) -> dict[str, Any]:
    row = dataclasses.asdict(dataclasses.replace(one, parts={}, metadata={}, pieces=()))
    pieces = [[(text, round(logprob, 4)) for text, logprob in turn] for turn in one.pieces]
    whole = {**row, "parts": one.parts or {}, "metadata": one.metadata or {}, "pieces": pieces}
    made: dict[str, Any] = one_direction(whole)
    return made


# -- the server -----------------------------------------------------------------------------------


def api_page(schema: Mapping[str, Any]) -> str:
    """Return the page of the API that an OpenAPI schema describes."""
    info = schema["info"]
    return _render(
        "api.html",
        title=f"{info['title']} {info['version']}",
        about=info.get("description", ""),
        routes=[
            _route(path, method, operation)
            for path, methods in schema["paths"].items()
            for method, operation in methods.items()
        ],
        forms=schema.get("components", {}).get("schemas", {}),
    )


def _route(path: str, method: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "path": path,
        "method": method.upper(),
        "text": operation.get("description") or operation.get("summary", ""),
        "takes": _form(operation.get("requestBody", {})),
        "answers": [
            (status, answer.get("description", ""), _form(answer))
            for status, answer in operation.get("responses", {}).items()
        ],
    }


def _form(body: Mapping[str, Any]) -> str:
    """Return the name of the form that a request or an answer has, or ""."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2]
