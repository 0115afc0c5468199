"""What a tokenizer must have, ``ByteTokenizer`` for when there is none, and how one is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .core import Message
from .errors import TokenizerError, first_line
from .hub import offline_if_unreachable


@runtime_checkable
class Tokenizer(Protocol):
    """The least a tokenizer must have. Any such object does, Hugging Face's included.

    Also used where there: ``apply_chat_template`` (without it chats are framed as ``User: ...``),
    and ``special_tokens``, the texts that become one id, which users and tools must not forge.
    """

    eos_token_id: int | None
    vocab_size: int

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


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
        """Return the text of ``ids``, special tokens included."""
        try:
            return bytearray(ids).decode("utf-8", "replace")  # half the time of bytes()
        except ValueError:  # there are special tokens among them
            return "".join(self._decode_pieces(ids))

    def _decode_pieces(self, ids: Sequence[int]) -> Iterable[str]:
        start = 0
        for place, i in enumerate(ids):
            if i >= 256:
                yield bytes(ids[start:place]).decode("utf-8", "replace")
                yield self.special_tokens[i - 256]
                start = place + 1
        yield bytes(ids[start:]).decode("utf-8", "replace")

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        tokenize: bool = False,
        add_generation_prompt: bool = True,
    ) -> str | list[int]:
        """Return the messages as ChatML, text or ids (the signature is Hugging Face's)."""
        turns = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages]
        text = "".join(turns) + ("<|im_start|>assistant\n" if add_generation_prompt else "")
        return self.encode(text) if tokenize else text

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ByteTokenizer)

    def __hash__(self) -> int:
        return hash(ByteTokenizer)


def load_tokenizer(tokenizer: Any) -> Any:
    """Return ``tokenizer``, loaded if it is a name or a folder; None is a ``ByteTokenizer``.

    Raises:
        TokenizerError: it cannot be loaded, or lacks what ``Tokenizer`` asks for.
    """
    if tokenizer is None:
        return ByteTokenizer()
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
    folder = Path(name).expanduser().is_dir()
    if not folder and (name.startswith(("/", ".", "~")) or name.count("/") > 1):
        raise TokenizerError(f"tokenizer={name!r}: there is no such folder (from {Path.cwd()})")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise TokenizerError(
            f"tokenizer={name!r} needs transformers: pip install 'mint-envs[local]'"
        ) from error
    unreachable = ""
    try:
        if folder:
            return AutoTokenizer.from_pretrained(Path(name).expanduser())
        with offline_if_unreachable() as unreachable:
            tokenizer = AutoTokenizer.from_pretrained(name)
            _fetch_generation_config(name)
            return tokenizer
    except Exception as error:  # many kinds, down to those of the parsers of its files
        why = f"{unreachable} cannot be reached" if unreachable else first_line(error)
        raise TokenizerError(
            f"tokenizer={name!r} cannot be loaded: {why}. "
            "Give a folder that holds a tokenizer, or a model name that this machine can reach."
        ) from error


def _fetch_generation_config(name: str) -> None:
    """Bring a model's generation config into the cache, if it has one and can be reached."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    with suppress(HfHubHTTPError, LocalEntryNotFoundError, OSError):
        hf_hub_download(name, _GENERATION)


def generation_ends(tokenizer: Any) -> tuple[int, ...]:
    """Return the ids that a model's generation config ends a text with; () if it is not at hand.

    The file lies beside the tokenizer's own, in a folder or in the cache of the hub.
    """
    name = getattr(tokenizer, "name_or_path", None)
    if not isinstance(name, str) or not name or not hasattr(tokenizer, "all_special_ids"):
        return ()
    return _generation_ends(name)


@lru_cache(maxsize=32)
def _generation_ends(name: str) -> tuple[int, ...]:
    path: Any = Path(name).expanduser() / _GENERATION
    if not path.parent.is_dir():
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            path = try_to_load_from_cache(name, _GENERATION)
        except HFValidationError:  # no name of a model
            return ()
    if not isinstance(path, str | Path) or not Path(path).is_file():
        return ()
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8")).get("eos_token_id")
    except (OSError, ValueError, AttributeError) as error:
        raise TokenizerError(f"{path} cannot be read: {first_line(error)}") from error
    ids = found if isinstance(found, list) else [found]
    return tuple(i for i in ids if isinstance(i, int) and not isinstance(i, bool))


_GENERATION = "generation_config.json"


def known_ids(tokenizer: Any) -> int:
    """Return one more than the highest id. Hugging Face's vocab_size leaves added tokens out."""
    added = len(tokenizer) if hasattr(tokenizer, "__len__") else 0
    return max(int(tokenizer.vocab_size), added)


def padded(size: int) -> int:
    """Return ``size`` rounded up to a multiple of 1024.

    A model's vocabulary is often padded beyond its tokenizer's (151,665 to 152,064), by an amount
    that the tokenizer does not know; a model may sample such an id, and that is no mistake.
    """
    return -(-size // 1024) * 1024


def special_tokens_of(tokenizer: Any) -> dict[str, int]:
    """Return the texts that become one id of their own, longest first.

    Added tokens that are plain text (runs of spaces, say) are not among them.
    """
    found: dict[str, int] = {}
    for i, token in (getattr(tokenizer, "added_tokens_decoder", None) or {}).items():
        text = str(token.content)
        if token.special or re.fullmatch(r"<.+>|\[.+\]", text):
            found[text] = int(i)
    if not hasattr(tokenizer, "all_special_ids"):  # not Hugging Face's
        for text in getattr(tokenizer, "special_tokens", ()):
            ids = tokenizer.encode(text)
            found |= {text: int(ids[0])} if len(ids) == 1 else {}
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def has_template(tokenizer: Any) -> bool:
    """Hugging Face tokenizers always have the method; chat_template says if there is one."""
    method = getattr(tokenizer, "apply_chat_template", None)
    return callable(method) and bool(getattr(tokenizer, "chat_template", True))
