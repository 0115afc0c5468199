"""``mint-envs list``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import SettingError
from ..family import BUILT_IN, record_of
from ..loading import imported, locate
from ..registration import Setting, env_ids, settings_of, summary_of, type_name
from .options import complete_id


@click.command("list")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_id)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def command(ids: tuple[str, ...], as_json: bool) -> None:
    """List the environments; with an ID its settings: type, default and meaning.

    \b
    Examples:
      mint-envs list
      mint-envs list mint/Math-v0
      mint-envs list --json                    all of them, with their settings
      mint-envs list echo:my/Echo-v0           registered in echo.py, in this folder
    """
    found = {id: _settings_of_id(id) for id in (ids or env_ids())}
    if as_json:
        rows = {
            id: [_setting_row(*item, _forms(id)) for item in settings.items()]
            for id, settings in found.items()
        }
        click.echo(json.dumps(rows, indent=2, default=repr))
        return
    console = Console()
    if not ids:
        console.print(_overview(list(found)))
        console.print("\nmint-envs list ID shows the settings of one.", markup=False)
        return
    for id, settings in found.items():
        console.print(_settings_table(id, settings))
        if forms := _forms(id):
            console.print(f"data sets whose rows are read: {'; '.join(forms)}\n", markup=False)


def _settings_of_id(id: str) -> dict[str, Setting]:
    try:
        return settings_of(locate(id))
    except SettingError as error:
        raise SettingError(f"{error} (mint-envs list shows those that are registered)") from error


def _forms(id: str) -> tuple[str, ...]:
    """Return the names of the published data sets whose rows an environment reads, if it says."""
    place = record_of(id).forms if id in BUILT_IN else ""
    names: tuple[str, ...] = imported(place) if place else ()
    return names


def _setting_row(name: str, setting: Setting, forms: Sequence[str] = ()) -> dict[str, Any]:
    required = setting.default is inspect.Parameter.empty
    return {
        "name": name,
        "type": type_name(setting.type),
        "required": required,
        "default": None if required else setting.default,
        "help": setting.help,
        **({"forms": list(forms)} if forms and name == "dataset" else {}),
    }


def _overview(ids: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for id in ids:
        table.add_row(*map(escape, (id, summary_of(id))))
    return table


def _settings_table(id: str, settings: dict[str, Setting]) -> Table:
    table = Table(title=id, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("setting", "type", "default", "meaning"):
        table.add_column(heading, overflow="fold")
    for name, setting in settings.items():
        row = _setting_row(name, setting)
        default = "(needed)" if row["required"] else repr(row["default"])
        table.add_row(*map(escape, (name, row["type"], default, row["help"])))
    return table
