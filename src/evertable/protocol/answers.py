"""What servers send, as bytes.

A page is made once for all who look at the same view. What differs between them is the subscription's id and tag, so a
``page``, ``patch`` or ``total`` is a :func:`prefix` of one subscription and a tail that all of them share::

    {"type":"page","id":"a","tag":1,   "table":"final_ui","generation":3, … }
    └──────────── prefix ───────────┘  └──────────────── tail ──────────────┘

The tails are made by ``page.page_tail``, ``patch.patch_tail`` and :func:`total_tail`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import orjson

from evertable.errors import EvertableError
from evertable.protocol.frames import SUBPROTOCOL, Limits


@dataclass(frozen=True, order=True)
class Stamp:
    """Where a frame stands: on one socket later frames have greater stamps, or the same one."""

    publication: int
    version: int
    generation: int = 0

    @property
    def json(self) -> bytes:
        """The three fields, as they stand in a tail."""
        return b'"generation":%d,"publication":%d,"version":%d' % (self.generation, self.publication, self.version)


def prefix(kind: str, subscription: str, tag: int) -> bytes:
    """How a subscription's frames of one kind begin; a tail follows."""
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
    """The answer to a request that cannot be met, with the position if the problem has one."""
    frame = {"type": "error", "id": subscription, "tag": tag, "condition": problem.condition, "message": said(problem)}
    if (position := getattr(problem, "position", None)) is not None:
        frame["position"] = position
    return orjson.dumps(frame)


def said(problem: EvertableError) -> str:
    """What to tell a person: what happened and what to do, without the condition, which has a field of its own."""
    return f"{problem.what} {problem.next_step}".rstrip()
