"""The record of mathematics."""

from __future__ import annotations

from ..family import Family

FAMILY = Family(
    client_settings=frozenset(
        ["operators", "digits", "terms", "style", "shots", "split", "strict", "format_credit",
         "set_credit"]
    ),
    presets={
        "documents": {
            "steps": 5, "batch": 10, "group": 4, "lr": 1e-4, "max_tokens": 8, "temperature": 1.0,
        },
        "local": {
            "steps": 45, "batch": 32, "group": 8, "lr": 5e-4, "lr_schedule": "linear",
            "betas": (0.9, 0.95), "length_norm": "token", "grad_clip": 1.0,
            "eval_every": 10, "eval_problems": 200,
        },
    },
    grader="mint_envs.math.item:MathItem",
)  # fmt: skip
