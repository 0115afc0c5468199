"""Text to tokens and back: the ``Tokenizer`` protocol, ``ByteTokenizer``, and chat framing.

Two rules hold everywhere. Nothing is ever decoded and encoded again: a context only grows. And
text that comes from tools or users is encoded with special tokens *split*, so that a tool result
that contains ``<|im_end|>`` cannot forge a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from .core import Message, Prompt
from .errors import TokenizerError


@runtime_checkable
class Tokenizer(Protocol):
    """The least a tokenizer must have. Any such object does, Hugging Face's included."""

    eos_token_id: int | None
    vocab_size: int

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


# Private-use characters mark places in a rendered template; contents may not hold them.
_MARKS = {0xE000: 0xFFFD, 0xE001: 0xFFFD, 0xE002: 0xFFFD}


class ByteTokenizer:
    """256 bytes and three special tokens, framed as ChatML. The default: it needs no model.

    Bytes that are not valid UTF-8 decode with U+FFFD, never with an error.
    """

    special_tokens = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    vocab_size = 256 + len(special_tokens)
    eos_token_id = 258  # <|im_end|>
    _split = re.compile("(" + "|".join(map(re.escape, special_tokens)) + ")")
    _ids = {text: 256 + i for i, text in enumerate(special_tokens)}

    def encode(self, text: str, split_special_tokens: bool = False) -> list[int]:
        """Return the UTF-8 bytes of ``text``; special tokens become one id unless split."""
        if split_special_tokens:
            return list(text.encode("utf-8", "replace"))
        ids: list[int] = []
        for piece in self._split.split(text):
            special = self._ids.get(piece)
            ids += [special] if special is not None else piece.encode("utf-8", "replace")
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        out, run = [], bytearray()
        for i in ids:
            if i < 256:
                run.append(i)
            else:
                out += [run.decode("utf-8", "replace"), self.special_tokens[i - 256]]
                run = bytearray()
        return "".join([*out, run.decode("utf-8", "replace")])

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        tokenize: bool = False,
        add_generation_prompt: bool = True,
    ) -> str:
        """Return the messages as ChatML text (the signature is Hugging Face's)."""
        turns = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages]
        return "".join(turns) + ("<|im_start|>assistant\n" if add_generation_prompt else "")

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ByteTokenizer)

    def __hash__(self) -> int:
        return hash(ByteTokenizer)


