"""What holds of a ``TokenEnv``: info, flags, the action space, the append-only context."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from ..env import TokenEnv
from ..errors import IndexOutOfRange
from ..problems import ProblemRef, Turns, examples_of
from ..responses.texts import GARBAGE
from .findings import Findings, shown
from .verdicts import error_text, sorted_json

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
        self._last = ""  # the latest call, as a finding quotes it

    def run(self) -> None:
        for rule in (self._seeds, self._play_all, self._indexes, self._over, self._bad_actions):
            try:
                rule()
            except (Exception, SystemExit) as error:
                what = rule.__name__.strip("_").replace("_", " ")
                fault = f"{self._last} raises {error_text(error)} (while checking: {what})"
                advice = "reset() and step() must work for any seed and any response"
                self.findings.expect(False, "no error", fault, advice, "tokens")

    def _seeds(self) -> None:
        """reset(seed=s) gives the problem that the task draws from that seed."""
        for seed in self.seeds:
            self._reset(seed=seed)
            task = self.env.task
            wanted = task.problem_id(ProblemRef(seed=seed).of(task))
            given = task.problem_id(self.env.problem)
            fault = f"reset(seed={seed}) gives problem {given}, the task draws {wanted}"
            advice = "Call super().reset(seed=seed) once, then task.sample(self.np_random)"
            self.findings.expect(given == wanted, "seed", fault, advice)

    def _play_all(self) -> None:
        for seed in self.seeds:
            self._reset(seed=seed)
            examples = examples_of(self.env.task, self.env.problem)
            for turns in [*examples, *((text,) for text in GARBAGE[:4])]:
                for ended in (True, False) if self.env.codec.eos_token_id is not None else (False,):
                    self._play(seed, turns, ended)

    def _reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self._last = f"reset({', '.join(f'{k}={v!r}' for k, v in kwargs.items())})"
        return self.env.reset(**kwargs)

    def _step(self, action: Any) -> Any:
        self._last = f"step({shown(action)})"
        return self.env.step(action)

    # -- one episode ------------------------------------------------------------------------

    def _play(self, seed: int, turns: Turns, ended: bool) -> None:
        """Play an episode, watching info, flags and observations."""
        obs, info = self._reset(seed=seed)
        self._info(info, self._last)
        start = np.asarray(obs).tolist()
        seen = [(obs, info, sorted_json([start, info]))]
        for text in turns:
            what = f"the response {shown(text)}{'' if ended else ', cut off,'}"
            obs, reward, terminated, truncated, info = self._step(self._tokens(text, ended))
            self._info(info, what)
            self._flags(what, reward, (terminated, truncated), info)
            self._finish_reason(what, ended, info)
            self._observation(what, start, obs)
            seen.append((obs, info, sorted_json([np.asarray(obs).tolist(), info])))
            if terminated or truncated:
                break
        self._fresh(seed, seen)

    def _fresh(self, seed: int, seen: list[tuple[Any, dict[str, Any], str]]) -> None:
        """What was returned once is neither returned again nor changed."""
        advice = "Return new arrays and a new info every time; never change returned ones"
        changed = [was for o, i, was in seen if sorted_json([np.asarray(o).tolist(), i]) != was]
        fault = f"seed {seed}: an observation or info changed after it was returned"
        self.findings.expect(not changed, "shared info", fault, advice)
        holders = [part for _, i, _ in seen for part in (i, i.get("parts"), i.get("metadata"))]
        reused = len({id(part) for part in holders}) < len(holders)
        fault = f"seed {seed}: two calls return the same info object"
        self.findings.expect(not reused, "shared info", fault, advice)

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
        self, what: str, reward: float, flags: tuple[Any, Any], info: dict[str, Any]
    ) -> None:
        fault = f"{what} gives reward {reward!r} and info['score'] {info.get('score')!r}"
        good = isinstance(reward, float) and reward == info.get("score") and 0.0 <= reward <= 1.0
        self.findings.expect(good, "range", fault, "Reward is info['score'], a float in [0, 1]")
        fault = f"{what} is not scored, and gives reward {reward!r}"
        good = bool(info.get("scored")) or reward == 0.0
        self.findings.expect(good, "range", fault, "Unmeasured is 0.0 with scored=False")
        if self.env.task.single_turn:
            fault = f"{what} gives terminated={flags[0]!r}, truncated={flags[1]!r}"
            advice = "A single-turn episode ends with terminated=True, truncated=False"
            self.findings.expect(flags == (True, False), "flags", fault, advice)

    def _finish_reason(self, what: str, ended: bool, info: dict[str, Any]) -> None:
        stopped = any(mark in info.get("response", "") for mark in self.env.task.stop)
        knows = self.env.codec.stop_tokens or self.env.task.stop
        expected = "stop" if ended or stopped or not knows else "length"
        given = info.get("finish_reason")
        fault = f"{what} gives finish_reason={given!r}, not {expected!r}"
        advice = "'length' is for a response without a stop token or stop string"
        self.findings.expect(given == expected, "finish_reason", fault, advice)

    def _observation(self, what: str, start: list[int], obs: Any) -> None:
        """The observation holds new tokens only."""
        good = isinstance(obs, np.ndarray) and obs.dtype == np.int64 and obs.ndim == 1
        fault = f"after {what} the observation is {shown(obs)}"
        self.findings.expect(good, "observation", fault, "Return a flat np.int64 array")
        repeats = len(start) > 0 and np.asarray(obs).tolist()[: len(start)] == start
        fault = f"after {what} the observation opens with the prompt again"
        advice = "The context is append-only: an observation holds only the new tokens"
        self.findings.expect(not repeats, "append-only", fault, advice)

    # -- addressing, and mistakes of the caller ----------------------------------------------

    def _indexes(self) -> None:
        size = self.env.task.size
        for index in range(min(3, size or 3)):
            one = self._reset(options={"index": index})
            self._reset(seed=index + 11)
            two = self._reset(options={"index": index})
            good = one[0].tolist() == two[0].tolist() and one[1] == two[1]
            fault = f"reset(options={{'index': {index}}}) gives two different problems"
            self.findings.expect(good, "index", fault, "Problem i is a function of i alone")
        if size is not None:
            call = lambda: self._reset(options={"index": size})  # noqa: E731
            advice = "Raise IndexOutOfRange"
            fault = f"index {size} of {size} problems raises none"
            self.findings.expect(
                _raised_message(call, IndexOutOfRange) != "", "index", fault, advice
            )

    def _over(self) -> None:
        """A step after the end, or before the first reset, raises ResetNeeded."""
        self._reset(seed=0)
        for _ in range(1000):
            if any(self._step(self._tokens("", False))[2:4]):
                break
        fault = "a step after the end of the episode raises no ResetNeeded"
        advice = "Raise gymnasium.error.ResetNeeded: the next step would be scored again"
        good = _raised_message(lambda: self._step(self._tokens("1", True)), ResetNeeded) != ""
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
            self._reset(seed=0)
            message = _raised_message(lambda: self._step(action), ValueError)  # noqa: B023
            fault = f"step({action!r}) raises no ValueError with the value in it"
            self.findings.expect(value in message, "out-of-space action", fault, advice)
            still = _raised_message(lambda: self._step(self._tokens("1", True)), ResetNeeded) == ""
            fault = f"after the refused step({action!r}) the episode is over"
            advice_after = "Check the action before anything changes"
            self.findings.expect(still, "out-of-space action", fault, advice_after)


def _raised_message(call: Callable[[], Any], kind: type[Exception]) -> str:
    """Return the message of the error of this kind that ``call`` raises, or ``""``."""
    try:
        call()
    except kind as error:
        return str(error) or kind.__name__
    except Exception:
        return ""
    return ""
