"""Floors and ceilings that a report must keep, for a user's CI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

#: Flag → (number of the report, whether it is a floor, help).
FLOORS: dict[str, tuple[str, bool, str]] = {
    "--min-accuracy": ("accuracy", True, "share of labelled responses with the right verdict"),
    "--max-false-rewards": ("false_rewards", False, "share of wrong responses that are paid"),
    "--max-missed-rewards": ("missed_rewards", False, "share of right responses not paid"),
    "--min-oracle": ("oracle", True, "share of prompts whose solved answer earns 1"),
    "--min-agreement": ("agreement", True, "share of verdicts equal to --against"),
    "--min-repeatable": ("repeatable", True, "share of rewards equal in another process"),
    "--min-signal": ("signal", True, "share of prompts whose group has an advantage"),
    "--max-hacks": ("hacks", False, "kinds of hacks that are paid"),
    "--min-rate": ("rewards_per_second", True, "rewards per second of one process"),
    "--max-p99-ms": ("p99_ms", False, "milliseconds of the 99th percentile"),
    "--max-faults": ("faults", False, "faults of any kind"),
}


def with_floors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags to a click command; it gets them as ``floor_...`` arguments."""
    for flag, (number, _, help) in reversed(FLOORS.items()):
        name = f"floor_{number}"
        command = click.option(
            flag, name, type=float, metavar="X", help=f"End with 1 unless: {help}."
        )(command)
    return command


def missed(numbers: Mapping[str, float | None], given: Mapping[str, float | None]) -> list[str]:
    """Return what each missed floor says; one whose number was not measured is missed too."""
    said = []
    for flag, (name, floor, _) in FLOORS.items():
        bound = given.get(f"floor_{name}")
        if bound is None:
            continue
        value = numbers.get(name)
        if value is None:
            said.append(f"{flag} {bound:g}: {name} was not measured")
        elif (value < bound) if floor else (value > bound):
            said.append(f"{flag} {bound:g}: {name} is {value:.4g}")
    return said
