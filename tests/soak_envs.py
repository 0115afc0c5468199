"""Registers what the soak of sessions plays: ``mint-envs serve --import tests.soak_envs``."""

from __future__ import annotations

import mint_envs
from tests.odd_tasks import Count

mint_envs.register("tests/Count-v0", Count)
