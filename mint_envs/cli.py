"""The command ``mint-envs``. Its commands are loaded when called, so that it starts fast."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from pathlib import Path

import click
import gymnasium as gym

from .errors import MintEnvsError, nearest

#: Name of a command → one line of help; the command itself is in ``commands/NAME.py``.
COMMANDS = {
    "list": "List the environments with their settings.",
    "play": "Be the model: type a response, see its reward.",
    "new": "Write a new environment and its test.",
    "check": "Run the conformance kit on an environment.",
    "bench": "Benchmark a reward: right, sound, useful for learning, fast, hackable?",
    "eval": "Measure a model: how often is it right, and is there anything to learn?",
    "audit": "Audit a data set: do its tests and answers tell right from wrong?",
    "score": "Score saved responses with an environment.",
    "show": "Look at rollouts: in a browser in the terminal, or on one page.",
    "replay": "Compute every reward of a run again, and say which differ.",
    "serve": "Serve environments and graders over HTTP.",
    "doctor": "Say which sandbox this machine has, and prove it by attacks.",
}

#: What people type for what has another name here.
_OTHERWISE = {
    "help": "mint-envs --help",
    "version": "mint-envs --version",
    "train": "mint-grpo ENV",
    "resume": "mint-grpo --resume RUN_DIR",
    "export": "mint-grpo export RUN_DIR",
    "test": "mint-envs check ENV",
    "make": "mint-envs new NAME",
    "init": "mint-envs new NAME",
}


class _Commands(click.Group):
    """A group that knows the names and help of its commands without importing them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"mint_envs.commands.{name}")
        found: click.Command = module.command
        return found

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """What stands before the name of a command is refused in one line too."""
        try:
            return super().parse_args(context, args)
        except click.UsageError as error:
            if not args:  # which asks for the help
                raise
            sys.exit(_refuse(error))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            raise click.UsageError(_no_command(args[0]), context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, context: click.Context) -> object:
        """A user's mistake is one line that says what to do next, not a traceback."""
        _open_standard_streams()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # what a terminal cannot write becomes an escape
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(context)
        except click.UsageError as error:
            sys.exit(_refuse(error))
        except (MintEnvsError, gym.error.Error) as error:
            click.echo(f"mint-envs: {error}", err=True)
            sys.exit(2)
        except OSError as error:
            if error.errno != errno.ENOSPC or error.filename:
                raise
            click.echo(f"mint-envs: the output cannot be written: {error.strerror}", err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where Python writes the rest at its end
            sys.exit(2)


def _no_command(name: str) -> str:
    if name in _OTHERWISE:
        return f"there is no command {name}: use {_OTHERWISE[name]}"
    close = nearest(name, COMMANDS)
    meant = f"Did you mean {close}? " if close else ""
    return f"there is no command {name}. {meant}There are {', '.join(COMMANDS)}"


def _refuse(error: click.UsageError) -> int:
    """Print words that a command cannot read as one line, with what to do; return the exit code."""
    told = error.message if getattr(error, "possibilities", None) else error.format_message()
    said = told.rstrip(".").replace("\n", " ")
    how = (
        _meant(error)
        or f"; {error.ctx.command_path if error.ctx else 'mint-envs'} --help says more"
    )
    click.echo(f"mint-envs: {said[:1].lower()}{said[1:]}{how}", err=True)
    return 2


def _meant(error: click.UsageError) -> str:
    """Return what may be meant by a word that a command does not take, or ``""``."""
    context = error.ctx
    if context is None:
        return ""
    options = {param.name for param in context.command.params}
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument):
        words = [context.command_path, *context.command.collect_usage_pieces(context)]
        return f": {' '.join(words)}"
    option = getattr(error, "option_name", "")
    if option == "--dataset" and {"data", "settings"} & options:  # as mint-grpo and new take it
        here = "--data FILE" if "data" in options else "--set dataset=FILE"
        return f". Rows are given by {here} here"
    if close := getattr(error, "possibilities", None):
        return f". Did you mean {' or '.join(sorted(close))}?"
    word = option or error.message.partition("argument (")[2].rstrip(")")
    name, _, value = word.lstrip("-").partition("=")
    if "settings" in options and (option or value):
        return f". A setting of the environment is given by --set {name}={value or 'VALUE'}"
    if "data" in options and Path(word).is_file():
        return f". Did you mean --data {word}?"
    return ""


def _open_standard_streams() -> None:
    """Put /dev/null where a stream was closed (``>&-``): the next file would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


@click.group("mint-envs", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mint-envs")
def main() -> None:
    """Environments for language models: look at them, try them, check this machine."""
