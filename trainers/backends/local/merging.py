"""The model of a checkpoint as a folder that transformers, vLLM or peft load."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from ...config import RunConfig
from .weights import model_folder


def write_model(config: RunConfig, checkpoint: Path, folder: Path, merged: bool) -> None:
    """Write the tokenizer, and a whole model in the run's dtype or its LoRA weights alone."""
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
