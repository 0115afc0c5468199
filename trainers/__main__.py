"""The command ``mint-grpo``, also ``python -m trainers``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mint_envs.registration import family_of

from .backends import Backend, LoraParams
from .command import Command, parse
from .config import RunConfig, SftConfig, TrainConfig, preset_changes
from .data import Data
from .errors import TrainerError
from .grpo import train
from .log import Log, open_sinks
from .pool import EnvPool
from .run import Run
from .sft import fit, given_rows
from .stored import LOCK, claim_folder, fall_back, read_state, sole_use

#: What a service is asked for when no model is named: the default of MinT's documents.
_SERVICE_MODEL = "Qwen/Qwen3-0.6B"
Config = TypeVar("Config", bound=RunConfig)
_Start = dict[str, Any]  # the checkpoint to go on from, or the weights to begin with


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for an error, 130 after Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path in a terminal without Unicode
    try:
        if asked := os.environ.get("_MINT_GRPO_COMPLETE"):
            from .completing import complete

            return complete(asked)
        argv = sys.argv[1:] if argv is None else argv
        if argv[:1] == ["export"]:
            from .export import export

            return export(argv[1:])
        if "--estimate" in argv:
            return estimated([word for word in argv if word != "--estimate"])
        run = start(parse(argv))
        return 130 if run.interrupted else 0
    except TrainerError as error:
        print(f"mint-grpo: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except OSError as error:  # files of a run are seen to by ``Run``; what is left is the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python complains once more at exit
        print(f"mint-grpo: cannot write the output: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mint-grpo: stopped", file=sys.stderr)
        return 130


def estimated(argv: Sequence[str]) -> int:
    """Say what a step costs, and train nothing."""
    from .estimate import check, tell

    if any(word.startswith("--resume") for word in argv):
        raise TrainerError("--estimate is for a run that has not begun: leave --resume out")
    command = parse(argv)
    config = check(command.config)
    _try_environment(config)
    with closing(make_backend(command)) as backend:
        for line in tell(settled(config, backend), backend):
            print(line, flush=True)
    return 0


def start(
    command: Command,
    begun: Callable[[Backend], None] = lambda backend: None,
    told: Callable[[int, Sequence[float], int], None] | None = None,
) -> Run:
    """Train as the command says; return the run.

    Args:
        command: what is asked for.
        begun: is given the backend before the first step.
        told: prints the line of a step, in place of ours: (step, measured rewards, datums).
    """
    config = command.config
    if config.backend == "local" and command.api_key is None and not command.resume:
        print("No MINT_API_KEY: training on this machine, with the local backend.", flush=True)
    teach = _loop(config)
    with _claimed(command) as command, sole_use(command.folder):
        if not command.resume:
            claim_folder(command.folder)  # another may have been faster
        # A process may go on after a run: no session of a service is left open.
        with closing(make_backend(command)) as backend:
            return _run_on(backend, command, teach, begun, told)


def _loop(config: TrainConfig | SftConfig) -> Callable[..., None]:
    """Return what trains: (config, backend, run).

    A wrong setting, a broken row or a data set that cannot be divided is found here, before the
    model is loaded.
    """
    if isinstance(config, SftConfig):
        return partial(fit, given_rows(config))
    _try_environment(config)
    return train


def _run_on(backend: Backend, command: Command, teach: Any, begun: Any, told: Any) -> Run:
    """Train in ``command.folder``, which no other process uses."""
    config, folder = settled(command.config, backend), command.folder
    sinks = open_sinks(config, folder)
    begun(backend)
    log = Log(sinks, reward_line=family_of(config.env).says_reward, told=told)
    log.say(f"Model: {backend.model}")
    log.say(f"Run: {folder}  ({config.headline})")
    for note in (*backend.notes, *_notes(config, command.presets)):
        log.say(note)
    run = Run(folder, config, log, command.resume)
    try:
        log.begin()
        teach(config, backend, run)
    finally:
        log.close()
        with suppress(TrainerError):
            run.draw()
    if run.saved_path is not None:
        log.say(f"Saved: {run.saved_path}")
    if run.interrupted:
        log.say(f"Go on with: {run.way_on}")
    return run


def _notes(config: RunConfig, presets: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run says of itself once."""
    changed = preset_changes(config, presets)
    words = [f"{name}={value} (documents: {was})" for name, (value, was) in changed.items()]
    if words:
        yield f"By preset, and not as in the documents: {', '.join(words)}"
    if isinstance(config, TrainConfig) and config.temperature != 1:
        yield (
            f"Responses are drawn at temperature {config.temperature:g}, and log-probabilities are "
            "those at 1: so the gradient is of the model at 1, and there is a cross_entropy in "
            "place of an entropy (docs/training.md)"
        )


