"""Whether pictures can be drawn here, and what to install if not: matplotlib is an extra."""

from __future__ import annotations

from importlib.util import find_spec

#: Half of what ``pip install mint-envs`` would put on the disk, for pictures alone.
NEEDED = "pictures need: pip install 'mint-envs[plot]'"


def can_draw() -> bool:
    """Return whether matplotlib is there. It is not imported, since that is slow."""
    return find_spec("matplotlib") is not None
