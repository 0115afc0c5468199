"""Text to tokens and back: prompts, turns and responses, framed as a chat template frames them.

Two rules hold everywhere. Nothing is ever decoded and encoded again: a context only grows. And
text that comes from tools or users is encoded with special tokens *split*, so that a tool result
that contains ``<|im_end|>`` cannot forge a turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

from .core import ChatStyle, Message, Prompt, TokenPrompt
from .errors import TokenizerError
from .tokenizers import (
    ByteTokenizer,
    has_template,
    known_ids,
    load_tokenizer,
    padded,
    special_tokens_of,
)

# Private-use characters mark places in a rendered template. A content that holds one itself is
# kept aside while the template is rendered, as is one that spells a special token.
_OPEN, _CLOSE, _HERE = "\ue000", "\ue001", "\ue002"
_RESULT = "result"
_MARKS = re.compile(f"[{_OPEN}{_CLOSE}{_HERE}]")


class Codec:
    """A tokenizer as the environments use it: prompts and turns to ids, responses to text.

    Args:
        tokenizer: ``None`` for ``ByteTokenizer``, a Hugging Face model name or folder, or any
            object with ``encode``, ``decode``, ``eos_token_id`` and ``vocab_size``.

    Raises:
        TokenizerError: the name cannot be loaded, or the object lacks one of the four.
    """

    def __init__(self, tokenizer: Any = None) -> None:
        own = isinstance(tokenizer, Codec)
        self.tokenizer = tokenizer.tokenizer if own else load_tokenizer(tokenizer)
        self._huggingface = hasattr(self.tokenizer, "all_special_ids")
        self._known = known_ids(self.tokenizer)
        self.vocab_size = padded(self._known) if self._huggingface else self._known
        self.eos_token_id: int | None = self.tokenizer.eos_token_id
        self._specials = special_tokens_of(self.tokenizer)
        self._find_special = re.compile("|".join(map(re.escape, self._specials)) or r"(?!)")
        self._bos = self._find_bos()
        self._template = has_template(self.tokenizer)
        # These end a turn that holds a call, in place of what ends any other.
        self._after_call = [self._specials[t] for t in _END_OF_CALL if t in self._specials]
        self.stop_tokens = frozenset(self._find_stop_tokens())

    @cached_property
    def style(self) -> ChatStyle:
        """What the tokenizer's chat template can do beyond turns of user and assistant."""
        template = getattr(self.tokenizer, "chat_template", None) if self._template else None
        if not isinstance(template, str):
            return ChatStyle()
        return ChatStyle(
            template, bool(re.search(r"\btools\b", template)), self._frames_results(template)
        )

    def _frames_results(self, template: str) -> bool:
        """A template that knows of tools frames the role ``tool``, if it does not refuse it."""
        if not re.search(r"tool|ipython", template):
            return False  # it may print the role, as any; the model has never seen it
        try:
            text = self._after_assistant([Message(role="tool", content=_RESULT)])
        except TokenizerError:
            return False
        return text.count(_RESULT) == 1

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``, special tokens included; never raises for ids in range."""
        if not self._huggingface:
            return str(self.tokenizer.decode(ids))
        if ids and max(ids) >= self._known:  # padding of the model's vocabulary: no text
            ids = [i for i in ids if i < self._known]
        text = self.tokenizer.decode(
            ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return str(text)

    def response_text(self, ids: Sequence[int]) -> tuple[str, bool]:
        """Return (text without its end-of-turn token, whether it had one)."""
        ended = bool(ids) and ids[-1] in self.stop_tokens
        return self.decode(ids[:-1] if ended else ids), ended

    def encode_response(self, text: str) -> list[int]:
        """Return the ids of a response written by hand; special tokens in it count as such."""
        return self._encode([(text, True)])

    def encode_prompt(self, prompt: Prompt) -> list[int]:
        """Return the first observation; the only place where a BOS token may stand.

        Raises:
            TokenizerError: the chat template refuses the messages.
        """
        if isinstance(prompt, TokenPrompt):
            return self.checked(prompt.tokens_for(self.tokenizer))
        if isinstance(prompt, str):
            return self._bos + self._encode([(prompt, False)])
        return self._encode(self._framed(prompt, self._apply_template))

    def encode_reply(
        self, reply: str | Sequence[Message], chat: bool, last: int | None = None
    ) -> list[int]:
        """Return the tokens that open the next turn: framing, ``reply``, framing.

        Args:
            reply: what the environment says; a string is a user message when ``chat``.
            chat: whether the prompt was chat messages (else plain text goes on as it is).
            last: the last token of the response just given. If that closes the turn, as the
                template does, it is not written twice.

        Raises:
            TokenizerError: the chat template refuses the messages.
        """
        if not chat:
            if not isinstance(reply, str):
                reply = "".join(message["content"] for message in reply)
            return self._encode([(reply, False)])
        messages = [Message(role="user", content=reply)] if isinstance(reply, str) else reply
        ids = self._encode(self._framed(messages, self._after_assistant))
        close = self._closing(ids)
        closed = close is not None and last in (ids[close], *self._after_call)
        return ids[close + 1 :] if close is not None and closed else ids

    # -- framing ----------------------------------------------------------------------------

    def _framed(
        self, messages: Sequence[Message], render: Callable[[Sequence[Message]], str]
    ) -> list[tuple[str, bool]]:
        """Render ``messages``; return (text, trusted) pieces. Untrusted text is encoded split."""
        held: list[str] = []
        text = render([self._hold(message, held) for message in messages])
        pieces = re.split(f"{_OPEN}(\\d+){_CLOSE}", text)
        order = [int(place) for place in pieces[1::2]]
        if sorted(order) != list(range(len(held))):
            raise TokenizerError(
                "the chat template repeats, drops or moves the content of a message, so that text "
                f"that spells a special token cannot be told from framing. {_OTHER}"
            )
        pieces[1::2] = [held[place] for place in order]
        return [(piece, i % 2 == 0) for i, piece in enumerate(pieces)]

    def _hold(self, message: Message, held: list[str]) -> Message:
        """Keep a content that is not plain text aside, and put a mark in its place."""
        own = message.get("trusted", 0)
        ours, content = message["content"][:own], message["content"][own:]
        found: Message = {**message, "content": ours + self._held(content, held)}
        if "tools" in message:
            found["tools"] = [self._hold_json(tool, held) for tool in message["tools"]]
        return found

    def _held(self, content: str, held: list[str]) -> str:
        if not (self._has_special(content) or _MARKS.search(content)):
            return content
        body = content.strip()  # white space stays, for a template that trims it
        before, _, after = content.partition(body)
        held.append(body)
        return f"{before}{_OPEN}{len(held) - 1}{_CLOSE}{after}"

    def _hold_json(self, value: Any, held: list[str]) -> Any:
        """Keep aside the strings of a tool that spell special tokens; they are printed as JSON."""
        if isinstance(value, Mapping):
            items = value.items()
            return {self._hold_json(k, held): self._hold_json(item, held) for k, item in items}
        if isinstance(value, list | tuple):
            return [self._hold_json(item, held) for item in value]
        if isinstance(value, str) and (self._has_special(value) or _MARKS.search(value)):
            held.append(json.dumps(value, ensure_ascii=False)[1:-1])
            return f"{_OPEN}{len(held) - 1}{_CLOSE}"
        return value

    def _after_assistant(self, messages: Sequence[Message]) -> str:
        """Render what a template writes after an assistant's turn, then ``messages``.

        That is what follows a mark in such a turn. It holds for any template that leaves the tail
        of a conversation alone, so there is no table of templates to keep.
        """
        opening = [Message(role="user", content="x"), Message(role="assistant", content=_HERE)]
        text = self._apply_template([*opening, *messages])
        if text.count(_HERE) != 1:
            raise TokenizerError(
                "the chat template does not show an assistant's turn as it is, so turns cannot be "
                f"appended to it. {_OTHER}"
            )
        return text.partition(_HERE)[2]

    def _apply_template(self, messages: Sequence[Message]) -> str:
        if not self._template:  # the MinT documents' form for models without a template
            names = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}
            turns = [f"{names.get(m['role'], m['role'])}: {m['content']}" for m in messages]
            return "\n".join([*turns, "Assistant:"])
        try:
            tools = [tool for message in messages for tool in message.get("tools", ())]
            text = self.tokenizer.apply_chat_template(
                [{k: v for k, v in m.items() if k not in _OURS} for m in messages],
                tokenize=False,
                add_generation_prompt=True,
                **({"tools": tools} if tools else {}),
            )
        except Exception as error:  # a template is foreign code: jinja2 errors, and any it raises
            roles = ", ".join(message["role"] for message in messages)
            raise TokenizerError(
                f"the chat template refuses messages of the roles {roles}: {error}. {_OTHER}"
            ) from error
        return str(text)

    def _closing(self, ids: Sequence[int]) -> int | None:
        """Return where the token that closes an assistant's turn stands: first but for space."""
        for place, i in enumerate(ids[:4]):
            if i in self._specials.values():
                return place
            if self.decode([i]).strip():
                return None
        return None

    def _find_stop_tokens(self) -> set[int]:
        """Return the ids that end a turn: eos, and the token the template closes a turn with."""
        found = {self.eos_token_id} | {
            self._specials[text] for text in _END_OF_TEXT if text in self._specials
        }
        found.update(self._after_call)
        if self._template:
            try:
                ids = self._encode([(self._after_assistant([]), True)])
            except TokenizerError:  # told when a turn is really to be appended
                ids = []
            close = self._closing(ids)
            found |= {None if close is None else ids[close]}
        return {int(i) for i in found if i is not None}

    # -- encoding ---------------------------------------------------------------------------

    def checked(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a prompt that somebody else encoded.

        Raises:
            TokenizerError: one is no token id.
        """
        for i in ids:
            if isinstance(i, bool) or not isinstance(i, Integral) or not 0 <= i < self.vocab_size:
                raise TokenizerError(
                    f"a prompt holds {i!r}, which is no token id in [0, {self.vocab_size}). "
                    "Encode it with the tokenizer that make_prompt is given."
                )
        return [int(i) for i in ids]

    def _has_special(self, text: str) -> bool:
        return self._find_special.search(text) is not None

    def _encode(self, pieces: Iterable[tuple[str, bool]]) -> list[int]:
        """Encode (text, trusted) pieces one by one; untrusted ones give no special token."""
        ids: list[int] = []
        for text, trusted in pieces:
            if text:
                if not text.isascii():
                    text = text.encode("utf-8", "replace").decode()  # lone surrogates: no bytes
                plain = trusted or not self._has_special(text)
                ids += self._encode_text(text) if plain else self._encode_split(text)
        return ids

    def _encode_text(self, text: str, **options: Any) -> list[int]:
        if self._huggingface:
            options["add_special_tokens"] = False
        return list(self.tokenizer.encode(text, **options))

    def _encode_split(self, text: str) -> list[int]:
        """Encode text that spells special tokens as the ordinary characters that it is made of."""
        if self._huggingface or isinstance(self.tokenizer, ByteTokenizer):
            ids = self._encode_text(text, split_special_tokens=True)
            if not set(self._specials.values()).intersection(ids):
                return ids
        # Not every tokenizer can split them: encode what is before and after a first character.
        ids, start = [], 0
        for found in self._find_special.finditer(text):
            ids += self._encode_text(text[start : found.start() + 1])
            start = found.start() + 1
        return ids + self._encode_text(text[start:])

    def _find_bos(self) -> list[int]:
        """Return the BOS token if the tokenizer itself puts one in front of a text."""
        if not self._huggingface:
            return []
        bos = self.tokenizer.bos_token_id
        return [bos] if bos is not None and self.tokenizer.encode("")[:1] == [bos] else []


_OTHER = "Use another tokenizer=, or a setting of the task with other messages."

#: Tokens that end a text for models whose turns end with another.
_END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>")
_END_OF_CALL = ("<|eom_id|>", "<|call|>")

#: Keys of a message that are for us, not for the template.
_OURS = ("trusted", "tools")
