"""A thin GRPO trainer for any registered environment: ``mint-grpo ENV`` or ``train(config)``.

from trainers import RLAdapter, RLConfig, run_grpo  # MinT's documents: trainers.documents
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .documents import RLAdapter, RLConfig, run_grpo

__all__ = ["RLAdapter", "RLConfig", "run_grpo"]


def __getattr__(name: str) -> Any:
    """Load what is public when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import documents

    return getattr(documents, name)
