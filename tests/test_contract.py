"""Every registered id keeps the contract."""

from __future__ import annotations

import pytest

import mint_envs
from mint_envs.testing import check_env


@pytest.mark.parametrize("id", mint_envs.env_ids())
def test_every_registered_environment_keeps_the_contract(id: str) -> None:
    check_env(id)


def test_there_are_environments() -> None:
    assert "mint/Math-v0" in mint_envs.env_ids()
