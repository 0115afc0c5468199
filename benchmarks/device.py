"""What a device does here, for whoever has one: speed, memory, drift and a learning curve.

    python -m benchmarks.device                                   # the best device, ten minutes
    python -m benchmarks.device --device cpu --minutes 3
    python -m benchmarks.device --base-model Qwen/Qwen3-0.6B --json device.json

It loads the model, takes steps of three shapes (drawn, and all trained on), and trains mint/Math-v0
on sums of one digit for what is left of the time. What is printed is a table for docs/training.md.
Drift is how far the log-probability with which a token was drawn is from the one that training
gives it, before any step: in nats, its mean, its 99th percentile, and the largest.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

#: Prompts, responses of each, tokens of each.
SHAPES = ((16, 8, 8), (8, 8, 64), (2, 4, 512))
_STEPS = 3
_PROMPT = 128  # tokens, and more than any prompt here has


def measure(backend: Any, prompts: int, group: int, tokens: int) -> dict[str, Any]:
    """Take steps of one shape; return the times, rates, memory and drift of the last ones."""
    import numpy as np

    import mint_envs
    from trainers.backends import AdamParams, Datum, SampleRequest, SamplingParams

    env = mint_envs.make("mint/Math-v0", digits=2)
    texts = [env.reset(seed=seed)[1]["prompt"] for seed in range(prompts)]
    contexts = [tuple(backend.tokenizer.encode(text)) for text in texts]
    requests = [SampleRequest(context, group) for context in contexts]
    rng = np.random.default_rng(0)
    times: list[tuple[float, float]] = []
    gaps: list[Any] = []
    for step in range(_STEPS):
        start = _now(backend)
        groups = backend.sample(requests, SamplingParams(tokens, seed=step))
        sampled = _now(backend)
        datums = []
        for context, samples in zip(contexts, groups, strict=True):
            for one in samples:
                acts = np.append(np.zeros(len(context)), np.ones(len(one.tokens)))
                old = np.append(np.zeros(len(context)), one.logprobs)
                weight = acts * rng.normal() / (prompts * group * tokens)
                datums.append(Datum(context + one.tokens, acts, old, weight))
        done = backend.update(datums, "importance_sampling", {}, AdamParams(1e-5))
        times.append((sampled - start, _now(backend) - sampled))
        if step == 0:
            for datum, lp in zip(datums, done.logprobs, strict=True):
                gaps += list(np.abs(lp - datum.logprobs)[datum.mask > 0])
    sample, update = (float(np.median(column)) for column in np.array(times[1:]).T)
    drawn = prompts * group * tokens
    return {
        "shape": f"{prompts} x {group} x {tokens}",
        "step_s": sample + update,
        "sample_tokens_per_s": drawn / sample,
        "train_tokens_per_s": drawn / update,
        "peak_gb": _peak_gb(backend),
        "drift_mean": float(np.mean(gaps)),
        "drift_p99": float(np.quantile(gaps, 0.99)),
        "drift_max": float(np.max(gaps)),
    }


def _now(backend: Any) -> float:
    import torch

    if backend.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def _peak_gb(backend: Any) -> float:
    """Return the most memory that was used: the accelerator's, or this process's."""
    import torch

    if backend.device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def curve(options: argparse.Namespace, seconds: float, step_s: float) -> list[float]:
    """Train on sums of one digit for about so long; return the accuracy of each step."""
    from mint_envs.jsonl import whole_rows
    from trainers.__main__ import main as train

    steps = max(4, min(40, int(seconds / step_s)))
    argv = ["mint/Math-v0", "--backend", "local", "--digits", "1", "--batch", "16", "--group", "8"]
    argv += ["--max-tokens", "4", "--eval-every", "0", "--steps", str(steps)]
    for name in ("base_model", "device", "dtype"):
        if getattr(options, name):
            argv += [f"--{name.replace('_', '-')}", getattr(options, name)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        if train([*argv, "--run-dir", str(folder)]):
            raise SystemExit("the run failed; its line says why")
        return [row.get("accuracy", float("nan")) for row in whole_rows(folder / "metrics.jsonl")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base-model", help="default: SmolLM2-135M-Instruct")
    parser.add_argument("--device", help="cpu, cuda or mps; default: the best here")
    parser.add_argument("--dtype", choices=("bfloat16", "float32"))
    parser.add_argument("--minutes", type=float, default=10.0, help="about how long (default: 10)")
    parser.add_argument("--json", type=Path, help="write what was measured there too")
    options = parser.parse_args()
    measured = report(options)
    if options.json is not None:
        options.json.write_text(json.dumps(measured, indent=2) + "\n")


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything, and print the tables as they come."""
    import torch

    from trainers.backends.local import LocalBackend
    from trainers.backends.local.weights import DEFAULT_MODEL

    began = time.perf_counter()
    name = options.base_model or DEFAULT_MODEL
    backend = LocalBackend(name, device=options.device, dtype=options.dtype)
    loaded = time.perf_counter() - began
    where = platform.processor() or platform.machine()
    if backend.device.type == "cuda":
        where = torch.cuda.get_device_name()
    about = {
        "model": name,
        "device": f"{backend.device.type} ({where})",
        "dtype": str(backend.dtype).removeprefix("torch."),
        "torch": torch.__version__,
        "path": backend._path.name,
        "difference_at_load": backend._path.difference,
        "load_s": loaded,
        "loaded_gb": _peak_gb(backend),
    }
    for key, value in about.items():
        print(f"{key}: {value:.3g}" if isinstance(value, float) else f"{key}: {value}", flush=True)
    print("| prompts x responses x tokens | s/step | drawn/s | learned/s | peak GB | drift |")
    print("|---|---|---|---|---|---|")
    shapes = []
    for shape in SHAPES:
        spent = time.perf_counter() - began
        late = shapes and spent > options.minutes * 30  # half of the time is for the curve
        if late or shape[2] + _PROMPT > backend.max_context:
            why = "no time left" if late else "longer than its context"
            print(f"| {' x '.join(map(str, shape))} | {why} | | | | |")
            continue
        row = measure(backend, *shape)
        shapes.append(row)
        drift = f"{row['drift_mean']:.1e}, {row['drift_p99']:.1e}, {row['drift_max']:.1e}"
        rates = f"{row['sample_tokens_per_s']:.0f} | {row['train_tokens_per_s']:.0f}"
        numbers = f"{row['step_s']:.2f} | {rates} | {row['peak_gb']:.2f} | {drift}"
        print(f"| {row['shape']} | {numbers} |", flush=True)
    del backend
    left = options.minutes * 60 - (time.perf_counter() - began)
    accuracy = curve(options, left - loaded, shapes[0]["step_s"] * 1.3)
    print("accuracy, step by step:", " ".join(f"{value:.2f}" for value in accuracy), flush=True)
    return {**about, "shapes": shapes, "accuracy": accuracy}


if __name__ == "__main__":
    main()
