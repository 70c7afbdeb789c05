"""Encodes what servers send.

A page is encoded once for all subscriptions to the same view. They differ only in their id and tag, so a ``page``,
``patch`` or ``total`` frame is a :func:`prefix` of one subscription and a tail that all of them share::

    {"type":"page","id":"a","tag":1,   "table":"final_ui","generation":3, … }
    └──────────── prefix ───────────┘  └──────────────── tail ──────────────┘

``page.page_tail``, ``patch.patch_tail`` and :func:`total_tail` return the tails.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import orjson

from evertable.errors import EvertableError
from evertable.protocol.frames import SUBPROTOCOL, Limits


@dataclass(frozen=True, order=True)
class Stamp:
    """The order of frames: on one socket, no frame has a lower stamp than the frame before it."""

    publication: int
    version: int
    generation: int = 0

    @property
    def json(self) -> bytes:
        """The three fields as JSON, as in a tail."""
        return b'"generation":%d,"publication":%d,"version":%d' % (self.generation, self.publication, self.version)


def prefix(kind: str, subscription: str, tag: int) -> bytes:
    """Returns the beginning of a subscription's frame; a tail follows."""
    return b'{"type":"%b","id":%b,"tag":%d,' % (kind.encode(), orjson.dumps(subscription), tag)


def total_tail(stamp: Stamp, total: int) -> bytes:
    return b'%b,"total":%d}' % (stamp.json, total)


def welcome(version: str, limits: Limits) -> bytes:
    return orjson.dumps({"type": "welcome", "protocol": SUBPROTOCOL, "version": version, "limits": asdict(limits)})


def waiting(subscription: str, tag: int, table: str) -> bytes:
    return orjson.dumps({"type": "waiting", "id": subscription, "tag": tag, "table": table})


def pong(tag: int) -> bytes:
    return b'{"type":"pong","tag":%d}' % tag


def error(subscription: str, tag: int, problem: EvertableError) -> bytes:
    """Returns the frame that rejects a request, with the position in the filter if the problem has one."""
    return orjson.dumps({"type": "error", "id": subscription, "tag": tag, **refusal_json(problem)})


def refusal_json(problem: EvertableError) -> dict[str, Any]:
    """Returns the fields that say what happened and what to do, also in the answers of REST."""
    position = getattr(problem, "position", None)
    fields = {"condition": problem.condition, "message": problem.sentences}
    return fields if position is None else {**fields, "position": position}
