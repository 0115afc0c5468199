"""``check_env``: the contract of an environment, ours in full and any other's in part."""

from __future__ import annotations

import contextlib
import io
import json
import math
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from gymnasium.utils.env_checker import data_equivalence

from ..env import TokenEnv
from ..errors import SettingError, require
from ..registration import make
from ..reports.report import Report
from ..responses.texts import smallest_faults
from ..spaces import TokenSequence
from .findings import Findings, apart, shown
from .guards import Watch, global_seed
from .tasks import TaskCheck
from .token_envs import TokenEnvCheck
from .verdicts import error_text

_STEPS = 20
_OWN_RNG = "Use self.np_random only; leave random and numpy.random alone"
_SEEDED = "Call super().reset(seed=seed) and draw from self.np_random only"


def check_env(
    id_or_env: str | gym.Env[Any, Any],
    *,
    problems: int = 4,
    max_examples: int = 100,
    solve: Callable[[Any], Any] | None = None,
    other_process: bool = True,
    **settings: Any,
) -> Report:
    """Check that an environment keeps the contract, and for a ``TokenEnv`` its task too.

    Args:
        id_or_env: a registered id, or an environment (it is reset and stepped, not closed).
        problems: how many problems (seeds 0, 1, ...) to try.
        max_examples: how many texts, and how many token sequences, Hypothesis tries.
        solve: takes a prompt and returns the right response, as for ``check_task``.
        other_process: replay the task in a new Python process too.
        settings: keyword arguments of the id.

    Returns:
        What was checked, on how many inputs, and what could not be.

    Raises:
        ContractError: the contract is broken; every finding is listed.
        SettingError: settings were given with an environment that already has them.
        gymnasium.error.Error: the id is not registered.
    """
    if settings and not isinstance(id_or_env, str):
        raise SettingError(f"settings {list(settings)} are for an id, not for an environment")
    right = isinstance(id_or_env, str | gym.Env)
    require(right, f"{id_or_env!r} is no id and no environment; check_task checks a task")
    env = make(id_or_env, **settings) if isinstance(id_or_env, str) else id_or_env
    core = env.unwrapped
    findings = Findings(id_or_env if isinstance(id_or_env, str) else type(core).__name__)
    with global_seed(1):
        if env.spec is not None:
            # As registered: an object given to make() as a setting is the caller's own affair.
            _check_spec(gym.registry.get(env.spec.id, env.spec), findings)
        _check_gymnasium(core, findings)
        _EnvCheck(core, findings, problems, max_examples).run()
        if isinstance(core, TokenEnv):
            TokenEnvCheck(core, findings, problems).run()
            check = TaskCheck(core.task, findings, problems, max_examples)
            check.run(solve, other_process=other_process)
        else:
            findings.skipped["the contract of tokens and info"] = "it is not a TokenEnv"
        if isinstance(id_or_env, str) and isinstance(core, TokenEnv):
            _check_vector(id_or_env, settings, core, findings)
    if isinstance(id_or_env, str):
        env.close()
    return findings.report()


def _check_gymnasium(env: gym.Env[Any, Any], findings: Findings) -> None:
    """Gymnasium's own checks, where a warning is a finding too."""
    advice = "gymnasium.utils.env_checker says so; see its documentation of Env"
    ours = isinstance(env, TokenEnv) and env.spec is not None  # others may need a display
    # It renders in every mode: "human" prints the problem, which nobody asked to see.
    unseen = contextlib.redirect_stdout(io.StringIO())
    with unseen, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gymnasium_check_env(env, skip_render_check=not ours, skip_close_check=True)
        except (Exception, SystemExit) as error:
            findings.expect(False, "Gymnasium's check_env", error_text(error), advice)
    for message in (re.sub(r"\x1b\[\d+m", "", str(warning.message)) for warning in caught):
        if "A Box " in message:  # advice on the size of a space, no fault
            findings.skipped["Gymnasium's advice"] = message
        else:
            findings.expect(False, "Gymnasium's check_env", message, advice)
    findings.cases["Gymnasium's check_env"] += 1


def _check_spec(spec: Any, findings: Findings) -> None:
    """The spec goes to other processes, as JSON or as a pickle."""
    ways: dict[str, Callable[[], Any]] = {
        "JSON": lambda: json.loads(spec.to_json()),
        "pickling": lambda: pickle.loads(pickle.dumps(spec)),
    }
    for name, call in ways.items():
        try:
            call()
            fault = ""
        except (Exception, SystemExit) as error:
            fault = f"{name} of the spec raises {error_text(error)}"
        advice = "Settings are names, paths and numbers; a task class is in an importable module"
        findings.expect(not fault, "spec", fault, advice, name)


