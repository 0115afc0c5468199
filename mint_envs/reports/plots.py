"""Plots as SVG text that stands in a page: no file, no network, text as text."""

from __future__ import annotations

import io
import re

from .drawing import NEEDED, can_draw
from .report import Plot

_COLOUR = "#3b6ea5"


def svg(plot: Plot) -> str:
    """Return a plot as an ``<svg>`` element, or a note of what draws it."""
    if not can_draw():
        return f'<p class="note">{NEEDED}</p>'
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": plot.title, "font.size": 9}
    ):
        figure = Figure(figsize=(5.6, 2.9), layout="constrained")
        axes = figure.subplots()
        if plot.kind == "bars":
            axes.bar(range(len(plot.x)), plot.y, color=_COLOUR, width=0.85)
            axes.set_xticks(
                range(len(plot.x)), [str(label) for label in plot.x], rotation=35, ha="right"
            )
        else:
            axes.plot(plot.x, plot.y, "o-", color=_COLOUR)
        if plot.kind == "loglog":
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel(plot.x_title)
        axes.set_ylabel(plot.y_title)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e5e7eb")
        axes.set_axisbelow(True)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inline(text.getvalue(), plot.title)


def _inline(text: str, title: str) -> str:
    """Return the element alone, without the prologue and with ids of its own."""
    element = text[text.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    # Two plots in one page may not share ids.
    own = re.sub(r"\W+", "-", title.lower())
    element = re.sub(r'id="', f'id="{own}-', element)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", element)
