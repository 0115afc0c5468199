"""Hypothesis profiles: dev (quick), ci (fixed seed), long (by HYPOTHESIS_PROFILE=long)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# The benchmarks are not installed. At the end of the path, so that the tests of mint_envs and
# trainers run on the installed package and not on the source tree beside it.
sys.path.append(str(Path(__file__).parents[1]))

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_QUIET)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_QUIET
)
settings.register_profile("long", max_examples=10_000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
