"""Checks that need an environment of their own. ``nox -s skyrl`` takes about six minutes."""

from __future__ import annotations

import nox

nox.options.sessions = []


@nox.session
def skyrl(session: nox.Session) -> None:
    """Train through the real SDK on a real peer: SkyRL 0.3.0 on this machine's CPU.

    It brings torch: where the default index has only CUDA builds, point PIP_EXTRA_INDEX_URL at
    one with CPU builds, or allow for 6.7 GB instead of 2.2 GB.
    """
    session.install("-r", "tests/skyrl/requirements.txt", ".[mint,test]")
    session.run("pytest", "tests/skyrl/peer.py", "-p", "no:cacheprovider", *session.posargs)
