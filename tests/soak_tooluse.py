"""Many random episodes in a row: exact in tokens throughout, and no growth in memory.

python tests/soak_tooluse.py 5000            # with the tokenizer of the default model
"""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

from test_tooluse_tokens import play_exactly

from mint_envs import TokenEnv
from mint_envs.tooluse import ToolUseTask
from trainers.backends.local.weights import DEFAULT_MODEL, model_folder


def resident_kib() -> int:
    """Return the memory that this process holds now (Linux), or its peak elsewhere."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def main(episodes: int) -> None:
    tokenizer = model_folder(DEFAULT_MODEL)
    env, twin = (TokenEnv(ToolUseTask(), tokenizer) for _ in range(2))
    turns = 0
    for first in range(0, episodes, 500):
        turns += play_exactly(env, twin, min(500, episodes - first), first)
        gc.collect()
        print(f"{first + 500} episodes, {turns} turns, {resident_kib() // 1024} MiB", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
