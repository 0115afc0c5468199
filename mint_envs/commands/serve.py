"""``mint-envs serve``."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click

from ..errors import SettingError
from ..loading import load_module
from .options import complete_id

_DOC = "See docs/serve.md for what a client may do, and what it may not."


# fmt: off
@click.command("serve", epilog=_DOC)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_id)
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to serve on; one that others can reach needs a token.")
@click.option("--port", default=8421, show_default=True, type=click.IntRange(0, 65535),
              help="0 takes a free one; it is printed.")
@click.option("--offer", "offers", multiple=True, metavar="[NAME=]ID[?SETTING=VALUE&...]",
              help="The same as an ID: an environment to serve, with settings that clients cannot "
              "change. Default: every registered one, with its defaults.")
@click.option("--allow", "allowed", multiple=True, metavar="ID:SETTING",
              help="A further setting that clients may choose. Not one that holds a path, an "
              "address or a name on the hub. May be repeated.")
@click.option("--import", "modules", multiple=True, metavar="MODULE",
              help="A module that registers your own environments. May be repeated.")
@click.option("--executor", default="processes", show_default=True,
              help="Where work runs: processes[:N], ray[:ADDRESS].")
@click.option("--token-file", type=click.Path(path_type=Path),
              help="File with the token that clients must show; else MINT_SERVE_TOKEN is read.")
@click.option("--max-body-mb", default=4.0, show_default=True, help="MiB of one request.")
@click.option("--max-batch", default=256, show_default=True, help="Items of one request.")
@click.option("--max-waiting", default=4096, show_default=True,
              help="Items that wait for or are in work; more are answered 429.")
@click.option("--max-client-waiting", default=2048, show_default=True,
              help="Of these, items of one client (a token at an address).")
@click.option("--session-key-file", type=click.Path(path_type=Path),
              help="File with the key that signs sessions, the same for all servers that are to go "
              "on with each other's; else MINT_SERVE_SESSION_KEY is read; else one is made.")
@click.option("--session-seconds", default=3600.0, show_default=True,
              help="A session is gone on with for so long after its last turn.")
@click.option("--max-sessions", default=20_000, show_default=True,
              help="Open sessions with chance in them; others are held by nobody.")
@click.option("--work-seconds", default=300.0, show_default=True,
              help="Longest that a piece of work may take; then it is unmeasured.")
@click.option("--max-program-seconds", default=10.0, show_default=True,
              help="Largest CPU time of a program that a client may ask for.")
@click.option("--drain-seconds", default=30, show_default=True,
              help="How long requests may take to finish when the server is told to stop.")
@click.option("--unready-seconds", default=0.0, show_default=True,
              help="How long before that it serves on while /readyz says 503, for balancers.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N",
              help="Serve from so many processes; one that ends is replaced, and SIGHUP replaces "
              "all, one by one. [default: this process alone]")
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False),
              help="TLS certificate (PEM); with --key.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False), help="TLS private key (PEM).")
@click.option("--log", default="warning", show_default=True,
              type=click.Choice(["info", "warning", "error"]), help="'info' logs each request.")
def command(
    ids: tuple[str, ...], host: str, port: int, offers: tuple[str, ...], allowed: tuple[str, ...],
    modules: tuple[str, ...], executor: str, token_file: Path | None, max_body_mb: float,
    max_batch: int, max_waiting: int, max_client_waiting: int, session_key_file: Path | None,
    session_seconds: float, max_sessions: int,
    work_seconds: float, max_program_seconds: float, drain_seconds: int,
    unready_seconds: float, processes: int | None,
    certificate: str | None, key: str | None, log: str,
) -> None:
    """Serve environments, every registered one or those of ID..., and graders over HTTP.

    POST /v1/score scores a batch, /v1/grade/... asks a grader, /v1/sessions plays episodes turn by
    turn, GET /v1/envs lists what there is, /docs is the page of the API, /metrics is for
    Prometheus. `mint_envs.serve.client.Client` is the Python client.

    \b
    Examples:
      mint-envs serve
      mint-envs serve my_file:my/Env-v0
      mint-envs serve mint/Math-v0 'gsm8k=mint/Math-v0?dataset=gsm8k&style=chat'
      curl -s localhost:8421/v1/score -H 'content-type: application/json' \\
        -d '{"env": "mint/Math-v0", "items": [{"seed": 3, "response": "42"}]}'
      MINT_SERVE_TOKEN=$(openssl rand -hex 32) mint-envs serve --host 0.0.0.0 \\
        --certificate cert.pem --key key.pem
    """
    try:
        from ..serve.run import Running, serve
        from ..serve.settings import KEY_VARIABLE, TOKEN_VARIABLE, Settings, read_secret
        from ..serve.supervisor import supervise
    except ImportError as error:
        raise SettingError(f"serve needs: pip install 'mint-envs[serve]' ({error})") from error
    for module in modules:
        load_module(module, f"--import {module}")
    settings = Settings(
        (*ids, *offers), allowed, executor,
        read_secret(token_file, os.environ.pop(TOKEN_VARIABLE, "")),
        max_body=int(max_body_mb * (1 << 20)), max_batch=max_batch, max_waiting=max_waiting,
        max_client_waiting=max_client_waiting,
        max_sessions=max_sessions, session_s=session_seconds, work_s=work_seconds,
        max_program_s=max_program_seconds,
        session_key=read_secret(
            session_key_file, os.environ.pop(KEY_VARIABLE, ""), "--session-key-file"
        ),
    )
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    how = Running(drain_seconds, unready_seconds, certificate, key, log)
    if processes is None:
        serve(settings, host, port, how)
    else:
        supervise(settings, host, port, how, processes, modules)


# fmt: on
