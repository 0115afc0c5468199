"""Settings given on the command line as NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import SettingError


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Return the settings in ``NAME=VALUE`` pairs; a value is JSON if it can be read so, else text.

    Raises:
        SettingError: a pair has no ``=``.
    """
    found = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise SettingError(f"--set {pair!r} must look like NAME=VALUE, e.g. --set digits=3")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return text
