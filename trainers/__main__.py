"""The command ``mint-grpo``, also ``python -m trainers``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .backends import Backend, LoraParams
from .command import Command, parse
from .config import TrainConfig
from .errors import TrainerError
from .grpo import train
from .log import Log, open_sinks
from .rollout import EnvPool
from .run import Run, claim_folder, read_state

#: What a service is asked for when no model is named: the default of MinT's documents.
_SERVICE_MODEL = "Qwen/Qwen3-0.6B"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for an error, 130 after Ctrl-C."""
    try:
        return _run(parse(sys.argv[1:] if argv is None else argv))
    except TrainerError as error:
        print(f"mint-grpo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mint-grpo: stopped", file=sys.stderr)
        return 130


def _run(command: Command) -> int:
    config, folder = command.config, command.folder
    if config.backend == "local" and command.api_key is None and not command.resume:
        print("No MINT_API_KEY: training on this machine, with the local backend.", flush=True)
    EnvPool(config.env, 1, None, config.env_settings).close()  # a wrong setting, before the model
    made = _claim(command)
    try:
        backend = make_backend(command)
        sinks = open_sinks(config.log_to, folder, config.model_dump(mode="json"))
    except BaseException:
        _unmake(made)
        raise
    config = settled(config, backend)
    log = Log(sinks, reward_line=config.env.endswith("mint/Chat-v0"))
    log.say(f"Model: {backend.model}")
    log.say(
        f"Run: {folder}  (steps={config.steps} batch={config.batch} group={config.group} "
        f"lr={config.lr:g} max_tokens={config.max_tokens} temperature={config.temperature:g})"
    )
    run = Run(folder, config, log, command.resume)
    try:
        train(config, backend, run)
    finally:
        log.close()
        with suppress(TrainerError):
            run.draw()
    if run.saved_path is not None:
        log.say(f"Saved: {run.saved_path}")
    if run.interrupted:
        log.say(f"Go on with: mint-grpo --resume {folder}")
        return 130
    return 0


def make_backend(command: Command) -> Backend:
    """Return the backend that the settings name, from its checkpoint if the run is resumed."""
    config = command.config
    checkpoint = read_state(command.folder)["training"] if command.resume else None
    if config.backend == "bandit":
        from .backends.bandit import BanditBackend

        return BanditBackend(resume_from=checkpoint)
    lora = LoraParams(
        config.rank, config.train_mlp, config.train_attn, config.train_unembed, config.seed
    )
    if config.backend == "mint":
        return _mint_backend(command, lora, checkpoint)
    return _local_backend(config, lora, checkpoint)


def _local_backend(config: TrainConfig, lora: LoraParams, checkpoint: str | None) -> Backend:
    try:
        from .backends.local import LocalBackend
        from .backends.local.weights import DEFAULT_MODEL
    except ImportError as error:
        raise TrainerError(
            f"the local backend needs {error.name}: pip install 'mint-envs[local]' "
            "(or set MINT_API_KEY to train on a service)"
        ) from error
    return LocalBackend(
        config.base_model or DEFAULT_MODEL,
        lora,
        device=config.device,
        dtype=config.dtype,
        threads=config.threads,
        resume_from=checkpoint,
    )


def _mint_backend(command: Command, lora: LoraParams, checkpoint: str | None) -> Backend:
    from .backends.mint import MintBackend

    config = command.config
    return MintBackend(
        config.base_model or _SERVICE_MODEL,
        lora,
        api_key=command.api_key,
        base_url=command.base_url,
        tokenizer=config.tokenizer,
        resume_from=checkpoint,
    )


def settled(config: TrainConfig, backend: Backend) -> TrainConfig:
    """Return the settings with what the backend chose, so that a resumed run chooses the same."""
    chosen: dict[str, Any] = {"backend": backend.name}
    if backend.name == "local":
        dtype = str(getattr(backend, "dtype", "")).removeprefix("torch.")
        threads = getattr(backend, "threads", None)
        chosen |= {"base_model": backend.model, "dtype": dtype, "threads": threads}
    return config.model_copy(update=chosen)


def _claim(command: Command) -> list[Path]:
    """Make the run directory; return the folders that were not there before, innermost first."""
    folder = command.folder
    if command.resume:
        read_state(folder)
        return []
    claim_folder(folder)
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise TrainerError(
            f"cannot write to the run directory {folder}: {error.strerror}. "
            "Name another one by --run-dir."
        ) from error
    return new


def _unmake(folders: Sequence[Path]) -> None:
    """Take back the empty folders that ``_claim`` made."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


if __name__ == "__main__":
    sys.exit(main())
