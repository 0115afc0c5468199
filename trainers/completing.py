"""Completion of ``mint-grpo`` in a shell: click's, over the options of the environment named.

``eval "$(_MINT_GRPO_COMPLETE=bash_source mint-grpo)"`` sets it up, zsh_source and fish_source in
those shells. ``mint-envs`` is a click command, which has the same by itself.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem, shell_complete

from mint_envs.commands.options import complete_id

from .command import own_settings
from .config import kind_of
from .errors import TrainerError

VARIABLE = "_MINT_GRPO_COMPLETE"  # in which click's scripts ask
#: Settings whose value is a file, a folder, or at times the name of one.
_PATHS = (
    "run_dir",
    "base_model",
    "init_from",
    "tokenizer",
    "pass_rates",
    "dataset",
    "data",
    "eval_data",
)


def complete(instruction: str) -> int:
    """Answer a shell, which asks by ``instruction``: ``bash_source``, ``bash_complete``, ...

    Returns:
        The exit code: 1 for a shell that is not known.
    """
    return shell_complete(_Trainer("mint-grpo"), {}, "mint-grpo", VARIABLE, instruction)


class _Trainer(click.Command):
    """The options of a command line as click knows them; it is completed, and never run."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        env = next((word for word in args if not word.startswith("-")), "")
        fields = kind_of(env).model_fields
        kinds: dict[str, Any] = {name: info.annotation for name, info in fields.items()}
        helps = {name: info.description for name, info in fields.items()}
        kinds["resume"], helps["resume"] = str, "go on with this run"
        if env != "sft":
            kinds["preset"], helps["preset"] = Literal["documents", "local"], "defaults"
        for flag in _settings(env).values():
            kinds[flag.name], helps[flag.name] = flag.type, flag.help
        self.params = [click.Argument(["env"], required=False, shell_complete=_first_word)]
        if env == "sft":
            self.params.append(click.Argument(["data"], required=False, type=click.Path()))
        self.params += [
            _option(name, kinds[name], helps[name]) for name in kinds if name not in ("env", "data")
        ]
        if env != "sft":
            told = "say what a step costs, and train nothing"
            self.params.append(click.Option(["--estimate"], is_flag=True, help=told))
        return super().make_context(info_name, args, parent, **extra)


def _settings(env: str) -> Mapping[str, Any]:
    """Return the environment's own options; nobody's module is imported for a Tab."""
    if env in ("", "sft") or ":" in env:
        return {}
    try:
        return own_settings(env)
    except TrainerError:
        return {}


def _first_word(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    verbs = [CompletionItem(verb) for verb in ("export", "sft") if verb.startswith(incomplete)]
    return verbs + complete_id(context, parameter, incomplete)


def _option(name: str, kind: Any, text: str | None) -> click.Option:
    option = name.replace("_", "-")
    if typing.get_origin(kind) in (typing.Union, types.UnionType):  # an optional one
        kind = next(part for part in typing.get_args(kind) if part is not types.NoneType)
    if kind is bool:
        return click.Option([f"--{option}/--no-{option}"], help=text)
    taken: Any = click.Path() if name in (*_PATHS, "resume") else click.STRING
    if typing.get_origin(kind) is Literal:
        taken = click.Choice([str(choice) for choice in typing.get_args(kind)])
    return click.Option([f"--{option}"], type=taken, help=text)
