"""``BanditBackend``: a test double that learns in a second, with no model.

Its policy is a table: for every context it has seen, one logit for each token of a small
alphabet. Sampling, log-probabilities and gradients are exact, in float64, so tests of the loop
can be exact too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mint_envs import ByteTokenizer
from mint_envs.atomic import whole_folder

from ..errors import BackendError
from ..losses import loss_terms
from . import (
    AdamParams,
    Backend,
    Datum,
    Floats,
    Sample,
    SampleRequest,
    SamplingParams,
    UpdateResult,
)

Context = tuple[int, ...]


class BanditBackend(Backend):
    """A tabular policy over a few tokens; see ``Backend`` for the verbs.

    Args:
        alphabet: characters it can write, beside the end of its turn.
        memory: how many last tokens of the context tell states apart; None: all.
        resume_from: a folder that ``save`` made.
        init_from: such a folder, of which the table alone is taken.
    """

    name = "bandit"
    model = "bandit (a table that writes digits, no model: rewards near 0 are to be expected)"

    def __init__(
        self,
        alphabet: str = "0123456789",
        memory: int | None = None,
        resume_from: str | Path | None = None,
        init_from: str | Path | None = None,
    ) -> None:
        self.tokenizer: Any = ByteTokenizer()
        self._memory = memory
        self._arms = [*alphabet.encode(), self.tokenizer.eos_token_id]
        self._index = {token: i for i, token in enumerate(self._arms)}
        self._table: dict[Context, Floats] = {}
        self._moments: dict[Context, tuple[Floats, Floats]] = {}
        self._steps = 0
        if resume_from is not None:
            self._restore(Path(resume_from))
        elif init_from is not None:
            self._restore(Path(init_from))
            self._moments, self._steps = {}, 0

    def sample(
        self, requests: Sequence[SampleRequest], params: SamplingParams
    ) -> list[list[Sample]]:
        rng = np.random.default_rng(params.seed)
        return [
            [self._respond(request.context, params, rng) for _ in range(request.n)]
            for request in requests
        ]

    def logprobs(self, datums: Sequence[Datum], base: bool = False) -> list[Floats]:
        if base:
            return [datum.mask * -float(np.log(len(self._arms))) for datum in datums]
        return [self._scored(datum)[0] for datum in datums]

    def update(
        self,
        datums: Sequence[Datum],
        loss_fn: str,
        loss_fn_config: dict[str, float],
        adam: AdamParams,
    ) -> UpdateResult:
        gradients: dict[Context, Floats] = {}
        logprobs, total = [], 0.0
        for datum in datums:
            acts = np.flatnonzero(datum.mask)
            lp, states, policies, arms = self._scored(datum)
            old, adv = datum.logprobs[acts], datum.advantages[acts]
            losses, slopes = loss_terms(loss_fn, lp[acts], old, adv, loss_fn_config)
            for state, policy, arm, loss, slope in zip(
                states, policies, arms, losses, slopes, strict=True
            ):
                total += float(loss)
                gradient = gradients.setdefault(state, np.zeros(len(self._arms)))
                gradient += slope * (np.eye(len(self._arms))[arm] - policy)
            logprobs.append(lp)
        self._adam_step(gradients, adam)
        norm = float(np.sqrt(sum((g**2).sum() for g in gradients.values())))
        return UpdateResult({"loss": total, "grad_norm": norm}, logprobs)

    def save(self, name: str, rolling: bool = False) -> tuple[str, str]:
        state = {
            "steps": self._steps,
            "table": [[list(k), v.tolist()] for k, v in self._table.items()],
            "moments": [[list(k), m.tolist(), v.tolist()] for k, (m, v) in self._moments.items()],
        }
        with whole_folder(Path(name)) as folder:
            (folder / "bandit.json").write_text(json.dumps(state))
        return name, name

    # -- inside ------------------------------------------------------------------------------

    def _respond(
        self, context: Context, params: SamplingParams, rng: np.random.Generator
    ) -> Sample:
        tokens: list[int] = []
        logprobs: list[float] = []
        while len(tokens) < params.max_tokens:
            logits = self._logits(self._state((*context, *tokens)))
            if params.temperature == 0:
                arm = int(np.argmax(logits))
            else:
                arm = int(rng.choice(len(logits), p=_softmax(logits / params.temperature)))
            tokens.append(self._arms[arm])
            logprobs.append(float(np.log(_softmax(logits)[arm])))
            if tokens[-1] == self.tokenizer.eos_token_id or tokens[-1] in params.stop_tokens:
                break
        return Sample(tuple(tokens), tuple(logprobs))

    def _scored(self, datum: Datum) -> tuple[Floats, list[Context], list[Floats], list[int]]:
        """Return log-probabilities of a datum; of each act its state, its policy and its arm."""
        acts = np.flatnonzero(datum.mask)
        states = [self._state(datum.tokens[:t]) for t in acts]
        policies = [_softmax(self._logits(state)) for state in states]
        if unknown := {datum.tokens[t] for t in acts} - self._index.keys():
            raise BackendError(f"the bandit does not know the token {min(unknown)}: it has digits")
        arms = [self._index[datum.tokens[t]] for t in acts]
        lp = np.zeros(len(datum.tokens))
        lp[acts] = [np.log(policy[arm]) for policy, arm in zip(policies, arms, strict=True)]
        return lp, states, policies, arms

    def _state(self, context: Context) -> Context:
        return context if self._memory is None else context[-self._memory :]

    def _logits(self, state: Context) -> Floats:
        return self._table.get(state, np.zeros(len(self._arms)))

    def _adam_step(self, gradients: dict[Context, Floats], adam: AdamParams) -> None:
        self._steps += 1
        first, second = adam.betas
        zero = np.zeros(len(self._arms))
        for state, gradient in gradients.items():
            m, v = self._moments.get(state, (zero, zero))
            m = first * m + (1 - first) * gradient
            v = second * v + (1 - second) * gradient**2
            self._moments[state] = (m, v)
            scaled = m / (1 - first**self._steps)
            spread = np.sqrt(v / (1 - second**self._steps)) + adam.eps
            old = self._logits(state)
            self._table[state] = old - adam.lr * (scaled / spread + adam.weight_decay * old)

    def _restore(self, folder: Path) -> None:
        try:
            state = json.loads((folder / "bandit.json").read_text())
            self._steps = state["steps"]
            self._table = {tuple(k): np.array(v) for k, v in state["table"]}
            self._moments = {tuple(k): (np.array(m), np.array(v)) for k, m, v in state["moments"]}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise BackendError(f"the checkpoint {folder} cannot be read: {error}") from error


def _softmax(logits: npt.NDArray[np.float64]) -> Floats:
    weights = np.exp(logits - logits.max())
    total: Floats = weights / weights.sum()
    return total
