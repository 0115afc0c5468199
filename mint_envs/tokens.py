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
from .rendering import rendered_freely
from .templates import SENTINEL, ChatTemplate, stub_tool
from .tokenizers import (
    ByteTokenizer,
    generation_ends,
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
        self._system_fits: dict[bool, bool] = {}
        # Each of these ends a turn in place of what the template ends it with.
        self._closers = self._ids_of((*_END_OF_CALL, *self._written_ends()))
        self.stop_tokens = frozenset(self._find_stop_tokens())

    @cached_property
    def style(self) -> ChatStyle:
        """What the tokenizer's chat template can do beyond turns of user and assistant."""
        if self.chat is None:
            return ChatStyle()
        source = self.chat.source
        return ChatStyle(
            source, self.chat.lists_tools, self._frames_results(source), chat=self.chat
        )

    @cached_property
    def chat(self) -> ChatTemplate | None:
        """The tokenizer's chat template, if its text is known."""
        found = getattr(self.tokenizer, "chat_template", None) if self._template else None
        if isinstance(found, Mapping):  # several by name; the one for tools is what tools get
            found = found.get("tool_use", found.get("default"))
        if not isinstance(found, str):
            return None
        key = (found, *self._specials, str(getattr(self.tokenizer, "special_tokens_map", "")))
        if key not in _TEMPLATES:
            if len(_TEMPLATES) >= _MOST_TEMPLATES:
                _TEMPLATES.clear()
            _TEMPLATES[key] = ChatTemplate(self._rendered, found, self._specials, self._names)
        return _TEMPLATES[key]

    def _frames_results(self, template: str) -> bool:
        """A template that knows of tools frames the role ``tool``, if it does not refuse it."""
        if not re.search(r"tool|ipython", template):
            return False  # it may print the role, as any; the model has never seen it
        try:
            text = self._after_assistant([Message(role="tool", content=_RESULT)] * 2)
        except TokenizerError:
            return False
        return text.count(_RESULT) == 2

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

    def encode_answer(self, text: str, chat: bool) -> list[int]:
        """Return the ids of a whole response as a model should write it: text and end of turn.

        Args:
            text: what is said; special tokens in it count as such.
            chat: whether the prompt was chat messages (else the end is that of a text).

        Raises:
            TokenizerError: the tokenizer has nothing that ends a turn.
        """
        ids = self.encode_response(text)
        if chat and self._template:
            after = self._encode([(self._after_assistant([]), True)])
            close = self._closing(after)
            if close is not None:
                return ids + after[: close + 1]
        if self.eos_token_id is None:
            raise TokenizerError(f"the tokenizer has no token that ends a response. {_OTHER}")
        return [*ids, self.eos_token_id]

    def encode_prompt(self, prompt: Prompt) -> list[int]:
        """Return the first observation; the only place where a BOS token may stand.

        Raises:
            TokenizerError: the chat template refuses the messages.
        """
        if isinstance(prompt, TokenPrompt):
            return self.checked(prompt.tokens_for(self.tokenizer))
        if isinstance(prompt, str):
            return self._bos + self._encode([(prompt, False)])
        return self._encode(self._framed(self.fitting(prompt), self._apply_template))

    def fitting(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return messages as the template has a place for them: some have none for the system's."""
        return folded(messages) if self._folds(messages) else messages

    def encode_reply(
        self,
        reply: str | Sequence[Message],
        chat: bool,
        last: int | None = None,
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
        of_calls = bool(messages) and "tool_call_id" in messages[0]
        render = self._after_calls if of_calls else self._after_assistant
        ids = self._encode(self._framed(messages, render))
        close = self._closing(ids)
        if close is None or last is None:
            return ids
        ends_it = ids[close] in self._closers or last in self._ids_of(_END_OF_CALL)
        closed = last == ids[close] or (ends_it and last in self._closers)
        return ids[close + 1 :] if closed else ids

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
        own, found = message.get("trusted", 0), message
        if message["content"]:  # that of a message that calls may be None
            ours, content = message["content"][:own], message["content"][own:]
            found = {**message, "content": ours + self._held(content, held)}
        if "tools" in message:
            found = {**found, "tools": [self._hold_json(tool, held) for tool in message["tools"]]}
        aside: list[str] = []
        self._hold_json(message.get("tool_calls"), aside)
        if aside:
            raise TokenizerError(f"a call in the prompt spells a special token: {aside[0][:80]!r}")
        return found

    def _held(self, content: str, held: list[str]) -> str:
        if not self._must_be_held(content):
            return content
        body = content.strip()  # white space stays, for a template that trims it
        before, _, after = content.partition(body)
        held.append(body)
        return f"{before}{_OPEN}{len(held) - 1}{_CLOSE}{after}"

    def _must_be_held(self, text: str) -> bool:
        return self._has_special(text) or _MARKS.search(text) is not None or SENTINEL in text

    def _hold_json(self, value: Any, held: list[str]) -> Any:
        """Keep aside the strings of a tool that spell special tokens; they are printed as JSON."""
        if isinstance(value, Mapping):
            items = value.items()
            return {self._hold_json(k, held): self._hold_json(item, held) for k, item in items}
        if isinstance(value, list | tuple):
            return [self._hold_json(item, held) for item in value]
        if isinstance(value, str) and self._must_be_held(value):
            held.append(json.dumps(value, ensure_ascii=False)[1:-1])
            return f"{_OPEN}{len(held) - 1}{_CLOSE}"
        return value

    def _folds(self, messages: Sequence[Message]) -> bool:
        """Tell whether the template has no place for a first message of the system's."""
        if len(messages) < 2 or messages[0]["role"] != "system" or self.chat is None:
            return False
        with_tools = bool(messages[0].get("tools"))
        if with_tools not in self._system_fits:
            self._system_fits[with_tools] = self._shows_system(with_tools)
        return not self._system_fits[with_tools]

    def _shows_system(self, with_tools: bool) -> bool:
        """Tell whether the template prints a system's message, and where it stays later on."""
        tools = [stub_tool("tool")] if with_tools else []
        request = {"role": "user", "content": _REQUEST}
        system = {"role": "system", "content": _RULES}
        answer = {"role": "assistant", "content": "x"}
        try:
            text = self._rendered([system, request], tools, True)
        except TokenizerError:
            return not self._renders([request], tools)  # perhaps it refuses more than that
        try:
            later = self._rendered([system, request, answer, request], tools, True)
        except TokenizerError:
            later = text
        stays = _RULES in text and later.find(_RULES) == text.find(_RULES)
        return stays and (self.chat is None or self.chat.system_is_harmless)

    def _renders(self, messages: Sequence[Mapping[str, Any]], tools: Any) -> bool:
        try:
            self._rendered(messages, tools, True)
        except TokenizerError:
            return False
        return True

    def _after_calls(self, messages: Sequence[Message]) -> str:
        """Render what a template writes after an assistant's calls: the results first."""
        assert self.chat is not None
        return self.chat.after_calls([_for_template(m) for m in messages])

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
        tools = [tool for message in messages for tool in message.get("tools", ())]
        return self._rendered([_for_template(message) for message in messages], tools, True)

    def _rendered(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        prompt: bool,
    ) -> str:
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=prompt,
                **({"tools": list(tools)} if tools else {}),
            )
        except Exception as error:  # a template is foreign code: jinja2 errors, and any it raises
            if type(error).__name__ == "SecurityError" and self.chat is not None:
                return self._rendered_freely(messages, tools, prompt)
            roles = ", ".join(message["role"] for message in messages)
            raise TokenizerError(
                f"the chat template refuses messages of the roles {roles}: {error}. {_OTHER}"
            ) from error
        return str(text)

    def _rendered_freely(self, messages: Any, tools: Any, prompt: bool) -> str:
        """Render a template that changes lists; the sandbox of transformers forbids that."""
        assert self.chat is not None
        return rendered_freely(self.chat.source, self._names, messages, tools, prompt)

    @property
    def _names(self) -> dict[str, Any]:
        """What a template may ask of its tokenizer."""
        return dict(getattr(self.tokenizer, "special_tokens_map", {}))

    def _closing(self, ids: Sequence[int]) -> int | None:
        """Return where the token that closes an assistant's turn stands: first but for space."""
        for place, i in enumerate(ids[:4]):
            if i in self._specials.values():
                return place
            if self.decode([i]).strip():
                return None
        return None

    def _find_stop_tokens(self) -> set[int]:
        """Return the ids that end a turn: eos, and what template and generation config say."""
        found = {self.eos_token_id, *self._ids_of((*_END_OF_TEXT, *_END_OF_CALL))}
        found.update(i for i in generation_ends(self.tokenizer) if 0 <= i < self._known)
        if self.chat is not None:
            ends = self.chat.ends
            found.update(self._ids_of((ends.call, *ends.answers)))
        elif self._template:
            found |= self._closing_of_template()
        return {int(i) for i in found if i is not None}

    def _closing_of_template(self) -> set[int | None]:
        """Return the token that closes a turn, of a template whose text is not known."""
        try:
            ids = self._encode([(self._after_assistant([]), True)])
        except TokenizerError:  # told when a turn is really to be appended
            return set()
        close = self._closing(ids)
        return {None if close is None else ids[close]}

    def _written_ends(self) -> tuple[str, ...]:
        """Return the marks with which the template itself closes a turn, and opens none."""
        if self.chat is None:
            return ()
        ends = self.chat.ends
        return (*([ends.call] if ends.written else ()), *self.chat.written_answer_ends)

    def _ids_of(self, texts: Iterable[str]) -> frozenset[int]:
        return frozenset(self._specials[text] for text in texts if text in self._specials)

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

_RULES, _REQUEST = "Rulewords", "Requestwords"

#: What was learned of templates, which many environments share; cleared when it is full.
_TEMPLATES: dict[tuple[str, ...], ChatTemplate] = {}
_MOST_TEMPLATES = 32


def _for_template(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in _OURS}


def folded(messages: Sequence[Message]) -> list[Message]:
    """Return messages with the system's first one put in front of the next."""
    system, first, *rest = messages
    whole: Message = {**system, "role": first["role"]}
    whole["content"] = f"{system['content']}\n\n{first['content']}"
    return [whole, *rest]
