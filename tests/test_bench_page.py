"""The page of a benchmark, in a real browser: it is whole, and asks nothing of the network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from browser import browse, rendered

from mint_envs.reports.pages import api_page, report_page
from mint_envs.reports.report import Case, Plot, Report, Section, Table

HOSTILE = "</td><script>document.title='taken'</script><img src=x onerror=alert(1)>"


def a_report() -> Report:
    right = Section("right", "Does it pay what is right?", {"accuracy": 0.75})
    right.tables.append(Table("By the labels", ["", "rate"], [["accuracy", "75.0%"]]))
    cases = [Case("1 + 1?", HOSTILE, 1.0, 0.0, "line 3"), Case("2 + 2?", "é 你好 \x00", None)]
    right.find("false rewards", f"1 of 4 {HOSTILE}", "Pay right answers only", cases)
    fast = Section("fast", "How fast is it?", {"rewards_per_second": 12345.6})
    fast.plots += [
        Plot("Rewards", "bars", ["0", "1"], [3.0, 1.0], "reward", "responses"),
        Plot("Time", "loglog", [10, 100], [1e-5, 1e-4], "characters", "seconds"),
    ]
    fast.notes.append("a note & more")
    return Report("rewards:exact", "mint-envs bench", {"problems": 4}, [right, fast])


class _Outside(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            own = (value or "").startswith("#")
            if name in ("src", "srcset", "data", "action") or (name.endswith("href") and not own):
                self.found.append(f"{tag} {name}={value}")


def test_the_page_needs_no_network() -> None:
    text = report_page(a_report())
    outside = _Outside()
    outside.feed(text)
    assert outside.found == []
    assert not re.search(r"url\((?!#)|@import|<script", text)
    assert "12,346" in text


def test_two_plots_share_no_ids() -> None:
    ids = re.findall(r'\bid="([^"]+)"', report_page(a_report()))
    assert len(ids) == len(set(ids))


def test_a_browser_shows_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_page(a_report()), encoding="utf-8", errors="replace")
    seen = rendered(path)
    assert "<title>rewards:exact: benchmark</title>" in seen  # no script of a response ran
    assert seen.count("<svg") == 2
    assert seen.count("<section") == 2
    assert "75.0%" in seen
    assert "你好" in seen
    assert "<img" not in seen
    assert "<script" not in seen


def test_a_browser_paints_it(tmp_path: Path) -> None:
    path, shot = tmp_path / "report.html", tmp_path / "shot.png"
    path.write_text(report_page(a_report()), encoding="utf-8", errors="replace")
    browse(path, "--window-size=1100,1400", f"--screenshot={shot}")
    from matplotlib.image import imread

    picture = imread(shot)[:, :, :3].reshape(-1, 3)
    assert len(picture) == 1100 * 1400
    for colour in [(0x3B, 0x6E, 0xA5), (0xB4, 0x23, 0x18)]:  # bars of the plot; the fault's edge
        near = abs(picture * 255 - colour).max(axis=1) < 12
        assert near.sum() > 200, colour


def test_the_page_of_the_server_shows_what_a_schema_says_as_text() -> None:
    answers = {"200": {"description": HOSTILE}}
    operation = {"description": HOSTILE, "responses": answers}
    schema = {
        "info": {"title": HOSTILE, "version": "1"},
        "paths": {HOSTILE: {"get": operation}},
        "components": {"schemas": {HOSTILE: {"title": HOSTILE}}},
    }
    outside = _Outside()
    outside.feed(api_page(schema))
    assert outside.found == ["a href=openapi.json"]
    assert "<script" not in api_page(schema)
