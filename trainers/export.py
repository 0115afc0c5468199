"""``mint-grpo export RUN_DIR --merged FOLDER | --adapter FOLDER``: a run's model, to take away."""

from __future__ import annotations

import argparse
import json
import shutil
import warnings
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mint_envs.atomic import whole_folder
from mint_envs.jsonl import read_rows

from .config import TrainConfig
from .errors import TrainerError
from .run import read_config, read_state

_CARD = """---
base_model: {model}
library_name: {library}
tags: [mint-envs, grpo, lora]
---

# {model}, trained on {env}

{what} Trained with GRPO by mint-envs {version}, {steps} steps of {batch} problems and {group}
responses each, on `{env}` with the settings `{settings}`.

{measured}

All settings are in `training.json`.
"""


def export(argv: Sequence[str]) -> int:
    """Write what ``argv`` asks for; return 0.

    Raises:
        TrainerError: no such run, a run on a service, no checkpoint, or a folder that is there.
    """
    parser = argparse.ArgumentParser(prog="mint-grpo export", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--merged", type=Path, metavar="FOLDER", help="a whole model")
    kinds.add_argument("--adapter", type=Path, metavar="FOLDER", help="LoRA weights, for peft")
    given = parser.parse_args(argv)
    config, state = TrainConfig(**read_config(given.run)), read_state(given.run)
    target: Path = given.merged or given.adapter
    if config.backend != "local":
        raise TrainerError(f"{given.run} was trained with --backend {config.backend}: its weights "
                           f"are not on this machine ({state['sampler']})")  # fmt: skip
    if state["training"] is None:
        raise TrainerError(f"{given.run} has no checkpoint yet")
    if target.exists():
        raise TrainerError(f"{target} is there already; name a new folder")
    with whole_folder(target) as folder:
        _write(config, Path(state["training"]), folder, merged=given.merged is not None)
        card = _card(config, given.run, state["step"], merged=given.merged is not None)
        (folder / "README.md").write_text(card, encoding="utf-8")
        shutil.copy(given.run / "config.json", folder / "training.json")
    print(f"Exported: {target}")
    return 0


def _write(config: TrainConfig, checkpoint: Path, folder: Path, merged: bool) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from .backends.local.weights import model_folder

    base = model_folder(str(config.base_model))
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    if not merged:
        shutil.copy(checkpoint / "adapter_model.safetensors", folder)
        settings = json.loads((checkpoint / "adapter_config.json").read_text(encoding="utf-8"))
        settings["base_model_name_or_path"] = config.base_model
        (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2))
        return
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if config.train_unembed and model.config.tie_word_embeddings:
        # What is added to the output layer must not reach the embeddings that share its weight.
        head = model.get_output_embeddings()
        head.weight = torch.nn.Parameter(head.weight.detach().clone())
        model.config.tie_word_embeddings = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft warns of tied layers, which are not tied any more
        whole = PeftModel.from_pretrained(model, str(checkpoint)).merge_and_unload()
    whole.to(getattr(torch, config.dtype or "float32")).save_pretrained(folder)


def _card(config: TrainConfig, run: Path, step: int, merged: bool) -> str:
    last = deque((row["version"] for _, row in read_rows(run / "rollouts.jsonl")), maxlen=1)
    rows = deque((row for _, row in read_rows(run / "metrics.jsonl")), maxlen=5)
    rates = [row["accuracy"] for row in rows if "accuracy" in row]
    said = [f"Accuracy in the last {len(rates)} steps of training: {sum(rates) / len(rates):.1%}."
            ] if rates else []  # fmt: skip
    path = run / "eval.jsonl"
    for row in deque((row for _, row in read_rows(path)), maxlen=1) if path.exists() else ():
        held = "held-out" if row["eval/held_out"] else "not held-out"
        said += [f"After step {row['step']}, {name.removeprefix('eval/')} {row[name]:.1%} on "
                 f"{row['eval/problems']} {held} problems."
                 for name in row if name == "eval/accuracy"]  # fmt: skip
    return _CARD.format(
        model=config.base_model, env=config.env, version=last[0] if last else "?", steps=step,
        batch=config.batch, group=config.group, settings=json.dumps(config.env_settings),
        library="transformers" if merged else "peft", measured=" ".join(said),
        what="A whole model, LoRA weights merged." if merged else "LoRA weights alone.",
    )  # fmt: skip