class Codec:
    """A tokenizer as the environments use it: prompts and turns to ids, responses to text.

    Args:
        tokenizer: ``None`` for ``ByteTokenizer``, a Hugging Face model name or folder, or any
            object with ``encode``, ``decode``, ``eos_token_id`` and ``vocab_size``.

    Raises:
        TokenizerError: the name cannot be loaded, or the object lacks one of the four.
    """

    def __init__(self, tokenizer: Any = None) -> None:
        self.tokenizer = _load(tokenizer)
        self.vocab_size = _vocab_size(self.tokenizer)
        self.eos_token_id: int | None = self.tokenizer.eos_token_id
        self._specials = _special_texts(self.tokenizer)
        self._find_special = re.compile("|".join(map(re.escape, self._specials)) or r"(?!)")
        self._huggingface = hasattr(self.tokenizer, "all_special_ids")
        self._template = bool(
            getattr(self.tokenizer, "chat_template", None)
            or isinstance(self.tokenizer, ByteTokenizer)
        )
        self.stop_tokens = frozenset(_stop_tokens(self.tokenizer, self._template))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``, special tokens included; never raises for ids in range."""
        if self._huggingface:
            text = self.tokenizer.decode(
                ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
            return str(text)
        return str(self.tokenizer.decode(ids))

    def response_text(self, ids: Sequence[int]) -> tuple[str, bool]:
        """Return (text without its end-of-turn token, whether it had one)."""
        ended = bool(ids) and ids[-1] in self.stop_tokens
        return self.decode(ids[:-1] if ended else ids), ended

    def encode_response(self, text: str) -> list[int]:
        """Return the ids of a response written by hand; special tokens in it count as such."""
        return self._encode([(text, True)])

    def encode_prompt(self, prompt: Prompt) -> list[int]:
        """Return the first observation; the only place where a BOS token may stand."""
        if isinstance(prompt, str):
            return self._bos() + self._encode([(prompt, not self._has_special(prompt))])
        return self._encode(self._framed(list(prompt)))

    def encode_reply(self, reply: str | Sequence[Message], chat: bool, ended: bool) -> list[int]:
        """Return the tokens that open the next turn: framing, ``reply``, framing.

        Args:
            reply: what the environment says; a string is a user message when ``chat``.
            chat: whether the prompt was chat messages (else plain text goes on as it is).
            ended: whether the response just given carried its own end-of-turn token.
        """
        if not chat:
            if not isinstance(reply, str):
                reply = "".join(message["content"] for message in reply)
            return self._encode([(reply, not self._has_special(reply))])
        messages = [Message(role="user", content=reply)] if isinstance(reply, str) else list(reply)
        ids = self._encode(self._framed(messages, after_assistant=True))
        return ids[1:] if ended and ids and ids[0] in self.stop_tokens else ids

    # -- framing ----------------------------------------------------------------------------

    def _framed(
        self, messages: list[Message], after_assistant: bool = False
    ) -> list[tuple[str, bool]]:
        """Render ``messages``; return (text, trusted) pieces. Untrusted text is encoded split."""
        held: list[str] = []
        if messages := [self._hold(message, held) for message in messages]:
            text = self._render(messages, after_assistant)
            pieces = re.split(r"\ue000(\d+)\ue001", text)
            if len(pieces) != 2 * len(held) + 1:
                raise TokenizerError("the chat template repeats or drops the content of a message")
        else:
            pieces = [self._render([], after_assistant)]
        return [
            (held[int(piece)], False) if i % 2 else (piece, True) for i, piece in enumerate(pieces)
        ]

    def _hold(self, message: Message, held: list[str]) -> Message:
        """Swap content that spells a special token for a mark, and keep the content aside."""
        content = message["content"].translate(_MARKS)
        if not self._has_special(content):
            return {**message, "content": content}
        held.append(content)
        return {**message, "content": f"\ue000{len(held) - 1}\ue001"}

    def _render(self, messages: list[Message], after_assistant: bool) -> str:
        if not after_assistant:
            return self._apply_template(messages)
        # What a template writes after an assistant's turn is what follows a mark in that turn.
        # This holds for any template that leaves the tail of a conversation alone, so there is
        # no table of templates to keep.
        mark = "\ue002"
        opening = [
            Message(role="user", content="x"),
            Message(role="assistant", content=mark),
        ]
        text = self._apply_template(opening + messages)
        if text.count(mark) != 1:
            raise TokenizerError(
                "the chat template does not show an assistant's turn as it is, so turns cannot be "
                "appended to it. Use another tokenizer= for this multi-turn environment."
            )
        return text.partition(mark)[2]

    def _apply_template(self, messages: Sequence[Message]) -> str:
        if not self._template:  # the MinT documents' form for models without a template
            names = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
            turns = [f"{names.get(m['role'], m['role'])}: {m['content']}" for m in messages]
            return "\n".join([*turns, "Assistant:"])
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
        except Exception as error:  # a template is foreign code: jinja2 errors, and any it raises
            raise TokenizerError(f"the chat template refuses this conversation: {error}") from error
        return str(text)

    # -- encoding ---------------------------------------------------------------------------

    def _has_special(self, text: str) -> bool:
        return self._find_special.search(text) is not None

    def _encode(self, pieces: Iterable[tuple[str, bool]]) -> list[int]:
        """Encode neighbouring trusted pieces as one text, untrusted ones with specials split."""
        ids: list[int] = []
        for text, trusted in pieces:
            if text:
                ids += self._encode_text(text, split=not trusted)
        return ids

    def _encode_text(self, text: str, split: bool) -> list[int]:
        text = text.encode("utf-8", "replace").decode()  # lone surrogates have no bytes
        if self._huggingface:
            return list(
                self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=split)
            )
        if isinstance(self.tokenizer, ByteTokenizer):
            return self.tokenizer.encode(text, split_special_tokens=split)
        return list(self.tokenizer.encode(text))

    def _bos(self) -> list[int]:
        if not self._huggingface:
            return []
        bos = self.tokenizer.bos_token_id
        return [bos] if bos is not None and self.tokenizer.encode("")[:1] == [bos] else []


def _load(tokenizer: Any) -> Any:
    if tokenizer is None:
        return ByteTokenizer()
    if isinstance(tokenizer, Codec):
        return tokenizer.tokenizer
    if isinstance(tokenizer, str):
        return _from_pretrained(tokenizer)
    missing = [
        name
        for name in ("encode", "decode", "eos_token_id", "vocab_size")
        if not hasattr(tokenizer, name)
    ]
    if missing:
        raise TokenizerError(
            f"tokenizer={tokenizer!r} lacks {', '.join(missing)}. Give a Hugging Face name or "
            "folder, or an object with encode, decode, eos_token_id and vocab_size."
        )
    return tokenizer


@lru_cache(maxsize=8)
def _from_pretrained(name: str) -> Any:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise TokenizerError(
            f"tokenizer={name!r} needs transformers: pip install 'mint-envs[local]'"
        ) from error
    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise TokenizerError(
            f"tokenizer={name!r} cannot be loaded ({str(error).splitlines()[0]}). "
            "Give a folder that holds a tokenizer, or a model name that this machine can reach."
        ) from error


def _vocab_size(tokenizer: Any) -> int:
    """Return one more than the highest id. Hugging Face's vocab_size leaves added tokens out."""
    added = len(tokenizer) if hasattr(tokenizer, "__len__") else 0
    return max(int(tokenizer.vocab_size), added)


def _special_texts(tokenizer: Any) -> list[str]:
    """Return the texts that the tokenizer turns into one id, longest first."""
    decoder = getattr(tokenizer, "added_tokens_decoder", None)
    texts = [str(token.content) for token in decoder.values()] if decoder else []
    texts += getattr(tokenizer, "special_tokens", ())
    return sorted({text for text in texts if text}, key=len, reverse=True)


def _stop_tokens(tokenizer: Any, template: bool) -> set[int]:
    """Return the ids that end a turn: eos, and the token a chat template closes a turn with."""
    stops = {tokenizer.eos_token_id} - {None}
    if template and hasattr(tokenizer, "convert_tokens_to_ids"):
        unknown = getattr(tokenizer, "unk_token_id", None)
        for text in ("<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<|endoftext|>"):
            token = tokenizer.convert_tokens_to_ids(text)
            if token is not None and token != unknown:
                stops.add(token)
    if isinstance(tokenizer, ByteTokenizer):
        stops.add(256)
    return {int(stop) for stop in stops}
