"""The command ``mint-envs``. Its commands are loaded when called, so that it starts fast."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click
import gymnasium as gym

from .errors import MintEnvsError

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
        except (MintEnvsError, gym.error.Error) as error:
            click.echo(f"mint-envs: {error}", err=True)
            sys.exit(2)
        except OSError as error:
            if error.errno != errno.ENOSPC or error.filename:
                raise
            click.echo(f"mint-envs: the output cannot be written: {error.strerror}", err=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where Python writes the rest at its end
            sys.exit(2)


def _open_standard_streams() -> None:
    """Put /dev/null where a stream was closed (``>&-``): the next file would get its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mint-envs")
def main() -> None:
    """Environments for language models: look at them, try them, check this machine."""
