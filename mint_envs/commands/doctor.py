"""``mint-envs doctor``."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from ..sandbox.doctor import examine


@click.command("doctor")
def command() -> None:
    """Say which sandbox this machine has, and prove it by running a handful of attacks.

    Ends with 1 if no sandbox works or an attack gets through.

    \b
    Example:
      mint-envs doctor
    """
    console = Console(highlight=False)
    signs = {True: "[green]ok  [/]", False: "[red]no  [/]", None: "    "}
    findings = []
    for finding in examine():
        findings.append(finding)
        console.print(f"{signs[finding.ok]} {finding.name}: ", end="")
        console.print(finding.text, markup=False)
    tiers = [finding for finding in findings if finding.name.startswith("tier ")]
    broken = [finding for finding in findings if ": " in finding.name and finding.ok is False]
    if not any(finding.ok for finding in tiers):
        console.print("\nNo sandbox works here: mint/Code-v0 will say SandboxUnavailable.")
    elif broken:
        console.print(f"\n{len(broken)} attacks got through: do not run generated code here.")
    else:
        best = next(finding for finding in tiers if finding.ok)
        console.print(f"\nThe default sandbox here is {best.name!r}; every attack was held off.")
        return
    sys.exit(1)
