"""The settings of a judge, checked, and the panel that they make."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...errors import SettingError, require
from ...process_local import ProcessLocal
from .cache import Verdicts
from .panel import Panel
from .port import Judge

RUBRIC = (
    "The answer does what the request asks, follows every instruction in it, is true, and is clear "
    "and complete without padding."
)
CHOICES = "bad, poor, fair, good, excellent"
KEY_ENV = "MINT_JUDGE_API_KEY"
MODES = ("score", "pairwise")
_MOST_CRITERIA = 20
BACKOFF_S = 0.5  # the first pause before a request is made again

_NEEDED = ("httpx", "tenacity", "platformdirs")
#: Fields of a request that are not the user's to set: one answer, all of it, to our messages.
_RESERVED = ("messages", "model", "stream", "n")
#: Names, at any depth, of what is not to be read by others; ``max_tokens`` is none.
_SECRET = re.compile(
    r'"[^"]*(?:api[-_]?key|authorization|password|secret|credential|(?:access|auth|bearer)[-_]?token)'
    r'[^"]*": ',
    re.IGNORECASE,
)


@dataclass(frozen=True)
class JudgeSettings:
    """Who judges and how. See ``ChatTask`` for the settings one by one.

    Raises:
        SettingError: a value out of range, or a package that is missing. No message shows a key.
    """

    judge: Any
    model: str | None
    rubric: str | None
    mode: str
    choices: str
    cache: str | None
    key_env: str
    concurrency: int
    retries: int
    timeout_s: float
    options: Mapping[str, Any] | None
    criteria: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        require(self.mode in MODES, f"judge_mode={self.mode!r}: 'score' or 'pairwise'")
        names = self.names
        require(
            len(names) >= 2 and all(names) and len(set(names)) == len(names),
            f"judge_choices={self.choices!r}: two or more different ones, divided by commas, from "
            "worst to best",
        )
        self._check_criteria()
        require(self.rubric is None or self.rubric.strip() != "", "rubric is blank: leave it out")
        # No value in this message: whoever gives the key itself here would find it in a log.
        require(
            re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.key_env) is not None,
            "judge_key_env must be the name of an environment variable, not the key that it holds",
        )
        require(self.concurrency >= 1, f"judge_concurrency={self.concurrency} must be 1 or more")
        require(0 <= self.retries <= 100, f"judge_retries={self.retries} must be from 0 to 100")
        require(
            0 < self.timeout_s <= 86400,
            f"judge_timeout_s={self.timeout_s} must be above 0, seconds",
        )
        if isinstance(self.judge, str):
            self._check_url(self.judge)
        else:
            require(isinstance(self.judge, Judge), f"judge={self.judge!r}: a URL, or a Judge")
        self.panel()

    @property
    def names(self) -> tuple[str, ...]:
        """The choices, from worst to best."""
        return tuple(name.strip() for name in self.choices.split(","))

    @property
    def nondeterministic(self) -> bool:
        """Whether a reward may differ between calls: a live judge, or one that sees the group."""
        scripted = not getattr(self.judge, "nondeterministic", True)
        return self.mode == "pairwise" or not scripted

    def panel(self) -> Panel:
        """Return the judge with its rubric and its memory. What it opens is shared, and not ours:

        settings are plain values, so that a task can be pickled.
        """
        rubric = (self.rubric or RUBRIC).strip()
        criteria = tuple((self.criteria or {}).items())
        return Panel(self._judge(), self._verdicts(), rubric, self.names, criteria)

    def _check_criteria(self) -> None:
        if self.criteria is None:
            return
        given = self.criteria
        require(self.mode == "score", "judge_criteria is for judge_mode='score'")
        require(
            isinstance(given, Mapping) and 0 < len(given) <= _MOST_CRITERIA,
            f"judge_criteria={given!r}: an object of 1 to {_MOST_CRITERIA} criteria, each with its "
            "weight",
        )
        for name, weight in given.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            require(
                isinstance(name, str) and name.strip() != "" and name not in ("gate", "judge"),
                f"judge_criteria: {name!r} must be a text that says what is judged",
            )
            require(
                number and 0 < weight < 1e6,
                f"judge_criteria: the weight of {name!r} is {weight!r}; it must be above 0",
            )

    def _judge(self) -> Judge:
        if not isinstance(self.judge, str):
            judge: Judge = self.judge
            return judge
        from .http import Endpoint, http_judge

        return http_judge(
            Endpoint(
                self.judge.rstrip("/").removesuffix("/chat/completions"),
                str(self.model),
                self.key_env,
                int(self.concurrency),
                int(self.retries),
                float(self.timeout_s),
                BACKOFF_S,
                self._options(),
            )
        )

    def _verdicts(self) -> Verdicts:
        """Return the memory: on disk; none for a judge that is an object, unless asked for."""
        live = isinstance(self.judge, str)
        if self.cache == "off" or (self.cache is None and not live):
            return _unkept.get("" if live else id(self.judge))
        if self.cache is not None:
            return _kept.get(Path(self.cache).expanduser().absolute())
        from platformdirs import user_cache_path

        return _kept.get(user_cache_path("mint-envs") / "judge")

    def _check_url(self, url: str) -> None:
        missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
        require(not missing, f"judge={url!r} needs: pip install 'mint-envs[judge]'")
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good, parts = False, urlsplit("")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise SettingError(
                "judge holds a user name, a password or a query: give the address alone, and the "
                f"key in the environment variable {self.key_env}"
            )
        require(good, f"judge={url!r} must be an address such as 'http://localhost:8000/v1'")
        require(
            bool(self.model and self.model.strip()),
            f"judge={url!r} needs judge_model, the name of the model there",
        )
        self._options()

    def _options(self) -> str:
        given = self.options or {}
        require(isinstance(given, Mapping), f"judge_options={given!r} must be a JSON object")
        for name in _RESERVED:
            require(name not in given, f"judge_options may not set {name!r}")
        try:
            text = json.dumps(dict(given), sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SettingError(f"judge_options is no JSON object: {error}") from error
        # Settings stand in the files of a run. No value in this message either.
        key = os.environ.get(self.key_env, "").strip()
        require(
            not (_SECRET.search(text) or (len(key) >= 8 and key in text)),
            "judge_options holds a key or a password: give it in the environment variable "
            f"{self.key_env} instead",
        )
        return text


#: By folder; and, where nothing is kept on disk, by judge.
_kept = ProcessLocal(Verdicts)
_unkept: ProcessLocal[Verdicts] = ProcessLocal(lambda owner: Verdicts(None))
