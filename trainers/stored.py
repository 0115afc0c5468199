"""What a run directory holds before a run goes on: settings, the newest checkpoint, a lock."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mint_envs.atomic import lock, write_whole

from .config import SftConfig, TrainConfig, kind_of
from .errors import TrainerError

LOCK = ".lock"


def read_state(folder: Path) -> dict[str, Any]:
    """Return the newest checkpoint of a run: ``step``, and the paths ``sampler``, ``training``.

    A run that was stopped before its first checkpoint is at step 0, and both paths are None.

    Raises:
        TrainerError: ``folder`` is no run, or its ``state.json`` is damaged.
    """
    path = state_file(folder)
    if not path.exists():
        read_config(folder)
        return {"step": 0, "sampler": None, "training": None}
    state = _read_object(path, "delete it to begin the run again from its first step")
    step, paths = state.get("step"), [state.get("sampler"), state.get("training")]
    if not isinstance(step, int) or step < 1 or not all(isinstance(p, str) for p in paths):
        raise TrainerError(
            f"{path} does not name a checkpoint: delete it to begin the run again from its first "
            "step"
        )
    return {**state, **{name: _own(folder, state[name]) for name in ("sampler", "training")}}


def fall_back(folder: Path) -> dict[str, Any] | None:
    """Name the newest lasting checkpoint in place of a rolling one that is gone; return its state.

    None: there is none.
    """
    lasting = read_state(folder).get("lasting")
    if not isinstance(lasting, dict):
        return None
    write_whole(state_file(folder), pretty(lasting))
    return read_state(folder)


def state_file(folder: Path) -> Path:
    return folder / "checkpoints" / "state.json"


def read_config(folder: Path) -> dict[str, Any]:
    """Return the settings that a run was started with.

    Raises:
        TrainerError: ``folder`` is no run.
    """
    path = folder / "config.json"
    if not path.exists():
        raise TrainerError(f"{folder} is not a run: it has no config.json")
    config = _read_object(path, "start a new run")
    if not isinstance(config.get("env"), str):
        raise TrainerError(f'{path} names no environment: put "env" back, or start a new run')
    return config


def stored_config(folder: Path) -> TrainConfig | SftConfig:
    """Return the settings of a run.

    Raises:
        TrainerError: ``folder`` is no run, or a setting is wrong.
    """
    stored = read_config(folder)
    try:
        return kind_of(stored["env"])(**stored)
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(map(str, fault["loc"]))
        raise TrainerError(f"{folder / 'config.json'}: {name}: {fault['msg']}") from error


def _read_object(path: Path, next_step: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TrainerError(f"{path} cannot be read: {error}. Mend it, or {next_step}") from error
    if not isinstance(value, dict):
        raise TrainerError(f"{path} is not a JSON object. Mend it, or {next_step}")
    return value


def _own(folder: Path, saved: str) -> str:
    """Return a checkpoint's path in ``folder``, which may have been moved or copied since."""
    here = folder / "checkpoints" / Path(saved).name
    return str(here) if "://" not in saved and here.is_dir() else saved


def claim_folder(folder: Path) -> None:
    """Check that a new run may use ``folder``.

    Raises:
        TrainerError: it holds a run already, or something is in the way.
    """
    if (folder / "config.json").exists():
        raise TrainerError(
            f"{folder} holds a run already. Go on with it by --resume {folder}, or name another "
            "--run-dir."
        )
    if folder.exists() and not folder.is_dir():
        raise TrainerError(f"--run-dir {folder} is a file; name a folder")


@contextmanager
def sole_use(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run directory. The lock ends with this one, however it ends.

    Raises:
        TrainerError: another process is at work in it, or it cannot be written.
    """
    try:
        file = (folder / LOCK).open("a")
    except OSError as error:
        raise TrainerError(
            f"cannot write to the run directory {folder}: {error.strerror}. Name another one by "
            "--run-dir, or go on in a copy of it by --resume."
        ) from error
    with file:
        if not lock(file):
            raise TrainerError(
                f"another process is at work in {folder}: wait for it or stop it, or name another "
                "--run-dir"
            )
        yield


def pretty(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


#: Settings of environments that say where and how fast something runs, and not what is asked.
_MAY_CHANGE = frozenset(
    (
        "judge_cache", "judge_concurrency", "judge_key_env", "judge_retries", "judge_timeout_s",
        "mcp_timeout_s", "python", "sandbox",
    )
)  # fmt: skip


def check_same_task(
    folder: Path, env: str, own: Mapping[str, Any], then: Mapping[str, Any], now: Mapping[str, Any]
) -> None:
    """Refuse other settings of the environment: half of the curve would be of another task.

    Args:
        folder: the run's.
        env: what it trains on.
        own: the options of this environment, by the setting's name: each with its ``name``, by
            which a command line gives it, and its ``default``.
        then: the settings that the run has.
        now: those that are asked for.

    Raises:
        TrainerError: one differs, and says more than where or how fast the environment runs.
    """
    for name in sorted({*then, *now} - _MAY_CHANGE):
        default = own[name].default if name in own else None
        was, wanted = then.get(name, default), now.get(name, default)
        if _plainly(was) == _plainly(wanted):
            continue
        option = f"--{own[name].name.replace('_', '-')}" if name in own else name
        given = f"{option} {shlex.quote(str(wanted))}"
        if name not in own or not isinstance(wanted, str | int | float):
            given = f"--env-settings {shlex.quote(json.dumps(now, default=str))}"
        raise TrainerError(
            f"{option} {wanted}: {folder} was trained with {name}={was}, and goes on with it. "
            f"Leave {option} out, or begin a new run with its weights, and with the other options "
            f"that it had: mint-grpo {env} {given} --init-from {folder}"
        )


def _plainly(value: object) -> object:
    """A value as a file of settings has it: a tuple is a list, and 60 is 60.0."""
    return json.loads(json.dumps(value, default=str))
