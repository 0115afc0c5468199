"""What holds of a ``TokenEnv``: info, flags, the action space, the append-only context."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from ..env import TokenEnv
from ..errors import IndexOutOfRange
from .findings import Findings, shown
from .texts import GARBAGE
from .verdicts import Turns, named, turns_of

#: The keys of ``info`` and their types, on every path.
INFO = {
    "prompt": str,
    "response": str,
    "score": float,
    "scored": bool,
    "parts": dict,
    "metadata": dict,
    "finish_reason": str,
    "problem_id": str,
}

_SCHEMA = "info has the same keys with the same types on every path"


class TokenEnvCheck:
    """One run over a ``TokenEnv``; ``run`` is the list of rules."""

    def __init__(self, env: TokenEnv, findings: Findings, problems: int) -> None:
        self.env, self.findings = env, findings
        self.seeds = range(max(1, problems))

    def run(self) -> None:
        try:
            for seed in self.seeds:
                for turns in self._games(seed):
                    for ended in (True, False):
                        self._play(seed, turns, ended)
            self._indexes()
            self._step_out_of_turn()
            self._bad_actions()
        except Exception as error:
            advice = "reset() and step() must work for any seed and any response"
            self.findings.expect(False, "no error", named(error), advice)

    def _games(self, seed: int) -> list[Turns]:
        self.env.reset(seed=seed)
        examples = self.env.task.examples(self.env.problem)
        return [*map(turns_of, examples), *((text,) for text in GARBAGE[:4])]

    # -- one episode ------------------------------------------------------------------------

    def _play(self, seed: int, turns: Turns, ended: bool) -> None:
        """Play an episode, watching info, flags and the context grow."""
        obs, info = self.env.reset(seed=seed)
        self._info(info, f"reset(seed={seed})")
        context = [obs.tolist()]
        kept, keys = [(obs, obs.tolist())], {id(info)}
        for text in turns:
            act = self._tokens(text, ended)
            what = f"the response {shown(text)}{'' if ended else ', cut off,'}"
            obs, reward, terminated, truncated, info = self.env.step(act)
            self._info(info, what)
            advice = "Return a new info every time; never change one that was returned"
            self.findings.expect(id(info) not in keys, "shared info", f"{what} reuses it", advice)
            self._flags(what, reward, (terminated, truncated), ended, info)
            self._appended(what, context, obs)
            context += [list(act), obs.tolist()]
            kept.append((obs, obs.tolist()))
            if terminated or truncated:
                break
        changed = any(array.tolist() != values for array, values in kept)
        fault, advice = f"seed {seed}: an earlier observation changed", "Return a new array"
        self.findings.expect(not changed, "shared observation", fault, advice)

    def _tokens(self, text: str, ended: bool) -> list[int]:
        codec = self.env.codec
        stop = codec.eos_token_id
        return codec.encode_response(text) + ([stop] if ended and stop is not None else [])

    def _info(self, info: dict[str, Any], what: str) -> None:
        kinds = {key: type(value) for key, value in info.items()}
        wrong = [key for key in {*INFO, *kinds} if kinds.get(key) is not INFO.get(key)]
        fault = f"after {what} the info keys {sorted(wrong)} are missing, new or of another type"
        self.findings.expect(not wrong, "info", fault, _SCHEMA, "schema")
        try:
            json.dumps(info, allow_nan=False)
            fault = ""
        except (TypeError, ValueError) as error:
            fault = f"after {what} info is not JSON: {error}"
        self.findings.expect(not fault, "info", fault, "No NaN, arrays or objects", "json")

    def _flags(
        self, what: str, reward: float, flags: tuple[Any, Any], ended: bool, info: dict[str, Any]
    ) -> None:
        fault = f"{what} gives reward {reward!r} and info['score'] {info['score']!r}"
        good = isinstance(reward, float) and reward == info["score"] and 0.0 <= reward <= 1.0
        self.findings.expect(good, "range", fault, "Reward is info['score'], a float in [0, 1]")
        fault = f"{what} is not scored, and gives reward {reward!r}"
        good = bool(info["scored"]) or reward == 0.0
        self.findings.expect(good, "unmeasured", fault, "Give 0.0 with scored=False")
        if self.env.task.single_turn:
            fault = f"{what} gives terminated={flags[0]!r}, truncated={flags[1]!r}"
            advice = "A single-turn episode ends with terminated=True, truncated=False"
            self.findings.expect(flags == (True, False), "flags", fault, advice)
        expected = "stop" if ended or self._has_stop(info["response"]) else "length"
        fault = f"{what} gives finish_reason={info['finish_reason']!r}, not {expected!r}"
        advice = "'length' is for a response without a stop token or stop string"
        good = info["finish_reason"] == expected or self.env.codec.eos_token_id is None
        self.findings.expect(good, "finish_reason", fault, advice)

    def _has_stop(self, text: str) -> bool:
        return any(mark in text for mark in self.env.task.stop)

    def _appended(self, what: str, context: list[list[int]], obs: Any) -> None:
        """The observation holds new tokens only, and decodes to the end of the transcript."""
        good = isinstance(obs, np.ndarray) and obs.dtype == np.int64 and obs.ndim == 1
        fault = f"after {what} the observation is {shown(obs)}"
        self.findings.expect(good, "observation", fault, "Return a flat np.int64 array")
        start = context[0]
        repeats = len(start) > 0 and obs[: len(start)].tolist() == start
        fault = f"after {what} the observation opens with the prompt again"
        advice = "The context is append-only: an observation holds only the new tokens"
        self.findings.expect(not repeats, "append-only", fault, advice)

    # -- addressing, and mistakes of the caller ----------------------------------------------

    def _indexes(self) -> None:
        size = self.env.task.size
        for index in range(min(3, size or 3)):
            one = self.env.reset(options={"index": index})
            self.env.reset(seed=index + 11)
            two = self.env.reset(options={"index": index})
            good = one[0].tolist() == two[0].tolist() and one[1] == two[1]
            fault = f"reset(options={{'index': {index}}}) gives two different problems"
            self.findings.expect(good, "index", fault, "Problem i is a function of i alone")
        if size is not None:
            call = lambda: self.env.reset(options={"index": size})  # noqa: E731
            advice = "Raise IndexOutOfRange"
            fault = f"index {size} of {size} problems raises none"
            self.findings.expect(_raised(call, IndexOutOfRange) != "", "index", fault, advice)

    def _step_out_of_turn(self) -> None:
        """A step after the end, or before the first reset, raises ResetNeeded."""
        self.env.reset(seed=0)
        for _ in range(1000):
            if any(self.env.step(self._tokens("", False))[2:4]):
                break
        fault = "a step after the end of the episode raises no ResetNeeded"
        advice = "Raise gymnasium.error.ResetNeeded: the next step would be scored again"
        good = _raised(lambda: self.env.step(self._tokens("1", True)), ResetNeeded) != ""
        self.findings.expect(good, "step after the end", fault, advice)

    def _bad_actions(self) -> None:
        """An action outside the space raises ValueError with the value, and moves nothing."""
        size = self.env.codec.vocab_size
        advice = "Raise ValueError naming the action: a trainer's mistake must not score 0"
        for action, value in [
            ([-1], "-1"),
            ([size], str(size)),
            ([0.5], "0.5"),
            ([[1, 2]], "[[1, 2]]"),
            ("text", "text"),
            (None, "None"),
            (3, "3"),
        ]:
            self.env.reset(seed=0)
            message = _raised(lambda: self.env.step(action), ValueError)  # type: ignore[arg-type]  # noqa: B023
            fault = f"step({action!r}) raises no ValueError with the value in it"
            self.findings.expect(value in message, "out-of-space action", fault, advice)
            still = _raised(lambda: self.env.step(self._tokens("1", True)), ResetNeeded) == ""
            fault = f"after the refused step({action!r}) the episode is over"
            advice_after = "Check the action before anything changes"
            self.findings.expect(still, "out-of-space action", fault, advice_after)


def _raised(call: Callable[[], Any], kind: type[Exception]) -> str:
    """Return the message of the error of this kind that ``call`` raises, or ``""``."""
    try:
        call()
    except kind as error:
        return str(error) or kind.__name__
    except Exception:
        return ""
    return ""
