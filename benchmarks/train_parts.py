"""Sampling and updates apart, by length: the local backend, Hugging Face with peft, and the floor.

    python -m benchmarks.train --parts                        # all parts; half an hour
    python -m benchmarks.train --parts --choose "sample 4x4"  # those whose name holds this
    python -m benchmarks.train --parts --only ours            # without Hugging Face

A part is named by what is done, prompts x responses of each, and tokens of a prompt and of a
response. Time is CPU time of one thread (so that other programs do not count), the median of the
rounds, in which engines alternate. Memory is the peak of the part over what the process held before
it, where the system tells (Linux). The engines, a process each:

- ours: the local backend.
- hf: the same model in bfloat16 with peft's LoRA and SDPA: ``generate``, and rows of prompt and
  response, a batch of at most 2,048 tokens each, logits of the responses only.
- floor: the products of the model's own matrices at these shapes and in this dtype, and nothing
  else: forward for sampling; forward, and to the inputs, for updates. Prompts count once.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

RANK = 16
ENGINES = ("ours", "hf", "floor")
_BATCH = 2048  # tokens of a batch of the hf engine
_PASSES = 6  # passes of the floor that are timed, of all that a part takes
_WIDE = 1024  # rows of the floor's larger products


@dataclass(frozen=True)
class Part:
    """One piece of work: ``what`` is "sample" or "update"."""

    what: str
    prompts: int
    group: int
    prompt: int
    tokens: int

    def __str__(self) -> str:
        return f"{self.what} {self.prompts}x{self.group}, {self.prompt} + {self.tokens}"

    @property
    def drawn(self) -> int:
        return self.prompts * self.group * self.tokens

    def contexts(self) -> list[tuple[int, ...]]:
        """Return prompts of random ids: time hangs on their number only."""
        import numpy as np

        rng = np.random.default_rng(0)
        return [tuple(rng.integers(100, 40_000, self.prompt).tolist()) for _ in range(self.prompts)]


PARTS = (
    Part("sample", 8, 4, 100, 8),
    Part("sample", 4, 4, 100, 64),
    Part("sample", 8, 8, 100, 32),
    Part("sample", 8, 4, 100, 128),
    Part("sample", 2, 8, 400, 128),
    Part("sample", 2, 8, 100, 512),
    Part("update", 2, 4, 100, 8),
    Part("update", 8, 4, 100, 128),
    Part("update", 2, 4, 100, 256),
    Part("update", 2, 4, 400, 128),
    Part("update", 2, 2, 100, 512),
    Part("update", 1, 2, 100, 900),
    Part("update", 1, 1, 24, 1000),
    Part("update", 1, 1, 24, 1000),
)


# -- the engines: each gives a function that does a part once -------------------------------------


def ours() -> Callable[[Part], None]:
    from trainers.backends import AdamParams, LoraParams, SampleRequest, SamplingParams
    from trainers.backends.local import LocalBackend

    backend = LocalBackend(
        lora=LoraParams(RANK, train_unembed=False), threads=1, dtype="bfloat16", device="cpu"
    )

    def work(part: Part) -> None:
        if part.what == "sample":
            requests = [SampleRequest(context, part.group) for context in part.contexts()]
            backend.sample(requests, SamplingParams(part.tokens))
        else:
            backend.update(datums_of(part), "importance_sampling", {}, AdamParams(1e-5))

    return work


def datums_of(part: Part) -> list[Any]:
    import numpy as np

    from trainers.backends import Datum

    rng = np.random.default_rng(1)
    datums = []
    for context in part.contexts():
        for _ in range(part.group):
            tokens = context + tuple(rng.integers(100, 40_000, part.tokens).tolist())
            mask = np.append(np.zeros(part.prompt), np.ones(part.tokens))
            weight = mask * rng.normal() / part.drawn
            datums.append(Datum(tokens, mask, -10.0 * mask, weight))
    return datums


def hf() -> Callable[[Part], None]:
    import torch
    from peft import LoraConfig, get_peft_model

    torch.set_num_threads(1)
    config = LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")
    model = get_peft_model(_base_model("sdpa"), config)
    model.generation_config.eos_token_id = None
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=1e-5)

    def sample(part: Part) -> None:
        ids = torch.tensor(part.contexts()).repeat_interleave(part.group, 0)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                top_k=0,
                max_new_tokens=part.tokens,
                pad_token_id=0,
            )

    def update(part: Part) -> None:
        datums = datums_of(part)
        rows = max(1, _BATCH // (part.prompt + part.tokens))
        for start in range(0, len(datums), rows):
            batch = datums[start : start + rows]
            ids = torch.tensor([datum.tokens for datum in batch])
            adv = torch.tensor([datum.advantages[-1] for datum in batch], dtype=torch.float32)
            with torch.autocast("cpu", torch.bfloat16):
                given = model(input_ids=ids[:, :-1], use_cache=False, logits_to_keep=part.tokens)
            logits = given.logits.float()
            targets = ids[:, -part.tokens :].flatten()
            lp = -torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), targets, reduction="none"
            ).view(len(batch), -1)
            (-(lp - lp.detach()).exp() * adv[:, None]).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return lambda part: (sample if part.what == "sample" else update)(part)


def _base_model(attention: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    from trainers.backends.local.weights import DEFAULT_MODEL, model_folder

    return AutoModelForCausalLM.from_pretrained(
        model_folder(DEFAULT_MODEL), dtype=torch.bfloat16, attn_implementation=attention
    )


def floor() -> Callable[[Part], float]:
    """Its function returns the CPU seconds itself: a few passes stand for all that are alike."""
    import torch

    torch.set_num_threads(1)
    model = _base_model("eager")
    head = model.get_output_embeddings().weight.detach()
    linear = (part for part in model.model.modules() if isinstance(part, torch.nn.Linear))
    body = [layer.weight.detach() for layer in linear]

    def wide(weights: list[Any], rows: int, both: bool) -> float:
        size = min(rows, _WIDE)
        return _seconds(weights, size, 1, both) * rows / size

    def work(part: Part) -> float:
        rows = part.prompts * part.group
        if part.what == "update":
            tokens = part.prompts * part.prompt + rows * (part.tokens - 1)
            return wide(body, tokens, True) + wide([head], part.drawn, True)
        first = wide(body, part.prompts * part.prompt, False)
        first += _seconds([head], part.prompts, 1, False)
        return first + _seconds([*body, head], rows, part.tokens - 1, False)

    return work


def _seconds(weights: list[Any], rows: int, passes: int, both: bool) -> float:
    """CPU seconds of so many passes of so many rows; ``both`` is forward, and to the inputs."""
    import torch

    inputs = {w.shape[1]: torch.randn(rows, w.shape[1], dtype=w.dtype) for w in weights}
    outputs = {w.shape[0]: torch.randn(rows, w.shape[0], dtype=w.dtype) for w in weights}
    timed = [0.0]
    for _ in range(min(passes, _PASSES)):
        start = time.process_time()
        for weight in weights:
            torch.nn.functional.linear(inputs[weight.shape[1]], weight)
            if both:
                outputs[weight.shape[0]] @ weight
        timed.append(time.process_time() - start)
    return sum(timed) / max(1, len(timed) - 1) * passes


# -- measuring ------------------------------------------------------------------------------------


def serve(engine: str, tell: Callable[[dict[str, Any]], None]) -> None:
    """Do the parts whose numbers come in, one a line, until there are no more."""
    work = {"ours": ours, "hf": hf, "floor": floor}[engine]()
    for warm in (Part("sample", 2, 2, 8, 3), Part("update", 2, 2, 8, 3)):
        work(warm)
    tell({"ready": True})
    for line in sys.stdin:
        held = _reset_peak()
        start = time.process_time()
        given = work(PARTS[int(line)])
        spent = time.process_time() - start
        peak = _status("VmHWM")
        known = held is not None and peak is not None and engine != "floor"
        memory = {"peak_mb": peak - held} if known else {}  # type: ignore[operator]
        tell({"seconds": spent if given is None else given, **memory})


def _reset_peak() -> float | None:
    """Forget the peak of memory so far; return what is held now, in MB, where that can be done."""
    with suppress(OSError):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _status("VmRSS")
    return None


def _status(name: str) -> float | None:
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    return None


def chosen(name: str) -> Iterator[int]:
    """Yield the numbers of the parts whose name holds ``name``."""
    return (number for number, part in enumerate(PARTS) if name in str(part))


def row(part: Part, seconds: dict[str, list[float]], peaks: dict[str, float]) -> str:
    """Return one row of the table: what each engine takes, in CPU seconds and in ratios."""
    mine = statistics.median(seconds["ours"])
    rate = part.drawn / mine
    cells = [str(part), f"{mine:.2f}", f"{rate:.0f}"]
    other = statistics.median(seconds["hf"]) if seconds.get("hf") else None
    cells += ["" if other is None else f"{other / mine:.2f}"]
    cells += [f"{statistics.median(seconds['floor']) / mine:.0%}" if seconds.get("floor") else ""]
    for engine in ("ours", "hf"):
        cells.append(f"{peaks[engine]:,.0f}" if engine in peaks else "")
    return "| " + " | ".join(cells) + " |"


HEADER = """\
| work | CPU s | tokens a s | hf's time | part of the floor's rate | MB over the model | hf's MB |
|---|---|---|---|---|---|---|"""


def environment() -> dict[str, str]:
    """What every worker is started with: one thread, which CPU time then is the time of."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
