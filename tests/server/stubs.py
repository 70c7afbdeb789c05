"""A WebSocket endpoint and an orchestrator, for servers of tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.websockets import WebSocket

TOKEN = "correct-horse-battery-staple"  # noqa: S105 - a test's


async def greeting(socket: WebSocket) -> None:
    """Sends ``hello`` and waits for one message."""
    await socket.accept("evertable.v1")
    await socket.send_text("hello")
    await socket.receive()


async def accept(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"result": "accepted", **message}


async def topics() -> Mapping[str, list[str]]:
    return {"usersTopic": ["users_v1"], "accountsTopic": []}


async def roll_back() -> Mapping[str, Any]:
    return {"result": "accepted"}
