"""The report as one page that needs no network: styles and plots are inside it."""

from __future__ import annotations

from html import escape

from .plots import svg
from .report import Case, Fault, Report, Section, Table

_STYLE = """
:root { --ink: #1c2430; --dim: #5d6b7e; --line: #e3e8ef; --card: #fff; --back: #f6f8fa;
  --bad: #b42318; --bad-back: #fef3f2; --good: #157347; --good-back: #ecfdf3; --blue: #3b6ea5; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 0; } h3 { font-size: 14px; margin: 22px 0 6px; color: var(--dim); }
.dim { color: var(--dim); } code { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin: 24px 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 14px; } .tile b { display: block; font-size: 21px; }
.tile span { color: var(--dim); font-size: 13px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 22px; margin: 16px 0; }
section > header { display: flex; gap: 12px; align-items: baseline; flex-wrap: wrap; }
.chip { border-radius: 99px; padding: 2px 10px; font-size: 13px; font-weight: 600; }
.chip.bad { color: var(--bad); background: var(--bad-back); }
.chip.good { color: var(--good); background: var(--good-back); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--dim); font-weight: 600; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.fault { border-left: 4px solid var(--bad); background: var(--bad-back); border-radius: 6px;
  padding: 10px 14px; margin: 14px 0; } .fault p { margin: 4px 0; }
.fault table { margin-top: 8px; } .fault td code { overflow-wrap: anywhere; }
.advice { color: var(--ink); } .advice::before { content: "→ "; color: var(--bad); }
svg { max-width: 100%; height: auto; } .note { color: var(--dim); margin: 10px 0 0; }
summary { cursor: pointer; color: var(--dim); font-size: 13px; }
nav a { color: var(--blue); margin-right: 16px; text-decoration: none; }
"""

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


def page(report: Report) -> str:
    """Return the report as HTML; every text of a response is escaped."""
    title = escape(report.subject)
    made = " · ".join(f"{escape(k)} {escape(str(v))}" for k, v in report.made.items() if v)
    links = "".join(f'<a href="#{s.name}">{s.name.capitalize()}</a>' for s in report.sections)
    body = "".join(map(_section, report.sections))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}: benchmark</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{title}</h1><p class='dim'>{made}</p><p>{_chip(report.faults)}</p>"
        f"<nav>{links}</nav>{_tiles(report)}{body}"
        f"<p class='dim'><code>{escape(report.command)}</code></p></main></body></html>\n"
    )


def _chip(faults: list[Fault]) -> str:
    if not faults:
        return '<span class="chip good">no fault found</span>'
    number = len(faults)
    return f'<span class="chip bad">{number} fault{"s" * (number > 1)}</span>'


def _tiles(report: Report) -> str:
    numbers = report.numbers
    tiles = [
        f'<div class="tile"><b>{form.format(value)}</b><span>{words}</span></div>'
        for name, words, form in _TILES
        if (value := numbers.get(name)) is not None
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>' if tiles else ""


def _section(section: Section) -> str:
    head = (
        f'<header><h2>{section.name.capitalize()}</h2><span class="dim">{escape(section.question)}'
        f"</span>{_chip(section.faults)}</header>"
    )
    parts = [*map(_fault, section.faults)]
    parts += [f"<h3>{escape(plot.title)}</h3>{svg(plot)}" for plot in section.plots]
    parts += map(_table, section.tables)
    parts += [f'<p class="note">{escape(note)}</p>' for note in section.notes]
    return f'<section id="{section.name}">{head}{"".join(parts)}</section>'


def _table(table: Table) -> str:
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    head = f"<thead><tr>{heads}</tr></thead>" if any(table.heads) else ""
    return f'<h3>{escape(table.title)}</h3><div class="wide"><table>{head}{rows}</table></div>'


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _fault(fault: Fault) -> str:
    return (
        f'<div class="fault"><p><b>{escape(fault.check)}</b>: {escape(fault.text)}</p>'
        f'<p class="advice">{escape(fault.advice)}.</p>{_cases(fault)}</div>'
    )


def _cases(fault: Fault) -> str:
    """Return the cases as a table, without columns that are empty in all of them."""
    if not fault.cases:
        return ""
    rows = [_case(case) for case in fault.cases]
    heads = [*fault.heads, "earns", "must earn", ""]
    kept = [i for i in range(len(heads)) if i < 2 or any(row[i] for row in rows)]
    head = "".join(f"<th>{heads[i]}</th>" for i in kept)
    body = "".join("<tr>" + "".join(f"<td>{row[i]}</td>" for i in kept) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead>{body}</table>"
    return f'<details open><summary>cases</summary><div class="wide">{table}</div></details>'


def _case(case: Case) -> list[str]:
    texts = [f"<code>{escape(text)}</code>" for text in (case.prompt, case.response)]
    marks = ["" if value is None else f"{value:g}" for value in (case.score, case.wanted)]
    return [*texts, *marks, escape(case.note)]
