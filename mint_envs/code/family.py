"""The record of code."""

from __future__ import annotations

from ..family import Family

FAMILY = Family(
    client_settings=frozenset(
        ["level", "partial_credit", "sandbox_timeout_s", "max_tests_per_problem", "style", "shots",
         "split"]
    ),
    presets={
        "documents": {"max_tokens": 256},
        "local": {
            "steps": 25, "batch": 8, "group": 8, "lr": 5e-4, "lr_schedule": "linear",
            "max_tokens": 48, "temperature": 1.0, "betas": (0.9, 0.95), "length_norm": "token",
            "grad_clip": 1.0, "env_settings": {"level": "easy"},
        },
    },
    grader="mint_envs.code.item:CodeItem",
    forms="mint_envs.code.readers:NAMES",
)  # fmt: skip
