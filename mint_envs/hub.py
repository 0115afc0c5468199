"""The Hugging Face hub, when there is no network: say so in three seconds, not in a minute."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_PREFLIGHT_SECONDS = 3.0


@contextmanager
def offline_if_unreachable() -> Iterator[str]:
    """Make the hub's client use its cache alone while its host cannot be reached.

    By itself the client tries for up to a minute. Yields the name of the host, or ``""`` if it
    answers (or the client was offline already, or goes through a proxy).
    """
    from urllib.request import getproxies  # slow to import

    import huggingface_hub.constants as hub

    host = urlsplit(hub.ENDPOINT).hostname or ""
    if hub.HF_HUB_OFFLINE or "https" in getproxies() or _reachable(host):
        yield ""
        return
    # ``datasets`` has a copy of the flag.
    flags: list[Any] = [hub]
    if "datasets" in sys.modules:
        flags.append(sys.modules["datasets"].config)
    for module in flags:
        module.HF_HUB_OFFLINE = True
    try:
        yield host
    finally:
        for module in flags:
            module.HF_HUB_OFFLINE = False


def _reachable(host: str) -> bool:
    try:
        socket.create_connection((host, 443), timeout=_PREFLIGHT_SECONDS).close()
    except OSError:
        return False
    return True
