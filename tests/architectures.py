"""Train a tiny random model of each architecture that transformers has here; print the table.

    python -m tests.architectures                  # all, float32: four minutes
    python -m tests.architectures llama lfm2       # these
    python -m tests.architectures --write          # and put the table into docs/training.md

For each: three prompts of four responses are drawn, two steps are trained, responses are drawn
anew, and the log-probabilities of sampling and of learning are held against plain forward passes of
the model, one text each. The exit code is 1 if any differs by more than 0.01 nats, or raises
anything but a refusal in one line.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # as under pytest: helpers import each other by name

from tiny import model_folder

PAGE = Path(__file__).parent.parent / "docs" / "training.md"
BEGIN, END = "<!-- architectures -->", "<!-- /architectures -->"

_MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_ROUTED = {
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1,
    "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1,
}  # fmt: skip
_LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 8, "num_key_value_heads": 4, "head_dim": 4,
}  # fmt: skip
_MAMBA = {
    "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1,
    "mamba_chunk_size": 8, "mamba_expand": 2,
}  # fmt: skip
_LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "layer_types": ["linear_attention", "full_attention"],
}  # fmt: skip
_CONV = {"layer_types": ["conv", "full_attention"]}
_LONGROPE = {
    "max_position_embeddings": 256, "original_max_position_embeddings": 64,
    "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4,
        "long_factor": [4.0] * 4, "original_max_position_embeddings": 64,
    },
}  # fmt: skip
_PLAIN_KINDS = """
apertus arcee biogpt bitnet bloom cohere cohere2 diffllama doge ernie4_5 exaone4 gemma gemma2
gemma3_text glm glm4 gpt2 gpt_bigcode gpt_neox granite helium hunyuan_v1_dense llama ministral
ministral3 mistral mpt nanochat nemotron olmo olmo2 olmo3 opt persimmon phi phi3 qwen2 qwen3
seed_oss smollm3 stablelm starcoder2 xglm
"""

#: What the settings of ``tiny.model_folder`` lack, by architecture.
KINDS: dict[str, dict[str, Any]] = {
    **{kind: {} for kind in _PLAIN_KINDS.split()},
    "bamba": {**_MAMBA, "attn_layer_indices": [1]},
    "codegen": {"rotary_dim": 8},
    "dbrx": {
        "d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 256,
        "tie_word_embeddings": False,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
        "ffn_config": {
            "ffn_hidden_size": 64, "hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2,
        },
    },
    "deepseek_v2": {**_LATENT, **_ROUTED},
    "deepseek_v3": {**_LATENT, **_ROUTED},
    "dots1": _ROUTED,
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32},
    "falcon": {"head_dim": ..., "num_kv_heads": 2, "new_decoder_architecture": True},
    "falcon_h1": {**_MAMBA, "mamba_d_ssm": 64},
    "falcon_mamba": {"state_size": 8},
    "flex_olmo": _MOE,
    "glm4_moe": _ROUTED,
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "window_size": 64},
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "gptj": {"rotary_dim": 8},
    "granitemoe": {"num_local_experts": 4},
    "granitemoehybrid": {
        **_MAMBA, "layer_types": ["mamba", "attention"], "num_local_experts": 4,
        "num_experts_per_tok": 2, "shared_intermediate_size": 32,
    },
    "hunyuan_v1_moe": {"num_experts": 4, "moe_topk": 2},
    "jamba": {
        "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2,
        "expert_layer_offset": 1, "num_experts": 4, "mamba_d_state": 8,
        "use_mamba_kernels": False,
    },
    "jetmoe": {"num_local_experts": 4, "kv_channels": 8},
    "kimi_linear": {
        **_LATENT, **_MOE, "layer_types": ["linear_attention", "full_attention"],
        "num_local_experts": 4, "linear_head_dim": 8, "linear_num_heads": 4,
    },
    "lfm2": {**_CONV, "block_auto_adjust_ff_dim": False},
    "lfm2_moe": {**_MOE, **_CONV, "num_dense_layers": 1},
    "llama4_text": {
        "num_local_experts": 4, "intermediate_size_mlp": 64, "num_experts_per_tok": 1,
    },
    "mamba": {"state_size": 8},
    "mamba2": {"state_size": 8, "head_dim": 8, "num_heads": 8, "n_groups": 1, "chunk_size": 8},
    "minicpm3": _LATENT,
    "minimax": {
        "num_local_experts": 4, "layer_types": ["linear_attention", "full_attention"],
        "block_size": 8,
    },
    "minimax_m2": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "mixtral": {"num_local_experts": 4},
    "nemotron_h": {
        "hybrid_override_pattern": "M*-", "num_hidden_layers": 3, "mamba_num_heads": 8,
        "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 1, "chunk_size": 8,
    },
    "olmo_hybrid": {**_LINEAR, "num_key_value_heads": 4, "linear_num_key_heads": 4},
    "olmoe": _MOE,
    "phi3 (longrope)": _LONGROPE,
    "phimoe": {"num_local_experts": 4},
    "qwen2_moe": {**_MOE, "shared_expert_intermediate_size": 32},
    "qwen3_5_moe_text": {**_MOE, **_LINEAR, "shared_expert_intermediate_size": 32},
    "qwen3_5_text": _LINEAR,
    "qwen3_moe": _MOE,
    "qwen3_next": {**_MOE, **_LINEAR, "shared_expert_intermediate_size": 32},
    "recurrent_gemma": {
        "lru_width": 32, "block_types": ["recurrent", "attention"], "attention_window_size": 64,
    },
    "rwkv": {"attention_hidden_size": 32, "context_length": 256},
    "zamba": {
        "mamba_d_state": 8, "n_mamba_heads": 2, "use_mamba_kernels": False,
        "num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
        "attention_hidden_size": 64, "attention_head_dim": 16,
    },
    "zamba2": {
        "mamba_d_state": 8, "mamba_headdim": 8, "n_mamba_heads": 8, "mamba_ngroups": 1,
        "num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
        "adapter_rank": 4, "chunk_size": 8, "num_mem_blocks": 1,
    },
}  # fmt: skip

_CONTEXTS = [tuple(b"Q: what is 1+1? Say it.\nA:"), tuple(b"Q: 12+1?\nA:"), tuple(b"Q: 3?\nA:")]
_GROUP, _TOKENS = 4, 10


def tiny_folder(folder: Path, name: str) -> str:
    """Write the tiny model of a row of the table; return its folder."""
    return model_folder(folder, name.partition(" ")[0], **KINDS[name])


def train_briefly(backend: Any, steps: int = 2) -> tuple[float, float]:
    """Train; return the largest difference from plain passes, and CPU seconds of the last step."""
    import numpy as np

    from trainers.backends import AdamParams, Datum, SampleRequest, SamplingParams

    rng = np.random.default_rng(0)

    def drawn(seed: int) -> list[Datum]:
        requests = [SampleRequest(context, _GROUP) for context in _CONTEXTS]
        made = []
        for context, group in zip(
            _CONTEXTS, backend.sample(requests, SamplingParams(_TOKENS, seed=seed)), strict=True
        ):
            for sample in group:
                mask = np.concatenate([np.zeros(len(context)), np.ones(len(sample.tokens))])
                old = np.concatenate([np.zeros(len(context)), sample.logprobs])
                made.append(Datum(context + sample.tokens, mask, old, mask * rng.normal()))
        return made

    seconds = 0.0
    for step in range(steps):
        start = time.process_time()
        backend.update(drawn(step), "importance_sampling", {}, AdamParams(0.02))
        seconds = time.process_time() - start
    datums = drawn(steps)
    learned = backend.logprobs(datums)
    return largest_difference(backend, datums, learned), seconds


def largest_difference(backend: Any, datums: Any, learned: Any) -> float:
    """Return how far sampled and learned log-probabilities are from plain passes, at most."""
    import numpy as np
    import torch

    model = backend._model
    worst = 0.0
    model.set_attention("eager")
    for datum, lp in zip(datums, learned, strict=True):
        with torch.no_grad():
            table = model.causal(input_ids=torch.tensor([datum.tokens]), use_cache=False).logits
        table = table[0, :, : model.vocab].float().log_softmax(-1)
        acts = np.flatnonzero(datum.mask)
        wanted = table[acts - 1, torch.tensor(datum.tokens)[acts]].numpy()
        worst = max(worst, *abs(wanted - lp[acts]), *abs(wanted - datum.logprobs[acts]))
    model.set_attention(backend._path.attention)
    return float(worst)


def lora_targets(backend: Any) -> str:
    """Return the names of the layers that learn, experts last."""
    names = set()
    for name, _ in backend._model.peft.named_parameters():
        if ".lora_B" in name:
            names.add(name.partition(".lora_B")[0].removesuffix(".base_layer").rpartition(".")[2])
    still = " ".join(backend.notes)
    shown = [f"({n})" if f" {n}" in still and "no gradient" in still else n for n in sorted(names)]
    beyond = "; ".join(note.rstrip(".") for note in backend.notes if "beyond LoRA" in note)
    return ", ".join(shown) + (f" ({beyond})" if beyond else "")


def row_of(name: str, dtype: str, unit: float | None) -> tuple[list[str], bool, float]:
    """Return a row of the table, whether it is as it should be, and seconds of a step."""
    from trainers.backends import LoraParams
    from trainers.backends.local import LocalBackend
    from trainers.errors import BackendError

    with tempfile.TemporaryDirectory() as scratch:
        folder = tiny_folder(Path(scratch), name)
        try:
            backend = LocalBackend(folder, LoraParams(rank=4), device="cpu", dtype=dtype, threads=1)
            worst, seconds = train_briefly(backend)
        except BackendError as error:
            why = str(error).rpartition("on the plain path, ")[2].partition(". Take")[0]
            return [name, "refused", "", "", why[:120]], "\n" not in str(error), 0.0
        except Exception as error:
            return [name, "**raised**", "", "", f"{type(error).__name__}: {error}"], False, 0.0
    path = backend._path.name
    if backend._path.attention == "eager":
        path += ", eager"
    if backend.max_context < backend._model.positions:
        path += f", to {backend.max_context} tokens"
    times = f"{seconds / (unit or seconds):.1f}"
    right = worst < (0.01 if dtype == "float32" else 1.0)
    return [name, path, f"{worst:.0e}", times, lora_targets(backend)], right, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.architectures",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("kinds", nargs="*", help="of these architectures; default: all")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    given = parser.parse_args()
    from transformers.utils import logging as hf_logging

    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    _, _, unit = row_of("llama", given.dtype, None)  # warms up too
    _, _, unit = row_of("llama", given.dtype, None)
    rows, wrong = [], []
    for name in given.kinds or sorted(KINDS):
        row, right, _ = row_of(name, given.dtype, unit)
        rows.append(row)
        wrong += [] if right else [name]
        print(" | ".join(row), flush=True)
    if given.write:
        _write(rows)
    counts = {p: sum(row[1].startswith(p) for row in rows) for p in ("fast", "plain", "refused")}
    print(", ".join(f"{count} {path}" for path, count in counts.items()), "of", len(rows))
    if wrong:
        sys.exit(f"wrong: {', '.join(wrong)}")


def _write(rows: list[list[str]]) -> None:
    head = ["architecture", "path", "largest difference", "time", "layers that learn"]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after)


if __name__ == "__main__":
    main()
