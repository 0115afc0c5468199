"""One of several server processes: ``python -m mint_envs.serve.member LISTENER READY NUMBERS``.

The supervisor starts it, with the listening socket and a pipe as descriptors, a file for its
numbers, and what is to be served as JSON on standard input: in no argument and no variable, since
it holds secrets.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

import click

from ..errors import MintEnvsError
from ..loading import load_module
from .run import Running, serve_on
from .settings import Settings


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM; a byte on the pipe says that workers are up."""
    listener = socket.socket(fileno=int(arguments[0]))
    ready = int(arguments[1])
    order = json.load(sys.stdin)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    try:
        for module in order["modules"]:
            load_module(module, f"--import {module}")
        settings = Settings(**{name: _given(value) for name, value in order["settings"].items()})
        serve_on(
            listener, settings, Running(**order["how"]),
            when_ready=lambda: os.write(ready, b"1"), numbers=Path(arguments[2]),
        )  # fmt: skip
    except MintEnvsError as error:
        click.echo(f"Error: {error}", err=True)
        return 2
    return 0


def _given(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
