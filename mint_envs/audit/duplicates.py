"""Problems that occur twice: word for word, or nearly."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 3  # words
_HASHES, _ROWS = 96, 3  # bands of three: pairs above 0.8 are found with near certainty
_CROWD = 30  # members of a bucket
_NEAR = 0.8  # Jaccard of the shingles


@dataclass(frozen=True, slots=True)
class Twin:
    """Problem ``later`` repeats ``earlier``; ``likeness`` is 1.0 if word for word."""

    later: int
    earlier: int
    likeness: float


def twins(texts: Sequence[str], others: Sequence[str] | None = None) -> list[Twin]:
    """Return the repeats in ``texts``, or with ``others`` what of ``texts`` occurs there.

    Case and spaces aside; near ones share 80 % of their triples of words and signs, and every
    number, since the same question about other numbers is another question. A later problem is
    named once, with the first that it repeats.
    """
    pool = list(texts) if others is None else [*others, *texts]
    first = 0 if others is None else len(others)
    words = [_WORD.findall(text.lower()) for text in pool]
    found: dict[int, Twin] = {}
    for earlier, later in sorted(_candidates(words)):
        if later < first or (others is not None and earlier >= first) or later in found:
            continue
        likeness = _likeness(words[earlier], words[later])
        if likeness >= _NEAR:
            found[later] = Twin(later - first, earlier, likeness)
    return list(found.values())


def _likeness(one: list[str], two: list[str]) -> float:
    """Return 1.0 for the same words, else the Jaccard likeness below 1; 0 if numbers differ."""
    if one == two:
        return 1.0
    if sorted(filter(str.isdigit, one)) != sorted(filter(str.isdigit, two)):
        return 0.0
    left, right = _shingles(one), _shingles(two)
    return min(0.999, len(left & right) / max(1, len(left | right)))


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))}


def _candidates(words: Sequence[list[str]]) -> set[tuple[int, int]]:
    """Return the pairs (earlier, later) that may be alike: by the same words, or by MinHash."""
    buckets: dict[object, list[int]] = defaultdict(list)
    for number, one in enumerate(words):
        buckets[" ".join(one)].append(number)
    rng = np.random.default_rng(0)
    factors = rng.integers(1, 1 << 64, (2, _HASHES), dtype=np.uint64) | np.uint64(1)
    for number, one in enumerate(words):
        signature = _signature(_shingles(one), factors)
        for band in range(0, _HASHES, _ROWS):
            buckets[(band, signature[band : band + _ROWS].tobytes())].append(number)
    return {pair for bucket in buckets.values() for pair in _bucket_pairs(bucket)}


def _bucket_pairs(bucket: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Pair all members of a bucket; in a crowd, where all are alike, each with the first only."""
    if len(bucket) <= _CROWD:
        return combinations(bucket, 2)
    return ((bucket[0], later) for later in bucket[1:])


def _signature(
    shingles: set[tuple[str, ...]], factors: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    texts = [" ".join(words).encode("utf-8", "surrogatepass") for words in shingles]
    codes = np.array([zlib.crc32(text) for text in texts], dtype=np.uint64)
    mixed = codes[:, None] * factors[0] + factors[1]  # modulo 2**64
    least: npt.NDArray[np.uint64] = mixed.min(axis=0)
    return least
