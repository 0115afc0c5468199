"""Pictures as SVG text that stands in a page: no file, no network, text as text."""

from __future__ import annotations

import io
import re
from typing import Any

from .report import Plot

_COLOUR = "#3b6ea5"


def canvas(title: str = "", size: tuple[float, float] = (6.0, 3.2)) -> tuple[Any, Any]:
    """Return a figure and its axes."""
    from matplotlib.figure import Figure  # slow to import; no pyplot, which keeps global state

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def svg_file(figure: Any, **options: Any) -> str:
    """Return a figure as the text of a file: the same for the same picture."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, **options)
    return text.getvalue()


def svg_element(figure: Any, name: str) -> str:
    """Return a figure as an ``<svg>`` element, with ids that begin with ``name``."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        text = svg_file(figure, transparent=True)
    element = text[text.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    # Two pictures in one page may not share ids.
    own = re.sub(r"\W+", "-", name.lower())
    element = re.sub(r'id="', f'id="{own}-', element)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", element)


def svg(plot: Plot) -> str:
    """Return a plot as an ``<svg>`` element."""
    figure, axes = canvas(size=(5.6, 2.9))
    _DRAW[plot.kind](axes, plot)
    axes.tick_params(labelsize=9)
    axes.set_xlabel(plot.x_title, fontsize=9)
    axes.set_ylabel(plot.y_title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return svg_element(figure, plot.title)


def _bars(axes: Any, plot: Plot) -> None:
    axes.bar(range(len(plot.x)), plot.y, color=_COLOUR, width=0.85)
    axes.set_xticks(range(len(plot.x)), list(map(str, plot.x)), rotation=35, ha="right")
    axes.grid(visible=False, axis="x")


def _curve(axes: Any, plot: Plot) -> None:
    axes.plot(plot.x, plot.y, "o-", color=_COLOUR)


def _loglog(axes: Any, plot: Plot) -> None:
    _curve(axes, plot)
    axes.set_xscale("log")
    axes.set_yscale("log")


_DRAW = {"bars": _bars, "line": _curve, "loglog": _loglog}
