"""Every registered id keeps the contract."""

from __future__ import annotations

import pytest
import toys
from tokenizers_for_tests import small_tokenizer

import mint_envs
from mint_envs import TokenEnv
from mint_envs.testing import check_env


@pytest.mark.parametrize("id", [id for id in mint_envs.env_ids() if id.startswith("mint/")])
def test_every_registered_environment_keeps_the_contract(id: str) -> None:
    check_env(id)


def test_there_are_environments() -> None:
    assert "mint/Math-v0" in mint_envs.env_ids()


@pytest.mark.parametrize("shape", ["chatml", "llama3", "inst", "plain", "endless"])
def test_it_holds_with_other_tokenizers(shape: str) -> None:
    tokenizer = small_tokenizer(shape)
    check_env("mint/Math-v0", tokenizer=tokenizer, problems=2, other_process=False)
    check_env(TokenEnv(toys.GuessNumber(), tokenizer), problems=2, other_process=False)
    if tokenizer.chat_template and shape != "inst":  # that template has no system role
        check_env(TokenEnv(toys.GuessNumberChat(), tokenizer), problems=2, other_process=False)
