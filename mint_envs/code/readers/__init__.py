"""The forms of rows that can be read, the most special first: one file each.

A row is recognised by its columns. A new set is a new file with a ``READER``, and its name here.
"""

from __future__ import annotations

from . import (
    ace_code,
    apps,
    big_code_bench,
    code_contests,
    codeforces,
    deep_coder,
    eurus,
    eval_plus,
    fusion,
    human_eval,
    kod_code,
    leetcode,
    live_code_bench,
    mbpp,
    multipl_e,
    own,
    taco,
    verifiable,
)
from .reader import Reader

__all__ = ["NAMES", "READERS", "Reader"]

READERS: tuple[Reader, ...] = (
    deep_coder.READER,
    multipl_e.READER,
    own.READER,
    leetcode.READER,
    big_code_bench.READER,
    *eval_plus.READERS,
    human_eval.READER,
    mbpp.READER,
    taco.READER,
    apps.READER,
    code_contests.READER,
    live_code_bench.READER,
    codeforces.READER,
    verifiable.READER,
    eurus.READER,
    ace_code.READER,
    kod_code.READER,
    fusion.READER,
)

#: What ``mint-envs list mint/Code-v0`` names.
NAMES = tuple(reader.name for reader in READERS)
