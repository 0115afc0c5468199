"""What several commands share: settings as ``--set NAME=VALUE``."""

from __future__ import annotations

import json
from typing import Any

import click

from ..errors import require


def _read(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return the settings; a value is JSON (or True, False) where it can be read so, else text."""
    settings: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", context, parameter)
        name = name.strip().replace("-", "_")
        require(name != "id", "id is no setting; it is what the command is given first")
        settings[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except (ValueError, RecursionError):
        return text


settings_option = click.option(
    "--set",
    "-s",
    "settings",
    multiple=True,
    callback=_read,
    metavar="NAME=VALUE",
    help="a setting of the environment, e.g. digits=1 or dataset=rows.jsonl; may be repeated",
)
