"""The record of tool use."""

from __future__ import annotations

from ..family import Family

FAMILY = Family(
    client_settings=frozenset(
        ["toolkit", "max_calls", "distractors", "max_turns", "max_tool_calls", "partial_credit"]
    ),
    presets={
        "documents": {"max_tokens": 256, "temperature": 1.0},
        "local": {
            "steps": 10, "batch": 8, "group": 8, "lr": 5e-4, "lr_schedule": "linear",
            "max_tokens": 42, "temperature": 1.0, "betas": (0.9, 0.95), "length_norm": "token",
            "grad_clip": 1.0, "env_settings": {"level": "easy"},
        },
    },
    grader="mint_envs.tooluse.item:ToolUseItem",
)  # fmt: skip
