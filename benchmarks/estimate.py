"""What ``mint-grpo ENV --estimate`` says of a step, beside what the step then takes.

    python -m benchmarks.estimate            # four shapes; some minutes
    python -m benchmarks.estimate --choose 2x2   # those whose name holds this
    python -m benchmarks.estimate --clock    # by the clock and on all cores, on a quiet machine

A shape is prompts x responses of each, and tokens of a prompt and of a response. All responses have
that length and all are learned from. Both sides are CPU seconds of one thread, unless ``--clock``
is given; the step is done twice, and the faster counts. Exits with 1 if the estimate of a step, of
its sampling or of its update is more than 30 % off.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from .train_parts import RANK, Part, datums_of

SHAPES = (
    Part("step", 16, 8, 32, 8),
    Part("step", 8, 4, 100, 128),
    Part("step", 2, 8, 400, 128),
    Part("step", 2, 2, 100, 512),
)
MOST = 0.3


def measure(backend: Any, shape: Part, clock: Any) -> tuple[float, float]:
    """Return seconds of sampling and of an update."""
    from trainers.backends import AdamParams, SampleRequest, SamplingParams

    requests = [SampleRequest(context, shape.group) for context in shape.contexts()]
    rounds = []
    for seed in range(2):
        start = clock()
        backend.sample(requests, SamplingParams(shape.tokens, seed=seed))
        sampled = clock()
        backend.update(datums_of(shape), "importance_sampling", {}, AdamParams(1e-5))
        rounds.append((sampled - start, clock() - sampled))
    return min(one for one, _ in rounds), min(other for _, other in rounds)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clock", action="store_true", help="seconds of the clock, all cores")
    parser.add_argument("--choose", default="", help="those whose name holds this")
    options = parser.parse_args()

    from trainers.backends import LoraParams
    from trainers.backends.local import LocalBackend, cost

    clock = time.perf_counter if options.clock else time.process_time
    cost.clock = clock
    threads = None if options.clock else 1
    backend = LocalBackend(lora=LoraParams(RANK, train_unembed=False), threads=threads)
    print("| step | sampling, told and measured | update | step | off by |\n|---|---|---|---|---|")
    worst = 0.0
    for shape in (shape for shape in SHAPES if options.choose in str(shape)):
        told = cost.cost_of(backend, shape.contexts(), shape.group, [shape.tokens])
        sample_s, update_s = measure(backend, shape, clock)
        pairs = [
            (told.read_s + told.draw_s, sample_s),
            (told.update_s, update_s),
            (told.seconds, sample_s + update_s),
        ]
        off = [one / other - 1 for one, other in pairs]
        worst = max(worst, *map(abs, off))
        cells = " | ".join(f"{one:.2f}, {other:.2f}" for one, other in pairs)
        print(f"| {str(shape)[5:]} | {cells} | {off[2]:+.0%} |", flush=True)
    print(f"The worst part is {worst:.0%} off; at most {MOST:.0%} is meant.")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
