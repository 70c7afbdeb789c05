"""Matches that were read before one of their rows, and wait for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evertable.changelog.ids import Ints


@dataclass
class Matches:
    """Matches as columns: the ids of both rows, and the timestamp by which a join chooses."""

    left: Ints
    right: Ints
    order_ts: Ints

    def __len__(self) -> int:
        return len(self.left)

    def where(self, chosen: npt.NDArray[np.bool_] | Ints) -> Matches:
        return Matches(self.left[chosen], self.right[chosen], self.order_ts[chosen])

    @classmethod
    def concat(cls, parts: list[Matches]) -> Matches:
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("left", "right", "order_ts")))


NO_MATCHES = Matches(*(np.empty(0, np.int64),) * 3)


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
        return cls(missing[order], matches.where(order), np.ones(len(missing), bool), len(missing))


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
            kept = Matches.concat([other.matches.where(other.waiting), tier.matches])
            tier = _Tier.of(np.concatenate([other.missing[other.waiting], tier.missing]), kept)
        self._tiers.append(tier)

    def release(self, ids: Ints) -> Matches:
        """Removes and returns the matches that wait for these rows."""
        if not self._tiers or not len(ids):
            return NO_MATCHES
        released = [self._release_from(tier, ids) for tier in self._tiers]
        self._tiers = [tier for tier in self._tiers if tier.count]
        return Matches.concat(released)

    def _release_from(self, tier: _Tier, ids: Ints) -> Matches:
        start, end = np.searchsorted(tier.missing, ids, "left"), np.searchsorted(tier.missing, ids, "right")
        counts = end - start
        if not (total := int(counts.sum())):
            return NO_MATCHES
        places = np.repeat(start - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(total)
        places = places[tier.waiting[places]]
        tier.waiting[places] = False
        tier.count -= len(places)
        return tier.matches.where(places)
