"""What several commands share: settings as ``--set NAME=VALUE``, and files of a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import require

FILE = click.Path(dir_okay=False)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json`` and ``--html``, which a command gets as ``json_file`` and ``html_file``."""
    html = click.option("--html", "html_file", type=FILE, help="Write the report as one page.")
    json_ = click.option("--json", "json_file", type=FILE, help="Write the report as JSON.")
    return json_(html(command))


def complete_id(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the ids that begin with ``incomplete``, and word to the shell that a file will do."""
    from .. import env_ids

    files = CompletionItem(incomplete, type="file")  # first: click's script for bash forgets on it
    return [files, *(CompletionItem(id) for id in env_ids() if id.startswith(incomplete))]


def read_settings(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> Any:
    """Return the settings; a value is JSON (or True, False) where it can be read so, else text."""
    settings: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise click.BadParameter(
                f"{text!r} is not NAME=VALUE, without spaces around =", context, parameter
            )
        name = name.strip().replace("-", "_")
        require(name != "id", "id is no setting; it is what the command is given first")
        settings[name] = _setting_value(value)
    return settings


def _setting_value(text: str) -> Any:
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except (ValueError, RecursionError):
        return text


settings_option = click.option(
    "--set",
    "-s",
    "settings",
    multiple=True,
    callback=read_settings,
    metavar="NAME=VALUE",
    help="a setting of the environment, e.g. digits=1 or dataset=rows.jsonl; may be repeated",
)
