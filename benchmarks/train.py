"""One GRPO step of the local backend beside one of TRL's GRPOTrainer: equal work, interleaved.

    python -m benchmarks.train                 # both; needs: pip install 'mint-envs[local,bench]'
    python -m benchmarks.train --only ours     # the local backend alone
    python -m benchmarks.train --only service  # the loop in step and ahead, on a slow service
    python -m benchmarks.train --shape 8x4x128 # other prompts x responses x tokens
    python -m benchmarks.train --parts         # sampling and updates apart, by length: see there

Same model, same LoRA (rank 16 on all linear layers), 16 prompts, 8 responses each, 8 tokens each
unless ``--shape`` says otherwise, all of them trained on. Every engine is a process of its own,
which does a step when it is told to, so steps alternate on a noisy machine; the table shows medians
and the ratio. TRL runs as it comes (float32, gradient checkpointing), and once more in bfloat16
without gradient checkpointing. All three at once need 16 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from . import train_parts
from .train_parts import RANK

PROMPTS, GROUP, TOKENS = map(int, os.environ.get("BENCH_SHAPE", "16x8x8").split("x"))

ENGINES = ("ours", "trl", "trl-bfloat16")


def prompts() -> list[str]:
    """Return the same prompts for every engine."""
    import mint_envs

    env = mint_envs.make("mint/Math-v0", digits=2)
    return [env.reset(seed=seed)[1]["prompt"] for seed in range(PROMPTS)]


# -- the engines, each in a worker process --------------------------------------------------------


def ours(wait: Callable[[], None]) -> None:
    """Sample and update with the local backend, one step at each signal."""
    import numpy as np

    from trainers.backends import AdamParams, Datum, LoraParams, SampleRequest, SamplingParams
    from trainers.backends.local import LocalBackend

    backend = LocalBackend(lora=LoraParams(RANK, train_unembed=False), threads=_cores())
    contexts = [tuple(backend.tokenizer.encode(text)) for text in prompts()]
    rng = np.random.default_rng(0)
    work = _flops(backend, contexts)
    _tell({"ready": True, "flops": work, "gflops": _matrix_gflops(str(backend.dtype))})
    step = 0
    while True:
        wait()
        start = time.perf_counter()
        requests = [SampleRequest(context, GROUP) for context in contexts]
        groups = backend.sample(requests, SamplingParams(TOKENS, seed=step))
        sampled = time.perf_counter()
        datums = []
        for context, group in zip(contexts, groups, strict=True):
            for sample in group:
                size = len(context) + len(sample.tokens)
                mask = np.zeros(size)
                mask[len(context) :] = 1.0
                old = np.zeros(size)
                old[len(context) :] = sample.logprobs
                weight = rng.normal() / (PROMPTS * GROUP * TOKENS)
                datums.append(Datum(context + sample.tokens, mask, old, mask * weight))
        backend.update(datums, "importance_sampling", {}, AdamParams(1e-5))
        done = time.perf_counter()
        _tell({"seconds": done - start, "sample": sampled - start, "peak_mb": _peak_mb()})
        step += 1


def trl(wait: Callable[[], None], bfloat16: bool) -> None:
    """Take steps of TRL's GRPOTrainer, one at each signal. Rewards are random: all groups count."""
    import random

    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    from trainers.backends.local.weights import DEFAULT_MODEL, model_folder

    torch.set_num_threads(_cores())
    folder = model_folder(DEFAULT_MODEL)
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    options = {"gradient_checkpointing": False, "bf16": True} if bfloat16 else {}
    with tempfile.TemporaryDirectory() as scratch:
        config = GRPOConfig(
            output_dir=scratch,
            use_cpu=True,
            per_device_train_batch_size=PROMPTS * GROUP,
            num_generations=GROUP,
            max_completion_length=TOKENS,
            generation_kwargs={"min_new_tokens": TOKENS},
            learning_rate=1e-5,
            beta=0.0,
            temperature=1.0,
            max_steps=1000,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            **options,
        )

        class Steps(TrainerCallback):  # type: ignore[misc]
            def on_step_end(self, *args: Any, **kwargs: Any) -> None:
                _tell({"seconds": time.perf_counter() - clock[0], "peak_mb": _peak_mb()})
                wait()
                clock[0] = time.perf_counter()

        clock = [0.0]
        trainer = GRPOTrainer(
            AutoModelForCausalLM.from_pretrained(folder, dtype=dtype),
            reward_funcs=lambda completions, **_: [random.random() for _ in completions],
            args=config,
            train_dataset=Dataset.from_dict({"prompt": prompts() * 1000}),
            processing_class=AutoTokenizer.from_pretrained(folder, padding_side="left"),
            peft_config=LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear"),
            callbacks=[Steps()],
        )
        _tell({"ready": True})
        wait()
        clock[0] = time.perf_counter()
        trainer.train()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tell(message: dict[str, Any]) -> None:
    print("BENCH " + json.dumps(message), flush=True)


