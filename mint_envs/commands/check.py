"""``mint-envs check``."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..errors import ContractError, require
from ..loading import locate
from .options import complete_id, settings_option


@click.command("check")
@click.argument("id", shell_complete=complete_id)
@settings_option
@click.option("--problems", default=4, show_default=True, help="problems to try")
@click.option("--quick", is_flag=True, help="fewer texts, and no other process")
def command(id: str, settings: dict[str, Any], problems: int, quick: bool) -> None:
    """Run the conformance kit on an environment: everything that breaks the contract.

    Exits with 1 if anything does.

    \b
    Examples:
      mint-envs check mint/Math-v0 --set digits=1
      mint-envs check echo:my/Echo-v0          registered in echo.py, in this folder
    """
    from ..testing import check_env

    for name in ("id_or_env", *(check_env.__kwdefaults__ or {})):
        require(name not in settings, f"--set {name}=...: the kit has an argument of that name")
    examples = 20 if quick else 100
    try:
        report = check_env(
            locate(id),
            problems=problems,
            max_examples=examples,
            other_process=not quick,
            **settings,
        )
    except ContractError as error:
        click.echo(str(error))
        sys.exit(1)
    click.echo(str(report))
