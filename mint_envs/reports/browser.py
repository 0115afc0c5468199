"""The terminal browser: a list of episodes beside the one that is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Header, Input, Static

from ..printable import readable
from .plain import headline, render
from .transcripts import Rollouts, Transcript, TranscriptFilter, chosen, parse_span

_COLUMNS = ("#", "step", "reward", "response")
_ASKS = {
    "search": "text to search for; nothing: all",
    "rewards": "reward, or a span such as 0.5:1; nothing: all",
    "steps": "step, or a span such as 10:20; nothing: all",
}


class Browser(App[None]):
    """Read the transcripts of a run, and narrow them by step, reward or text."""

    CSS = """
    DataTable { width: 45%; min-width: 40; }
    VerticalScroll { padding: 0 1; }
    #head { color: $accent; margin-bottom: 1; }
    Input { display: none; }
    Input.asking { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("slash", "ask('search')", "search"),
        Binding("r", "ask('rewards')", "reward"),
        Binding("s", "ask('steps')", "step"),
        Binding("u", "unmeasured", "unmeasured"),
        Binding("a", "all", "all"),
        Binding("escape", "leave", "back", show=False),
    ]

    def __init__(self, rollouts: Rollouts, wanted: TranscriptFilter) -> None:
        super().__init__()
        self.title = readable(rollouts.name)
        self._all, self._wanted = tuple(rollouts.transcripts), wanted
        self._asked = ""
        self.shown: Sequence[Transcript] = ()

    def compose(self) -> ComposeResult:
        yield Header()
        with Horizontal():
            yield DataTable(cursor_type="row")
            with VerticalScroll():
                yield Static(id="head", markup=False)
                yield Static(id="body", markup=False)
        yield Input()
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns(*_COLUMNS)
        self._narrow(self._wanted)
        self.query_one(DataTable).focus()

    def action_ask(self, field: str) -> None:
        """Open the line in which a filter is typed."""
        self._asked = field
        line = self.query_one(Input)
        line.placeholder, line.value = _ASKS[field], ""
        line.add_class("asking")
        line.focus()

    def action_leave(self) -> None:
        self.query_one(Input).remove_class("asking")
        self.query_one(DataTable).focus()

    def action_unmeasured(self) -> None:
        self._narrow(dataclasses.replace(self._wanted, unmeasured=not self._wanted.unmeasured))

    def action_all(self) -> None:
        self._narrow(TranscriptFilter())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        value: Any = event.value.strip()
        if self._asked != "search":
            try:
                value = parse_span(value, self._asked) if value else None
            except ValueError as error:
                self.notify(str(error), severity="error", markup=False)
                return
        self.action_leave()
        self._narrow(dataclasses.replace(self._wanted, **{self._asked: value}))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if 0 <= event.cursor_row < len(self.shown):
            self._read(self.shown[event.cursor_row])

    def _narrow(self, wanted: TranscriptFilter) -> None:
        self._wanted = wanted
        self.shown = chosen(self._all, wanted)
        self.sub_title = f"{len(self.shown):,} of {len(self._all):,} episodes"
        table = self.query_one(DataTable)
        table.clear()
        table.add_rows(map(_cells, self.shown))
        if self.shown:
            self._read(self.shown[0])
        else:
            self.query_one("#head", Static).update("No episode is like that: press a for all.")
            self.query_one("#body", Static).update("")

    def _read(self, one: Transcript) -> None:
        self.query_one("#head", Static).update(headline(one))
        self.query_one("#body", Static).update(render(one))
        self.query_one(VerticalScroll).scroll_home(animate=False)


def _cells(one: Transcript) -> tuple[str, str, str, Text]:
    reward = "?" if one.reward is None else f"{one.reward:.2f}"
    step = "" if one.step is None else str(one.step)
    response = " ".join(readable(one.turns[-1][:200]).split())[:60]
    return str(one.number), step, reward, Text(response)  # as text, not as markup