def _matrix_gflops(dtype: str) -> float:
    """Return the measured rate of a product such as the model's, in GFLOP/s."""
    import torch

    kind = getattr(torch, dtype.removeprefix("torch."))
    x, w = torch.randn(1024, 576, dtype=kind), torch.randn(1536, 576, dtype=kind)
    seconds = []
    for _ in range(40):
        start = time.perf_counter()
        torch.nn.functional.linear(x, w)
        seconds.append(time.perf_counter() - start)
    return 2 * 1024 * 576 * 1536 / statistics.median(seconds) / 1e9


def _flops(backend: Any, contexts: list[tuple[int, ...]]) -> float:
    """Return the floating-point operations of the products that a step cannot do without."""
    body = sum(p.numel() for n, p in backend._model.body.named_parameters() if "proj" in n)
    head = backend._model.head.weight.numel()
    prompt = sum(map(len, contexts))
    fresh = PROMPTS * GROUP * (TOKENS - 1)  # the last token is never fed in
    drawn = PROMPTS * GROUP * TOKENS
    sampling = 2 * body * (prompt + fresh) + 2 * head * (PROMPTS + fresh)
    training = 2 * 2 * body * (prompt + fresh) + 2 * 2 * head * drawn  # forward, and to inputs
    return float(sampling + training)


# -- the parent -----------------------------------------------------------------------------------


