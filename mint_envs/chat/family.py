"""The record of chat."""

from __future__ import annotations

from ..family import Family

FAMILY = Family(
    client_settings=frozenset(
        "instructions verdict level most kinds partial_credit max_words split".split()
    ),
    presets={
        "documents": {"max_tokens": 128, "temperature": 1.0},
        "local": {
            "steps": 24, "batch": 8, "group": 8, "lr": 5e-4, "lr_schedule": "linear",
            "max_tokens": 32, "temperature": 1.0, "betas": (0.9, 0.95), "length_norm": "token",
            "grad_clip": 1.0, "eval_every": 8, "eval_problems": 200,
            "env_settings": {"level": "easy"},
        },
    },
    grader="mint_envs.chat.item:ChatItem",
    says_reward=True,
)  # fmt: skip
