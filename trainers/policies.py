"""Models on this machine as policies: ``policy_of("local")``, ``policy_of("run:runs/x")``.

Found by ``mint_envs.policies``, which knows nothing of the trainer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from mint_envs.core import ChatStyle, Prompt
from mint_envs.errors import SettingError, require
from mint_envs.policies import ModelText, Texts, check_request
from mint_envs.tokens import Codec

from .backends import Backend, Sample, SampleRequest, SamplingParams
from .errors import TrainerError
from .stored import read_state, stored_config

log = logging.getLogger("mint_envs.policies")

Arguments = ParamSpec("Arguments")


class BackendPolicy:
    """The model of a backend, as it is.

    A prompt that leaves no room for ``max_tokens`` in the model's context has no responses: None.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.codec = Codec(backend.tokenizer)

    def __repr__(self) -> str:
        return f"BackendPolicy({self.backend.model!r})"

    def sample(
        self, prompts: Sequence[Prompt], n: int, max_tokens: int, temperature: float, seed: int
    ) -> Texts:
        """See ``mint_envs.policies.Policy``."""
        check_request(n, max_tokens, temperature)
        contexts = [tuple(self.codec.encode_prompt(prompt)) for prompt in prompts]
        longest = self.backend.max_context
        fits = [0 < len(ids) <= longest - max_tokens for ids in contexts]
        if not all(fits):
            log.warning("%d of %d prompts leave no room for %d tokens in a context of %s: None",
                        fits.count(False), len(fits), max_tokens, longest)  # fmt: skip
        requests = [SampleRequest(ids, n) for ids, fit in zip(contexts, fits, strict=True) if fit]
        stops = tuple(sorted(self.codec.stop_tokens))
        params = SamplingParams(max_tokens, temperature, (), stops, seed)
        groups = iter(self.backend.sample(requests, params) if requests else ())
        return [
            self._texts(next(groups), len(ids)) if fit else [None] * n
            for ids, fit in zip(contexts, fits, strict=True)
        ]

    @property
    def style(self) -> ChatStyle:
        """What the model's chat template can do, for ``Task.fitted``."""
        return self.codec.style

    def _texts(self, samples: Sequence[Sample], prompt_tokens: int) -> list[str | None]:
        texts: list[str | None] = []
        for one in samples:
            text, ended = self.codec.response_text(list(one.tokens))
            ids, many = one.tokens, len(one.tokens)
            texts.append(ModelText(text, not ended, prompt_tokens, many, ids, one.logprobs))
        return texts


def _policy(make: Callable[Arguments, Backend]) -> Callable[Arguments, BackendPolicy]:
    """Return a policy of the backend that is made; what the trainer refuses is a wrong setting."""

    @wraps(make)
    def made(*args: Arguments.args, **kwargs: Arguments.kwargs) -> BackendPolicy:
        try:
            return BackendPolicy(make(*args, **kwargs))
        except TrainerError as error:
            raise SettingError(str(error)) from error

    return made


@_policy
def local(
    model: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    threads: int | None = None,
) -> Backend:
    """Return a policy of a model on this machine.

    Args:
        model: a Hugging Face name or folder; None is the model that ``mint-grpo`` trains here.
        device: ``"cpu"``, ``"cuda"`` or ``"mps"``; None takes the best there is.
        dtype: ``"bfloat16"`` or ``"float32"``; None takes the faster one.
        threads: CPU threads; None takes all cores.

    Raises:
        SettingError: torch is missing, or the model or device cannot be used.
    """
    from .__main__ import local_backend

    return local_backend(model, device=device, dtype=dtype, threads=threads)


@_policy
def run(folder: str) -> Backend:
    """Return a policy of the model of a run directory, as its newest checkpoint has it.

    Raises:
        SettingError: the folder is no run, or the run was trained on a service.
    """
    from .__main__ import make_backend
    from .command import Command

    where = Path(folder)
    config = stored_config(where)
    require(
        config.backend in ("local", "bandit"),
        f"{folder} was trained with --backend {config.backend}, and its model is not on this "
        "machine: ask it at its address, policy_of('openai', model=..., base_url=...)",
    )
    read_state(where)
    return make_backend(Command(config, where, True, None, None))
