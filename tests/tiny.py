"""Tiny random models with a tokenizer of our own, as transformers folders. Nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tokenizer() -> Any:
    """Return a byte-level tokenizer with ChatML's special tokens (vocabulary 259)."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    made.chat_template = CHATML
    return made


def model_folder(folder: Path, kind: str = "llama", **changes: Any) -> str:
    """Write a two-layer random model of ``kind`` and its tokenizer; return the folder.

    A change to ``...`` leaves a setting out.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    made = tokenizer()
    sizes: dict[str, Any] = {
        "vocab_size": len(made), "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "max_position_embeddings": 256, "eos_token_id": made.eos_token_id,
        "pad_token_id": made.pad_token_id, "bos_token_id": None, "tie_word_embeddings": True,
        "initializer_range": 0.3,
    }  # fmt: skip
    settings = {k: v for k, v in {**sizes, **changes}.items() if v is not ...}
    config = AutoConfig.for_model(kind, **settings)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    made.save_pretrained(folder)
    return str(folder)
