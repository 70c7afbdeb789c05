"""Matches that were read before one of their rows, and wait for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evertable.changelog.ids import Ints

Matches = Ints
"""Three rows of numbers: the ids of the left and the right row of each match, and its timestamp to choose by."""


@dataclass
class _Tier:
    """Matches sorted by the ids that they wait for."""

    missing: Ints
    matches: Matches
    waiting: npt.NDArray[np.bool_]
    count: int

    @classmethod
    def of(cls, missing: Ints, matches: Matches) -> _Tier:
        order = np.argsort(missing, kind="stable")
        return cls(missing[order], matches[:, order], np.ones(len(missing), bool), len(missing))


class WaitingMatches:
    """Matches by the id of the row that they miss; its cost depends on what is added, not on how many wait."""

    def __init__(self) -> None:
        self._tiers: list[_Tier] = []

    def __len__(self) -> int:
        return sum(tier.count for tier in self._tiers)

    @property
    def nbytes(self) -> int:
        return sum(33 * len(tier.missing) for tier in self._tiers)

    def add(self, missing: Ints, matches: Matches) -> None:
        """Keeps each match until ``release`` is called with its missing id."""
        if not len(missing):
            return
        tier = _Tier.of(missing, matches)
        while self._tiers and len(self._tiers[-1].missing) <= 2 * len(tier.missing):
            other = self._tiers.pop()
            tier = _Tier.of(
                np.concatenate([other.missing[other.waiting], tier.missing]),
                np.concatenate([other.matches[:, other.waiting], tier.matches], axis=1),
            )
        self._tiers.append(tier)

    def release(self, ids: Ints) -> list[Matches]:
        """Removes and returns the matches that wait for these rows, in any number of parts."""
        if not len(ids):
            return []
        released = [matches for tier in self._tiers if (matches := _release(tier, ids)).size]
        self._tiers = [tier for tier in self._tiers if tier.count]
        return released


def _release(tier: _Tier, ids: Ints) -> Matches:
    start, end = np.searchsorted(tier.missing, ids, "left"), np.searchsorted(tier.missing, ids, "right")
    counts = end - start
    places = np.repeat(start - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    places = places[tier.waiting[places]]
    tier.waiting[places] = False
    tier.count -= len(places)
    return tier.matches[:, places]