def make_backend(command: Command) -> Backend:
    """Return the backend that the settings name, from its checkpoint if the run is resumed."""
    config = command.config
    checkpoint = read_state(command.folder)["training"] if command.resume else None
    start: _Start = {"resume_from": checkpoint}
    start["init_from"] = None if checkpoint else _first_weights(config.init_from, config.backend)
    if config.backend == "bandit":
        from .backends.bandit import BanditBackend

        return BanditBackend(**start)
    lora = LoraParams(
        config.rank, config.train_mlp, config.train_attn, config.train_unembed, config.seed
    )
    if config.backend == "mint":
        return _mint_backend(command, lora, start)
    return local_backend(
        config.base_model,
        lora,
        device=config.device,
        dtype=config.dtype,
        threads=config.threads,
        token_budget=config.token_budget,
        **start,
    )


def _first_weights(where: str | None, backend: str) -> str | None:
    """Return the path of the weights that ``--init-from`` names.

    Raises:
        TrainerError: there are none, or the backend cannot take them.
    """
    given = where
    if where and "://" not in where and (Path(where) / "checkpoints").is_dir():
        where = read_state(Path(where))["training"]
        if where is None:
            raise TrainerError(f"--init-from {given}: this run has no checkpoint yet")
    there = where is not None and "://" in where
    if where is None or (there == (backend == "mint") and (there or Path(where).is_dir())):
        return where
    kinds = {"mint": "a path tinker://..., or a run on a service"}
    kind = kinds.get(backend, "the folder of an adapter, or a run on this machine")
    lost = "" if "://" in where or Path(where).exists() else "it does not exist; "
    raise TrainerError(f"--init-from {given}: {lost}the {backend} backend begins with {kind}")


def local_backend(base_model: str | None, lora: LoraParams | None = None, **how: Any) -> Backend:
    """Return a backend on this machine; None is the small model.

    Raises:
        TrainerError: torch is missing, or the model or device cannot be used.
    """
    try:
        from .backends.local import LocalBackend
        from .backends.local.weights import DEFAULT_MODEL
    except ImportError as error:
        raise TrainerError(
            f"the local backend needs {error.name}: pip install 'mint-envs[local]' "
            "(or set MINT_API_KEY to train on a service)"
        ) from error
    return LocalBackend(base_model or DEFAULT_MODEL, lora, **how)


def _mint_backend(command: Command, lora: LoraParams, start: _Start) -> Backend:
    from .backends.mint import MintBackend
    from .backends.mint_sdk import Lost

    def make(start: _Start) -> MintBackend:
        backend = begin(**start)
        backend.check_loss(*config.loss)
        return backend

    config = command.config
    begin = partial(
        MintBackend,
        config.base_model or _SERVICE_MODEL,
        lora,
        api_key=command.api_key,
        base_url=command.base_url,
        tokenizer=config.tokenizer,
        ttl_days=config.ttl_days,
        keep=config.keep,
    )
    try:
        return make(start)
    except Lost:  # a rolling one lives two hours
        if not start["resume_from"] or (lasting := fall_back(command.folder)) is None:
            raise
        return make({"resume_from": lasting["training"]})


def settled(config: Config, backend: Backend) -> Config:
    """Return the settings with what the backend chose, so that a resumed run chooses the same."""
    chosen: dict[str, Any] = {"backend": backend.name}
    if backend.name == "local":
        dtype = str(getattr(backend, "dtype", "")).removeprefix("torch.")
        threads = getattr(backend, "threads", None)
        chosen |= {"base_model": backend.model, "dtype": dtype, "threads": threads}
    return config.model_copy(update=chosen)


def _try_environment(config: TrainConfig) -> None:
    """Make the environment and divide its problems, to no other end than to see that it can be."""
    with closing(EnvPool(config.env, 1, None, config.env_settings)) as pool:
        ours = pool.task is not None
    if ours:  # another's may be slow to reset
        Data(config, None).close()


@contextmanager
def _claimed(command: Command) -> Iterator[Command]:
    """Make the run directory; take what was made back if no run comes of it."""
    folder = command.folder
    if command.resume:
        read_state(folder)
        yield command
        return
    fresh = command.config.run_dir is None  # a name of our own choice
    if not fresh:
        claim_folder(folder)
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder = _mkdir(folder, fresh)
    except OSError as error:
        raise TrainerError(
            f"cannot write to the run directory {folder}: {error.strerror}. "
            "Name another one by --run-dir."
        ) from error
    try:
        yield replace(command, folder=folder)
    except BaseException:
        if new and not (folder / "config.json").exists():
            (folder / LOCK).unlink(missing_ok=True)
            for path in (folder / "checkpoints", folder, *new[1:]):
                with suppress(OSError):
                    path.rmdir()
        raise


def _mkdir(folder: Path, fresh: bool) -> Path:
    """Make ``folder``; if it must be fresh, add a number where another run was faster."""
    path, number = folder, 1
    while True:
        try:
            path.mkdir(exist_ok=not fresh)
        except FileExistsError:
            number += 1
            path = folder.with_name(f"{folder.name}-{number}")
        else:
            return path


if __name__ == "__main__":
    sys.exit(main())