class Worker:
    """An engine in a process of its own."""

    def __init__(self, engine: str, parts: bool = False) -> None:
        self.engine = engine
        self._command = ["--worker", engine, *(["--parts"] if parts else [])]
        self.seconds: list[float] = []
        self.last: dict[str, Any] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.train", *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={
                **(train_parts.environment() if parts else os.environ),
                "OMP_WAIT_POLICY": "passive",
                "TOKENIZERS_PARALLELISM": "false",
                "BENCH_SHAPE": f"{PROMPTS}x{GROUP}x{TOKENS}",
            },
        )
        self.ready = self._listen()

    def step(self, keep: bool = True) -> None:
        self.last = self.ask("go")
        if keep:
            self.seconds.append(self.last["seconds"])

    def ask(self, line: str) -> dict[str, Any]:
        """Send a line; return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._listen()

    def _listen(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("BENCH "):
                message: dict[str, Any] = json.loads(line[6:])
                return message
        raise SystemExit(
            f"the worker {self.engine!r} ended early; run it alone to see why:\n"
            f"  python -m benchmarks.train {' '.join(self._command)}"
        )

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def compare(engines: list[str], rounds: int) -> None:
    """Alternate steps of all engines, and print the table."""
    workers = []
    try:
        for engine in engines:
            print(f"starting {engine} ...", file=sys.stderr)
            workers.append(Worker(engine))
        for worker in workers:
            worker.step(keep=False)  # the first step pays for warming up
        for number in range(rounds):
            for worker in workers:
                worker.step()
            print(f"round {number + 1} of {rounds} done", file=sys.stderr)
        _table(workers)
    finally:
        for worker in workers:
            worker.close()


def compare_parts(engines: list[str], rounds: int, name: str) -> None:
    """Let all engines do each part in turn, and print its row."""
    workers = [Worker(engine, parts=True) for engine in engines]
    print(train_parts.HEADER)
    try:
        for number in train_parts.chosen(name):
            seconds: dict[str, list[float]] = {engine: [] for engine in engines}
            peaks: dict[str, float] = {}
            for _ in range(rounds):
                for worker in workers:
                    told = worker.ask(str(number))
                    seconds[worker.engine].append(told["seconds"])
                    if "peak_mb" in told:
                        peaks[worker.engine] = max(told["peak_mb"], peaks.get(worker.engine, 0.0))
            print(train_parts.row(train_parts.PARTS[number], seconds, peaks), flush=True)
    finally:
        for worker in workers:
            worker.close()


def _table(workers: list[Worker]) -> None:
    print(f"{PROMPTS} prompts x {GROUP} responses x {TOKENS} tokens, {_cores()} threads")
    print(f"{'engine':22}{'s/step':>9}{'min':>9}{'max':>9}{'peak MB':>10}{'ratio':>8}{'mem':>7}")
    first = workers[0]
    for worker in workers:
        median = statistics.median(worker.seconds)
        peak = worker.last["peak_mb"]
        print(
            f"{worker.engine:22}{median:9.2f}{min(worker.seconds):9.2f}{max(worker.seconds):9.2f}"
            f"{peak:10.0f}{median / statistics.median(first.seconds):8.1f}"
            f"{peak / first.last['peak_mb']:7.1f}"
        )
    if "flops" in first.ready:
        rate = first.ready["flops"] / statistics.median(first.seconds) / 1e9
        print(
            f"our step: {first.ready['flops'] / 1e9:.0f} GFLOP of products at {rate:.0f} GFLOP/s, "
            f"{rate / first.ready['gflops']:.0%} of the {first.ready['gflops']:.0f} GFLOP/s that a "
            "bare product of the same shape reaches here"
        )


def main() -> None:
    global PROMPTS, GROUP, TOKENS
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    engines = (*ENGINES, *(name for name in train_parts.ENGINES if name != "ours"))
    parser.add_argument("--rounds", type=int, default=5, help="measured steps of each engine")
    alone = (*engines, "service")
    parser.add_argument("--only", choices=alone, action="append", help="run these alone")
    parser.add_argument("--shape", help="prompts x responses x tokens of a step (default: 16x8x8)")
    parser.add_argument("--parts", action="store_true", help="sampling and updates apart")
    parser.add_argument("--choose", default="", help="with --parts: those whose name holds this")
    parser.add_argument("--worker", choices=engines, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shape:
        PROMPTS, GROUP, TOKENS = map(int, options.shape.split("x"))
    if options.worker is not None:
        _work(options.worker, options.parts)
    elif options.parts:
        chosen = options.only or list(train_parts.ENGINES)
        if other := sorted(set(chosen) - set(train_parts.ENGINES)):
            parser.error(f"--parts are done by {', '.join(train_parts.ENGINES)}, not by {other[0]}")
        if "ours" not in chosen:
            chosen.insert(0, "ours")  # all ratios are to it
        compare_parts(chosen, options.rounds, options.choose)
    else:
        chosen = options.only or [*ENGINES, "service"]
        if ours := [engine for engine in chosen if engine != "service"]:
            compare(ours, options.rounds)
        if "service" in chosen:
            from benchmarks.offpolicy import service

            service(steps=12)


def _work(engine: str, parts: bool) -> None:
    """Be one engine, until nothing more is asked of it."""
    if parts:
        train_parts.serve(engine, _tell)
        return

    def wait() -> None:
        if not sys.stdin.readline():
            sys.exit(0)

    if engine == "ours":
        ours(wait)
    else:
        trl(wait, bfloat16=engine == "trl-bfloat16")


if __name__ == "__main__":
    main()
