"""Out of memory, in one line with the number to lower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ...errors import BackendError


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch, on a CPU or an accelerator, or Python found no memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


@contextmanager
def in_memory(doing: str, budget: int, other: str) -> Iterator[None]:
    """Say what to lower when memory runs out.

    Raises:
        BackendError: it did.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise BackendError(
            f"out of memory while {doing}: lower --token-budget (it is {budget}), or {other}"
        ) from error
