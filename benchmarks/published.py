"""Published reward functions, each under one name that ``mint-envs bench`` can load.

Nothing of them is here: each is imported from its package when it is asked for. Files of verl are
loaded by their path, since importing the package wants Ray and a GPU stack.

    mint-envs bench benchmarks.published:verl_gsm8k --data problems.jsonl
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from . import published_code


@dataclass(frozen=True)
class Published:
    """One published reward function.

    Args:
        library: whose it is.
        package: the distribution that has its version.
        name: what it is called there.
        load: returns it.
        form, golds: what its problems ask for (see ``benchmarks/rewards.py``).
        means: what its authors intend it for.
    """

    library: str
    package: str
    name: str
    load: Callable[[], Any]
    form: str
    golds: str = "whole"
    means: str = "right answers"


def _verl(name: str) -> ModuleType:
    """Return a module of verl's rewards without importing verl."""
    spec = importlib.util.find_spec("verl")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "utils" / "reward_score"
    path = folder / name / "__init__.py" if (folder / name).is_dir() else folder / f"{name}.py"
    full = f"verl_rewards_{name}"
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    found = importlib.util.spec_from_file_location(full, path, submodule_search_locations=inner)
    assert found is not None
    assert found.loader is not None
    module = sys.modules[full] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _two(function: Callable[..., Any]) -> Callable[[str, str], Any]:
    """A function of response and answer."""

    def reward(response: str, answer: str) -> Any:
        return function(response, answer)

    return reward


def _any_of(function: Callable[..., Any]) -> Callable[[str, str], Any]:
    """A function of questions with several right answers, given one."""

    def reward(response: str, answer: str) -> Any:
        return function(response, {"target": [answer]})

    return reward


def _tinker_math() -> Callable[[str, str], float]:
    grade = _of("tinker_cookbook.recipes.math_rl.math_grading", "grade_answer")
    boxed = _of("tinker_cookbook.recipes.math_rl.math_grading", "extract_boxed")

    def reward(response: str, answer: str) -> float:
        try:
            given = boxed(response)
        except ValueError:  # as its environment does
            return 0.0
        return float(grade(given, answer))

    return reward


def _math_verify() -> Callable[[str, str], float]:
    library = importlib.import_module("math_verify")

    def reward(response: str, answer: str) -> float:
        return float(library.verify(library.parse(answer), library.parse(response)))

    return reward


def _gym(name: str) -> Callable[[], Callable[[str, dict[str, Any]], float]]:
    """A data set of reasoning-gym, on its own problems."""

    def load() -> Callable[[str, dict[str, Any]], float]:
        data = importlib.import_module("reasoning_gym").create_dataset(name, seed=1, size=12)

        def reward(response: str, row: dict[str, Any]) -> float:
            return float(data.score_answer(answer=response, entry=data[int(row["number"])]))

        return reward

    return load


_GYM = ("base_conversion", "spell_backward", "countdown", "number_sorting", "basic_arithmetic",
        "chain_sum", "gcd", "lcm", "leg_counting", "fraction_simplification", "prime_factorization",
        "caesar_cipher", "word_sorting", "simple_equations", "decimal_arithmetic")  # fmt: skip

_TRL, _R1, _SKY = "trl.rewards", "open_r1.rewards", "skyrl_gym.envs"
_OF_FORM, _PENALTY, _LENGTH = "the form of a response", "repetition", "length"

