"""Start SkyRL 0.3.0's Tinker service from a plain environment: ``python serve.py '{"json": ...}'``.

SkyRL expects Python 3.12 and to be started by ``uv run``. Two replacements at run time, none in its
files, let it start without either.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import typing

import typing_extensions

# Pydantic takes a ``typing.TypedDict`` from Python 3.12 on only; SkyRL uses that one.
typing.TypedDict = typing_extensions.TypedDict  # type: ignore[assignment]


def engine(argv: list[str]) -> None:
    """Be the process that owns the model; the API process starts it."""
    import runpy

    sys.argv = ["engine", *argv]
    runpy.run_module("skyrl.tinker.engine", run_name="__main__")


def api(settings: dict[str, typing.Any]) -> None:
    """Be the HTTP server; ``settings`` are EngineConfig's, and ``port``."""
    import uvicorn
    from skyrl.tinker import api as service
    from skyrl.tinker.config import EngineConfig, config_to_argv

    def command(_: object, config: EngineConfig) -> list[str]:
        return [sys.executable, os.path.abspath(__file__), "engine", *config_to_argv(config)]

    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    service._build_uv_run_cmd_engine = command
    port = settings.pop("port")
    service.app.state.engine_config = EngineConfig(**settings)
    uvicorn.run(service.app, host="127.0.0.1", port=port, log_level="warning")


def _end_with_parent(parent: int) -> None:
    """End this process group, the engine included, when the test run is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "engine":
        engine(sys.argv[2:])
    else:
        api(json.loads(sys.argv[1]))
