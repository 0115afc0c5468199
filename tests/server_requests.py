"""Requests as a stranger sends them, for the tests of the server."""

from __future__ import annotations

import httpx

TOKEN = "a-token-of-enough-letters"
KEY = "a-session-key-of-enough-letters"


def raw(url: str, path: str, content: str | bytes, **headers: str) -> httpx.Response:
    headers = {"content-type": "application/json", **headers}
    return httpx.post(url + path, content=content, headers=headers, timeout=60)