PUBLISHED: Mapping[str, Published] = {
    "trl_accuracy": Published(
        "TRL", "trl", "accuracy_reward", lambda: _of(_TRL, "accuracy_reward"), "box"),
    "trl_reasoning_accuracy": Published(
        "TRL", "trl", "reasoning_accuracy_reward",
        lambda: _of(_TRL, "reasoning_accuracy_reward"), "thoughts"),
    "trl_think_format": Published(
        "TRL", "trl", "think_format_reward", lambda: _of(_TRL, "think_format_reward"), "thoughts",
        means=_OF_FORM),
    "trl_overlong": Published(
        "TRL", "trl", "get_soft_overlong_punishment(1000, 200)",
        lambda: _of(_TRL, "get_soft_overlong_punishment")(1000, 200), "bare", means=_LENGTH),
    "trl_repetition": Published(
        "TRL", "trl", "get_repetition_penalty_reward()",
        lambda: _of(f"{_TRL}.other_rewards", "get_repetition_penalty_reward")(), "bare",
        means=_PENALTY),
    "r1_accuracy": Published(
        "open-r1", "open_r1", "accuracy_reward", lambda: _of(_R1, "accuracy_reward"), "box"),
    "r1_format": Published(
        "open-r1", "open_r1", "format_reward", lambda: _of(_R1, "format_reward"), "tags",
        means=_OF_FORM),
    "r1_tag_count": Published(
        "open-r1", "open_r1", "tag_count_reward", lambda: _of(_R1, "tag_count_reward"), "tags",
        means=_OF_FORM),
    "r1_steps": Published(
        "open-r1", "open_r1", "reasoning_steps_reward", lambda: _of(_R1, "reasoning_steps_reward"),
        "bare", means="visible steps"),
    "r1_cosine": Published(
        "open-r1", "open_r1", "get_cosine_scaled_reward()",
        lambda: _of(_R1, "get_cosine_scaled_reward")(), "box", means="right answers, and length"),
    "r1_repetition": Published(
        "open-r1", "open_r1", "get_repetition_penalty_reward(3, -1.0)",
        lambda: _of(_R1, "get_repetition_penalty_reward")(3, -1.0), "bare", means=_PENALTY),
    "verl_gsm8k": Published(
        "verl", "verl", "gsm8k", lambda: _two(_verl("gsm8k").compute_score), "hashes"),
    "verl_math": Published(
        "verl", "verl", "math_reward", lambda: _two(_verl("math_reward").compute_score), "box"),
    "verl_math_dapo": Published(
        "verl", "verl", "math_dapo", lambda: _two(_verl("math_dapo").compute_score), "said"),
    "verl_prime_math": Published(
        "verl", "verl", "prime_math", lambda: _two(_verl("prime_math").compute_score), "box"),
    "verl_geo3k": Published(
        "verl", "verl", "geo3k", lambda: _two(_verl("geo3k").compute_score), "thoughts"),
    "verl_search_r1": Published(
        "verl", "verl", "search_r1_like_qa_em",
        lambda: _any_of(_verl("search_r1_like_qa_em").compute_score), "tag", "words"),
    "skyrl_gsm8k": Published(
        "SkyRL-gym", "skyrl-gym", "gsm8k",
        lambda: _two(_of(f"{_SKY}.gsm8k.utils", "compute_score")), "hashes"),
    "skyrl_aime": Published(
        "SkyRL-gym", "skyrl-gym", "aime",
        lambda: _two(_of(f"{_SKY}.aime.utils", "compute_score")), "said"),
    "skyrl_search": Published(
        "SkyRL-gym", "skyrl-gym", "search",
        lambda: _any_of(_of(f"{_SKY}.search.utils", "compute_score")), "tag", "words"),
    "tinker_math": Published("tinker-cookbook", "tinker-cookbook", "math_rl", _tinker_math, "box"),
    "tinker_code": Published(
        "tinker-cookbook", "tinker-cookbook", "code_rl", published_code.tinker_code, "code",
        means="programs that pass tests"),
    "mint_sums": Published(
        "MinT's documents", "", "sums, first integer", lambda: published_code.of_mint("ApartSums"),
        "own"),
    "mint_code": Published(
        "MinT's documents", "", "code by exec", lambda: published_code.of_mint("ExecCode"), "own",
        means="programs that pass tests"),
    "mint_chat": Published(
        "MinT's documents", "", "chat score", lambda: published_code.of_mint("chat_score"), "open",
        means="answers of some length"),
    "math_verify": Published(
        "Math-Verify", "math-verify", "verify(parse(gold), parse(response))", _math_verify, "bare",
        "formulas"),
    "ours_math": Published(
        "mint-envs", "mint-envs", "mint_envs.math.grade",
        lambda: _of("mint_envs.math", "grade"), "box"),
    "ours_code": Published(
        "mint-envs", "mint-envs", "mint_envs.code.grade", published_code.ours_code, "code",
        means="programs that pass tests"),
    **{f"gym_{name}": Published("reasoning-gym", "reasoning-gym", name, _gym(name), f"gym:{name}")
       for name in _GYM},
}  # fmt: skip


@functools.cache
def _loaded(name: str) -> Any:
    return PUBLISHED[name].load()


def __getattr__(name: str) -> Any:
    if name in PUBLISHED:
        return _loaded(name)
    raise AttributeError(name)
