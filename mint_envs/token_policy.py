"""A model at an address that is played token by token: prompts go as ids, and ids come back.

    policy = token_policy("Qwen/Qwen3-8B", "http://localhost:8000/v1", "Qwen/Qwen3-8B")

What a turn is, the tokenizer's chat template here says, as it does in training: nothing is decoded
and encoded again. vLLM and SGLang can do it; of an address that cannot, ``None`` is returned, and
the model is played by messages.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from .core import ChatStyle, Prompt
from .errors import SettingError
from .policies import ModelText, OpenAIPolicy, run_apart
from .tokens import Codec

log = logging.getLogger("mint_envs.policies")

#: What two tokenizers that are not the same hardly agree on.
_TELLING = "Two 1234567 tokenizers, naïve façade: {'x': [3.14]}\n\treturn größer"


class TokenPolicy(OpenAIPolicy):
    """A model at ``/completions`` of an address, asked by token ids.

    ``codec`` makes them; ``style`` is what its chat template can do. A prompt that is a text goes
    on as that text. Use ``token_policy``, which looks first whether the address can do it.

    Args:
        model, base_url, key, options, limits: as of ``OpenAIPolicy``. The ids that end a turn go
            along as ``stop_token_ids``.
        codec: of the tokenizer of the model.
    """

    def __init__(
        self, model: str, base_url: str, codec: Codec, key: str | None = None,
        options: Mapping[str, Any] | None = None, **limits: Any,
    ) -> None:  # fmt: skip
        super().__init__(model, base_url, key, options, **limits)
        self.codec = codec

    @property
    def style(self) -> ChatStyle:
        """What the chat template can do, for ``Task.fitted``."""
        return self.codec.style

    def _as_sent(self, prompt: Prompt) -> list[int]:
        return self.codec.encode_prompt(prompt)

    def _fields(
        self, prompt: Any, max_tokens: int, temperature: float, seed: int
    ) -> dict[str, Any]:
        fields = {
            "max_tokens": max_tokens, "stop_token_ids": sorted(self.codec.stop_tokens),
            **self._options, "model": self.model, "prompt": prompt, "temperature": temperature,
            "seed": seed % 2**31, "logprobs": 1, "return_token_ids": True,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value is not None}

    async def _ask_text(self, service: Any, client: Any, fields: Mapping[str, Any]) -> ModelText:
        found = await service.ask_tokens(client, fields)
        text, ended = self.codec.response_text(list(found.ids))
        return ModelText(
            text, found.cut and not ended, len(fields["prompt"]), len(found.ids),
            found.ids, found.logprobs,
        )  # fmt: skip

    def why_not(self) -> str:
        """Ask twice for one token; return why it cannot be played so, or ``""``.

        Raises:
            SettingError: the address cannot be reached, or has another tokenizer.
        """
        from .completions import MayPass, WillLast

        ids = self.codec.encode_prompt(_TELLING)
        try:
            by_ids = self._one(self._fields(ids, 1, 0.0, 0))
            by_text = self._one(self._fields(_TELLING, 1, 0.0, 0))
        except WillLast as error:
            return str(error)
        except MayPass as error:
            raise SettingError(f"{self.base_url} cannot be asked: {error}") from None
        if by_ids.prompt_ids is not None and list(by_ids.prompt_ids) != ids:
            return "it does not take the ids as they are"
        theirs = None if by_text.prompt_ids is None else _without(self.codec, by_text.prompt_ids)
        if theirs is not None and theirs != _without(self.codec, ids):
            raise SettingError(
                f"{self.codec.tokenizer!r:.80} is not the tokenizer of {self.model} at "
                f"{self.base_url}: they make other ids of the same text. Name that of the model"
            )
        return ""

    def _one(self, fields: Mapping[str, Any]) -> Any:
        async def ask() -> Any:
            service = self._service()
            async with service.client() as client:
                return await service.ask_tokens(client, fields)

        return run_apart(ask())


def _without(codec: Codec, ids: Sequence[int]) -> list[int]:
    """Return ids without a token that opens a text: a server adds it, or does not."""
    first = codec.encode_prompt("")
    return list(ids[len(first) :]) if list(ids[: len(first)]) == first else list(ids)


def token_policy(
    model: str, base_url: str, tokenizer: Any, key: str | None = None,
    options: Mapping[str, Any] | None = None, **limits: Any,
) -> TokenPolicy | None:  # fmt: skip
    """Return a policy that plays token by token, or None, with a warning: the address cannot.

    Args:
        model, base_url, key, options, limits: as of ``OpenAIPolicy``.
        tokenizer: that of the model: a Hugging Face name or folder, or an object.

    Raises:
        SettingError: a value out of range; the address cannot be reached, or it has another
            tokenizer.
        TokenizerError: the tokenizer cannot be loaded.
    """
    policy = TokenPolicy(model, base_url, Codec(tokenizer), key, options, **limits)
    if why := policy.why_not():
        log.warning("%s at %s is played by messages, not token by token: %s",
                    model, policy.base_url, why)  # fmt: skip
        return None
    return policy
