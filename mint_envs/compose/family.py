"""The record of mixtures: a mixture is what it mixes, so nothing is said of it here."""

from __future__ import annotations

from ..family import Family

FAMILY = Family()