def _check_vector(id: str, settings: dict[str, Any], env: TokenEnv, findings: Findings) -> None:
    """The vector form gives what the single form gives."""
    advice = "Register the id by mint_envs.register, and keep the task free of state"
    try:
        many: Any = gym.make_vec(id, num_envs=2, **settings)
        observations, _ = many.reset(seed=[5, 5])
        many.close()
        fault = "its vector form gives another observation for seed 5"
    except (Exception, SystemExit) as error:
        observations, fault = (), f"its vector form raises {error_text(error)}"
    alone = env.reset(seed=5)[0].tolist()
    good = [tokens.tolist() for tokens in observations] == [alone, alone]
    findings.expect(good, "vector form", fault, advice)


class _EnvCheck:
    """What holds of every Gymnasium environment."""

    def __init__(
        self, env: gym.Env[Any, Any], findings: Findings, problems: int, max_examples: int
    ) -> None:
        self.env, self.findings = env, findings
        self.seeds = range(max(1, problems))
        self.max_examples = max_examples
        self.deterministic = not (env.spec is not None and env.spec.nondeterministic)

    def run(self) -> None:
        for seed in self.seeds:
            one = self._episode(seed)
            with global_seed(2):
                two = self._episode(seed)
            if self.deterministic and one is not None and two is not None:
                advice = "The same seed and actions give the same episode: no clock, no counter"
                first, then = apart(repr(one), repr(two))
                fault = f"seed {seed} gives {first}, then {then}"
                self.findings.expect(data_equivalence(one, two), "determinism", fault, advice)
        self._group()
        if isinstance(self.env.action_space, TokenSequence):
            self._any_tokens(self.env.action_space)

    def _group(self) -> None:
        """Equal seeds give equal problems, whatever was played in between: a GRPO group."""
        one = self._attempt(lambda: self.env.reset(seed=7), "reset(seed=7)")
        self._episode(8)
        two = self._attempt(lambda: self.env.reset(seed=7), "reset(seed=7)")
        first, then = apart(repr(one), repr(two))
        fault = f"reset(seed=7) gives {first}, then {then}"
        self.findings.expect(data_equivalence(one, two), "group", fault, _SEEDED)

    def _attempt(self, call: Callable[[], Any], what: str) -> Any:
        """Return what ``call`` returns, None if it raises; note errors and global state."""
        watch = Watch()
        result, fault = None, ""
        try:
            result = call()
        except (Exception, SystemExit) as error:
            fault = f"{what} raises {error_text(error)}"
        self.findings.expect(not fault, "no error", fault, "Actions of the space never raise")
        fault = f"{what} changes it"
        self.findings.expect(not watch.touched(), "global random state", fault, _OWN_RNG)
        return result

    def _episode(self, seed: int) -> list[Any] | None:
        """Play an episode with sampled actions; return all that it returned."""
        self.env.action_space.seed(seed)
        first = self._attempt(lambda: self.env.reset(seed=seed), f"reset(seed={seed})")
        if first is None:
            return None
        course: list[Any] = [first]
        for _ in range(_STEPS):
            action = self.env.action_space.sample()
            result = self._step(action)
            if result is None:
                return None
            course.append(result)
            if result[2] or result[3]:
                break
        return course

    def _step(self, action: Any) -> Any:
        what = f"step({shown(action)})"
        result = self._attempt(lambda: self.env.step(action), what)
        if result is None:
            return None
        reward, terminated, truncated = result[1:4]
        try:
            finite = math.isfinite(reward)
        except TypeError:
            finite = False
        advice = "A reward is a finite float"
        self.findings.expect(finite, "reward", f"{what} gives the reward {reward!r}", advice)
        flags = isinstance(terminated, bool) and isinstance(truncated, bool)
        fault = f"{what} gives terminated={terminated!r}, truncated={truncated!r}"
        self.findings.expect(flags, "flags", fault, "Both are Python bools")
        return result

    def _any_tokens(self, space: TokenSequence) -> None:
        """No token sequence of the space raises, whatever Hypothesis makes of it."""
        from hypothesis import strategies as st

        low, top = min(255, space.vocab_size - 1), space.vocab_size - 1
        token = st.integers(0, low) | st.integers(0, top) | st.integers(max(0, top - 8), top)
        longest = min(300, space.max_length)
        stop = [] if space.stop_token is None else [space.stop_token]
        ended = st.lists(token, max_size=longest - 1).map(lambda ids: ids + stop)

        def faults_of(tokens: list[int]) -> set[str]:
            self.findings.cases["any tokens"] += 1
            try:
                self.env.reset(seed=0)
                reward = self.env.step(np.array(tokens, dtype=np.int64))[1]
            except (Exception, SystemExit) as error:
                return {type(error).__name__}
            return set() if math.isfinite(reward) else {"reward"}

        advice = "Decode with replacement; nonsense earns 0 and never raises"
        found = smallest_faults(
            st.lists(token, max_size=longest) | ended, faults_of, self.max_examples
        )
        for tokens in found:
            fault = f"the tokens {shown(tokens)} lead to {', '.join(faults_of(tokens))}"
            self.findings.expect(False, "any tokens", fault, advice, fault)
