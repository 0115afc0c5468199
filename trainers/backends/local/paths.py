"""Which way a model is run: the fast path, the library's own, or none. Tried, never looked up.

A path is tried as it will be used: it draws two responses to each of two prompts, token by token,
and scores them together. Both are held against plain forward passes of the model, one text each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from transformers.utils import logging as hf_logging

from ...errors import BackendError
from .. import Datum, Floats, SampleRequest, SamplingParams
from . import attention
from .layers import WholeLayers
from .learning import Learner
from .memory import is_out_of_memory
from .model import Model
from .plain import PlainSampler
from .sampling import Sampler

#: Differences of log-probabilities that are rounding, in parts of the logits' own spread: the root
#: mean square in float32; in bfloat16, where a token may go to another expert, the median. A
#: mistake in attention or in a cache is far larger: it is in all tokens of a text.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.06}
#: Tokens of cache that fit where one token of training fits: about 50 for SmolLM2, more for larger.
_CACHED = 32
_PROMPTS = ("What is 4 + 5?\nIt is 9, as two and two are four.\nWhat is 2 + 2?\n", "Say yes.\n")
_LENGTH = 8
#: What is tried, in this order: attention, whether layers compute together, and layers whole.
_WAYS = (
    (attention.NAME, True, True),
    (attention.NAME, True, False),
    (attention.NAME, False, False),
    ("sdpa", False, False),
    ("eager", False, False),
)


@dataclass(frozen=True)
class Path:
    """How a model samples and learns."""

    name: str  # "fast" or "plain"
    attention: str
    sampler: Sampler | PlainSampler
    learner: Learner
    max_context: int
    difference: float  # of log-probabilities from plain forward passes, the largest seen
    notes: tuple[str, ...] = ()  # what a user should know, a line each


def choose(model: Model, budget: int) -> Path:
    """Return the first path that computes what the model computes.

    Args:
        model: what is to be run; its attention is set as the path needs it.
        budget: tokens of one training pass.

    Raises:
        BackendError: none does, in one line.
    """
    told = hf_logging.get_verbosity()
    hf_logging.set_verbosity_error()  # what it says of attention, kernels and caches is tried here
    try:
        with attention.LOCK:
            return _choose(model, budget)
    finally:
        hf_logging.set_verbosity(told)


def _choose(model: Model, budget: int) -> Path:
    limit = position_limit(model)
    model.stand_together()
    reasons: dict[str, str] = {}
    for kind, few, whole in _WAYS:
        fast = kind == attention.NAME
        body = _whole_layers(model) if whole else model.body
        if body is None:
            continue
        context = min(limit, model.window) if fast else limit
        try:
            model.set_attention(kind)
            path = _path(model, body, kind, few, budget, context, reasons)
            gap, largest, still = _tried(model, path)
        except BackendError:
            raise
        except Exception as error:  # of the model's own code, which has never heard of trees
            if is_out_of_memory(error):
                raise
            reasons[kind] = _reason(error, fast)
            continue
        if gap <= TOLERANCE[model.dtype]:
            notes = path.notes
            if still:
                names = ", ".join(still)
                notes += (f"LoRA weights of {names} get no gradient: they stay as they are.",)
            return replace(path, difference=largest, notes=notes)
        reasons[kind] = f"log-probabilities are off by {largest:.2g}"
    raise BackendError(
        f"base_model={model.name!r}: {model.kind} cannot be trained here. On the fast path, "
        f"{reasons[attention.NAME]}; on the plain path, beside its own forward pass, "
        f"{reasons['eager']}. Take another model."
    )


def _whole_layers(model: Model) -> WholeLayers | None:
    try:
        return WholeLayers(model.body, model.groups)
    except (AttributeError, ValueError):
        return None  # laid out in another way


def _reason(error: Exception, fast: bool) -> str:
    first = (str(error).splitlines() or [""])[0][:150]
    if isinstance(error, attention.UnknownAttentionError):
        return first
    told = f"{type(error).__name__}: {first}"
    return f"not all of its layers are attention as it knows ({told})" if fast else told


def _path(
    model: Model,
    body: Any,
    kind: str,
    few: bool,
    budget: int,
    context: int,
    reasons: dict[str, str],
) -> Path:
    fast = kind == attention.NAME
    learner = Learner(body, model.logits, model.device, budget, trees=fast, few=few)
    decode, room = model.tokenizer.decode, _CACHED * budget
    if fast:
        sampler = Sampler(body, model.logits, decode, model.device, room, few)
        return Path("fast", kind, sampler, learner, context, 0.0, model.notes)
    plain = PlainSampler(model.causal, model.vocab, decode, model.device, room)
    square = "" if kind == "sdpa" else ", memory grows with the square of the length if it attends"
    note = (
        f"{model.kind} takes the plain path ({reasons[attention.NAME]}): a row for each response, "
        f"with its prompt, and transformers' own cache. A step computes each prompt once for every "
        f"response{square}."
    )
    return Path("plain", kind, plain, learner, context, 0.0, (*model.notes, note))


def _tried(model: Model, path: Path) -> tuple[float, float, list[str]]:
    """Sample and learn on the path; hold both against plain passes.

    Returns:
        the difference in parts of the spread, the largest difference, and layers without gradient.
    """
    datums = _drawn(model, path)
    learned = path.learner.backward(datums, lambda lp, where: np.ones(len(lp)), lambda: None)
    still = _still(model)
    apart: list[Floats] = []
    spread: list[float] = []
    model.set_attention("eager")
    with torch.no_grad():
        for datum, lp in zip(datums, learned, strict=True):
            table = model.plain(datum.tokens).log_softmax(-1)
            acts = np.flatnonzero(datum.mask)
            rows = table[torch.from_numpy(acts - 1).to(table.device)]
            targets = torch.tensor(datum.tokens, device=table.device)[acts]
            wanted = rows.gather(1, targets[:, None])[:, 0].double().cpu().numpy()
            apart += [wanted - lp[acts], wanted - datum.logprobs[acts]]
            spread.append(float(rows.std(-1).mean()))
    model.set_attention(path.attention)
    gaps = np.concatenate(apart)
    if not np.isfinite(gaps).all():
        return float("inf"), float("inf"), still
    texts = np.abs(gaps).reshape(len(apart), -1)
    exact = model.dtype == torch.float32
    typical = np.sqrt(np.square(texts).mean(1)) if exact else np.median(texts, 1)
    return float(typical.max()) / (float(np.mean(spread)) or 1.0), float(texts.max()), still


def _drawn(model: Model, path: Path) -> list[Datum]:
    """Draw two responses to each of two prompts; return them as datums."""
    contexts = [_context(model, text, path.max_context - _LENGTH) for text in _PROMPTS]
    requests = [SampleRequest(context, 2) for context in contexts]
    groups = path.sampler.sample(requests, SamplingParams(_LENGTH, seed=1))
    datums = []
    for context, group in zip(contexts, groups, strict=True):
        for sample in group:
            mask = np.concatenate([np.zeros(len(context)), np.ones(_LENGTH)])
            old = np.concatenate([np.zeros(len(context)), sample.logprobs])
            datums.append(Datum(context + sample.tokens, mask, old, mask))
    return datums


def _context(model: Model, text: str, room: int) -> tuple[int, ...]:
    ids = tuple(model.tokenizer.encode(text))[: max(room, 1)]
    if max(ids) >= model.ids:
        raise BackendError(
            f"base_model={model.name!r}: its tokenizer writes the token {max(ids)}, and the model "
            f"knows those from 0 to {model.ids - 1}. This is another model's tokenizer."
        )
    return ids


def _still(model: Model) -> list[str]:
    """Take the gradients away; return the layers that had none, by their own names.

    By those, since an expert that no token went to is no layer that stays as it is.
    """
    still: set[str] = set()
    moved: set[str] = set()
    for name, weight in model.peft.named_parameters():
        if "lora_B" in name:
            layer = name.partition(".lora_B")[0].removesuffix(".base_layer").rpartition(".")[2]
            grown = weight.grad is not None and bool((weight.grad != 0).any())
            (moved if grown else still).add(layer)
        weight.grad = None
    return sorted(still - moved)


@torch.no_grad()
def position_limit(model: Model) -> int:
    """Return how long a text may be for its positions to be computed as those of a short one.

    Some rotary embeddings (longrope, dynamic) change what *all* positions mean when a text grows
    past a length. Then a response that crosses it is drawn with other numbers than it is learned
    with. Found by trying: three tokens at the beginning, and a fourth far away.
    """
    ids = torch.tensor([[1, 2, 3, 4]], device=model.device).clamp_(max=model.ids - 1)

    def first(last: int) -> torch.Tensor:
        positions = torch.tensor([[0, 1, 2, last]], device=model.device)
        hidden: torch.Tensor = model.body(input_ids=ids, position_ids=positions, use_cache=False)[0]
        return hidden[:, :3].float()

    model.set_attention("eager")
    try:
        near = first(3)
        if torch.allclose(first(model.positions - 1), near, rtol=1e-3, atol=1e-5):
            return model.positions
    except Exception:  # it has no such positions
        return model.positions
    low, high = 4, model.positions  # texts of ``low`` tokens are good, of ``high`` not
    while high - low > 1:
        middle = (low + high) // 2
        alike = torch.allclose(first(middle - 1), near, rtol=1e-3, atol=1e-5)
        low, high = (middle, high) if alike else (low, middle)
    first(3)  # such embeddings remember the longest text
    model.notes = (
        *model.notes,
        f"Texts of {model.kind} are held to {low} tokens: beyond, its rotary embedding changes for "
        "all positions, and a response would be learned with other numbers than it was drawn with.",
    )
    return low
