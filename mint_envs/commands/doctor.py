"""``mint-envs doctor``."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from ..sandbox.doctor import Fact, examine

_SIGNS = {True: "[green]ok  [/]", False: "[red]no  [/]", None: "    "}


@click.command("doctor")
@click.option("--dataset", help="a data set of code: say which packages its programs lack")
@click.option("--python", help="folder of a virtual environment that programs shall have")
def command(dataset: str | None, python: str | None) -> None:
    """Say which sandbox this machine has, and prove it by running a handful of attacks.

    With --dataset, say instead which packages the data set's solutions and tests import, and which
    of them programs would not find. Exits with 1 if one is missing, no sandbox works, or an attack
    gets through.

    \b
    Examples:
      mint-envs doctor
      mint-envs doctor --dataset rows.jsonl --python .venv-programs
    """
    if dataset:
        _packages(dataset, python)
        return
    findings = []
    for finding in examine():
        findings.append(finding)
        _print(finding)
    tiers = [finding for finding in findings if finding.name.startswith("tier ")]
    broken = [finding for finding in findings if ": " in finding.name and finding.ok is False]
    if not any(finding.ok for finding in tiers):
        _say("\nNo sandbox works here: mint/Code-v0 will say SandboxUnavailable.")
    elif broken:
        _say(f"\n{len(broken)} attacks got through: do not run generated code here.")
    else:
        best = next(finding for finding in tiers if finding.ok)
        _say(f"\nThe default sandbox here is {best.name!r}; every attack was held off.")
        return
    sys.exit(1)


def _packages(dataset: str, python: str | None) -> None:
    from ..code.needed import packages_needed
    from ..code.packages import missing_packages
    from ..code.rows import problem_of_row
    from ..datasets import load_rows

    rows = enumerate(load_rows(dataset), 1)
    needed = packages_needed(problem_of_row(row, dataset, number) for number, row in rows)
    missing = missing_packages(needed, python)
    for name, count in needed.most_common():
        where = "missing" if name in missing else "found"
        _print(Fact(f"package {name}", name not in missing, f"{where}; {count} problems import it"))
    if not missing:
        _say(f"\nPrograms find all of the {len(needed)} packages that they need.")
        return
    names = " ".join(missing)
    _say(f"\nMissing: {names}. Install them into an environment of their own and give its folder: "
         f"python -m venv FOLDER; FOLDER/bin/pip install {names}; python=FOLDER")  # fmt: skip
    sys.exit(1)


def _print(fact: Fact) -> None:
    console = Console(highlight=False)
    console.print(f"{_SIGNS[fact.ok]} {fact.name}: ", end="")
    console.print(fact.text, markup=False)


def _say(text: str) -> None:
    Console(highlight=False).print(text, markup=False)
