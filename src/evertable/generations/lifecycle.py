"""The lifecycle of generations, without any I/O: takes events, and returns the actions to carry out.

::

                  topic missing, query fails, newer message, review fails
              ┌──────────────────────────────────────────────► failed / superseded / held   (the old one stays live)
              │                    │
          building ──► warming ──► live ──► lingering ──► retired
                         │           ▲          │
                         └─ eager ───┘          └── revived: live again, at once

At most one generation is in preparation at a time, which lasts until it is live, or failed and cleaned up. Of the
wirings that are requested meanwhile, only the newest is built next. Once a generation is live, exactly one always is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evertable.config import Swap, SwapMode
from evertable.schema.wiring import Wiring

NEVER = float("inf")
MAX_WAITS = 6
"""The longest wait before a failed build is retried, as a multiple of the first one."""
QUIET_S = 0.25
"""After a newer message has superseded a build, the next build waits until no message came for so long."""


class GenerationState(StrEnum):
    BUILDING = "building"
    WARMING = "warming"
    LIVE = "live"
    LINGERING = "lingering"
    RETIRED = "retired"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    HELD = "held"


ENDINGS = (GenerationState.RETIRED, GenerationState.FAILED, GenerationState.SUPERSEDED, GenerationState.HELD)
MOVES: dict[GenerationState, frozenset[GenerationState]] = {
    GenerationState.BUILDING: frozenset({GenerationState.WARMING, GenerationState.FAILED, GenerationState.SUPERSEDED}),
    GenerationState.WARMING: frozenset(
        {GenerationState.LIVE, GenerationState.FAILED, GenerationState.SUPERSEDED, GenerationState.HELD}
    ),
    GenerationState.LIVE: frozenset({GenerationState.LINGERING, GenerationState.RETIRED}),
    GenerationState.LINGERING: frozenset({GenerationState.LIVE, GenerationState.RETIRED}),
    **dict.fromkeys(ENDINGS, frozenset()),
}

RequestId = Any
"""Identifies who requested a wiring, such as a control message, for the report of the outcome."""


class Result(StrEnum):
    """The outcome of a request."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    HELD = "held"


@dataclass(frozen=True)
class StartBuild:
    """Read the topics' offsets, create the changelog and start the query; or resume an earlier generation."""

    generation: int
    wiring: Wiring
    resumed: bool = False


@dataclass(frozen=True)
class Publish:
    """Show this generation under all names."""

    generation: int


@dataclass(frozen=True)
class End:
    """Stop the query and delete changelog and checkpoint, then call ``ended``."""

    generation: int


@dataclass(frozen=True)
class Settle:
    """Report the outcome of a request."""

    request: RequestId
    result: Result
    reason: str = ""


Action = StartBuild | Publish | End | Settle


@dataclass
class Generation:
    """One generation: its state, and who requested it."""

    number: int
    wiring: Wiring
    state: GenerationState = GenerationState.BUILDING
    reason: str = ""
    requests: list[RequestId] = field(default_factory=list)
    due_s: float = NEVER
    """When its build times out, or its lingering ends."""
    broken: bool = False
    """Live, but its query cannot continue: its tables stay until another generation replaces it."""
    resumed: bool = False

    def move(self, state: GenerationState, reason: str = "") -> None:
        if state not in MOVES[self.state]:
            raise ValueError(f"generation {self.number} is {self.state}, it cannot become {state}")
        self.state = state
        self.reason = reason


class Lifecycle:
    """Decides on the generations of an app: each method takes one event and returns the actions, in order.

    ``fallbacks`` are built, as long as nothing is live, if the wanted wiring cannot be built. If they cannot be built
    either, all of it is tried again after ``retry_s``, and later each time.
    """

    def __init__(self, rules: Swap, last: int = 0, fallbacks: Sequence[Wiring] = (), retry_s: float = 5.0) -> None:
        self.generations: dict[int, Generation] = {}
        """All that have not been cleaned up yet."""
        self.wanted: Wiring | None = None
        self.previous: Wiring | None = None
        """The wiring that was live before the current one."""
        self._rules = rules
        self._last = last
        self._fallbacks = tuple(fallbacks)
        self._retry_s = retry_s
        self._retry_due = NEVER
        self._retries = 0
        self._quiet_due = NEVER
        self._tried: list[Wiring] = []
        self._asking: list[RequestId] = []  # requests for the wanted wiring, whose build has not started
        self._closing = False

    def _of(self, *states: GenerationState) -> list[Generation]:
        return [generation for generation in self.generations.values() if generation.state in states]

    @property
    def live(self) -> Generation | None:
        return next(iter(self._of(GenerationState.LIVE)), None)

    @property
    def coming(self) -> Generation | None:
        """The generation that is being built or is warming."""
        return next(iter(self._of(GenerationState.BUILDING, GenerationState.WARMING)), None)

    @property
    def staying(self) -> Generation | None:
        """The generation that a restart resumes: the live one, or the one that this start is still resuming."""
        coming = self.coming
        return self.live or (coming if coming is not None and coming.resumed else None)

    @property
    def lingering(self) -> list[Generation]:
        """Generations that were live before, the latest last."""
        return sorted(self._of(GenerationState.LINGERING), key=lambda generation: generation.due_s)

    @property
    def next_due(self) -> float:
        """The latest time at which ``tick`` should be called."""
        return min([self._retry_due, self._quiet_due, *(generation.due_s for generation in self.generations.values())])

    def resume(self, number: int, wiring: Wiring, request: RequestId | None = None) -> list[Action]:
        """Resumes the generation that was live when the last orchestrator ended."""
        self.wanted = wiring
        asking = [] if request is None else [request]
        self.generations[number] = Generation(number, wiring, requests=asking, resumed=True)
        self._last = max(self._last, number)
        return [StartBuild(number, wiring, resumed=True)]

    def want(self, wiring: Wiring, now: float, request: RequestId | None = None) -> list[Action]:
        """Makes this the wanted wiring."""
        asking = [] if request is None else [request]
        live, coming = self.live, self.coming
        unchanged = wiring == self.wanted
        self.wanted = wiring
        self._tried.clear()
        self._retry_due, self._retries = NEVER, 0
        if coming and coming.wiring == wiring:
            coming.requests += asking
            return []
        reason = "a newer message came"
        actions = self._end(coming, GenerationState.SUPERSEDED, reason) if coming else []
        actions += [Settle(one, Result.SUPERSEDED, reason) for one in self._asking]
        self._asking = []
        if coming or self._quiet_due < NEVER:
            self._quiet_due = now + QUIET_S  # in a burst of messages, most builds would be wasted
        if live and live.wiring == wiring and not live.broken:
            result = Result.UNCHANGED if unchanged else Result.APPLIED
            return [*actions, *(Settle(one, result) for one in asking)]
        if found := next((one for one in reversed(self.lingering) if one.wiring == wiring), None):
            found.requests += asking
            return [*actions, *self._publish(found, now)]
        self._asking = asking
        return [*actions, *self._build_next(now)]

    def started(self, number: int, now: float) -> list[Action]:
        """Takes note that a generation's query runs."""
        generation = self.generations[number]
        if generation.state is not GenerationState.BUILDING:
            return []  # it was superseded meanwhile
        generation.move(GenerationState.WARMING)
        is_eager = self._rules.mode is SwapMode.EAGER
        return self._publish(generation, now) if is_eager and not generation.resumed else []

    def caught_up(self, number: int, now: float, remark: str = "") -> list[Action]:
        """Publishes a generation whose tables hold the backlog; its requests are settled with the remark."""
        generation = self.generations.get(number)
        is_warming = generation is not None and generation.state is GenerationState.WARMING
        return self._publish(generation, now, remark) if generation and is_warming else []

    def kept_instead_of(self, generation: Generation) -> Wiring | None:
        """Returns the wiring that viewers see if this generation does not go live; None if there is none."""
        if self.live is not None:
            return self.live.wiring
        return next((wiring for wiring in self._fallbacks if wiring != generation.wiring), None)

    def held(self, number: int, reason: str) -> list[Action]:
        """Ends a warm generation that looks broken, without showing it."""
        generation = self.generations[number]
        kept = self.kept_instead_of(generation)
        if kept is None:
            raise ValueError(f"generation {number} cannot be held: there is nothing to show instead")
        self.wanted = kept
        return self._end(generation, GenerationState.HELD, reason)

    def failed(self, number: int, reason: str, now: float, *, lasting: bool = True) -> list[Action]:
        """Handles a failed build or query; ``lasting`` is False if the same wiring may work later."""
        generation = self.generations.get(number)
        if generation is None:
            return []
        match generation.state:
            case GenerationState.BUILDING | GenerationState.WARMING:
                return self._give_up(generation, reason, now, lasting=lasting)
            case GenerationState.LIVE:
                generation.broken, generation.reason = True, reason
                return self._build_next(now)
            case GenerationState.LINGERING:
                return self._end(generation, GenerationState.RETIRED, reason)
            case _:
                return []

    def ended(self, number: int, now: float) -> list[Action]:
        """Forgets a generation that has been cleaned up."""
        del self.generations[number]
        return self._build_next(now)

    def make_room(self, now: float) -> list[Action]:
        """Restarts a build that does not fit, after ending all lingering generations."""
        coming = self.coming
        if coming is None or not self.lingering:
            return []
        self._asking += coming.requests
        coming.requests = []
        actions = self._end(coming, GenerationState.SUPERSEDED, "it is built again when there is room")
        actions += self._end_lingering("to make room for another")
        return [*actions, *self._build_next(now)]

    def tick(self, now: float) -> list[Action]:
        """Ends what has timed out or lingered long enough, and starts builds that are due."""
        actions: list[Action] = []
        for generation in [one for one in self.generations.values() if one.due_s <= now]:
            if generation.state is GenerationState.LINGERING:
                actions += self._end(generation, GenerationState.RETIRED)
            else:
                reason = f"not warm within {self._rules.timeout_s:g} s (swap.timeout_s)"
                actions += self._give_up(generation, reason, now)
        if min(self._retry_due, self._quiet_due) <= now:
            self._retry_due = NEVER if self._retry_due <= now else self._retry_due
            self._quiet_due = NEVER if self._quiet_due <= now else self._quiet_due
            actions += self._build_next(now)
        return actions

    def close(self) -> list[Action]:
        """Ends all generations but the one that a restart resumes."""
        self._closing = True
        coming, reason = self.coming, "the orchestrator stops"
        actions: list[Action] = []
        if coming is not None and coming is self.staying:
            actions += [Settle(one, Result.UNCHANGED) for one in coming.requests]
            coming.requests = []
        elif coming is not None:
            actions += self._end(coming, GenerationState.SUPERSEDED, reason)
        return [*actions, *self._end_lingering(reason)]

    def _publish(self, generation: Generation, now: float, remark: str = "") -> list[Action]:
        before = self.live
        generation.move(GenerationState.LIVE)
        generation.due_s = NEVER
        self._retries = 0
        self.wanted = generation.wiring  # after a fallback, the wiring that could not be built is no longer wanted
        actions: list[Action] = [Publish(generation.number)]
        if before:
            if before.wiring != generation.wiring:
                self.previous = before.wiring
            actions += self._linger(before, now)
        actions += [Settle(request, Result.APPLIED, remark) for request in generation.requests]
        generation.requests = []
        return actions

    def _linger(self, generation: Generation, now: float) -> list[Action]:
        if generation.broken or self._rules.linger_s <= 0 or self._rules.max_lingering <= 0:
            return self._end(generation, GenerationState.RETIRED, generation.reason)
        generation.move(GenerationState.LINGERING)
        generation.due_s = now + self._rules.linger_s
        surplus = self.lingering[: -self._rules.max_lingering]
        return [action for one in surplus for action in self._end(one, GenerationState.RETIRED)]

    def _end_lingering(self, reason: str) -> list[Action]:
        return [action for one in self.lingering for action in self._end(one, GenerationState.RETIRED, reason)]

    def _end(self, generation: Generation, state: GenerationState, reason: str = "") -> list[Action]:
        """Ends a generation in one of ENDINGS, which is also the result of the requests that wait for it."""
        generation.move(state, reason)
        generation.due_s = NEVER
        return [*(Settle(one, Result(state), reason) for one in generation.requests), End(generation.number)]

    def _give_up(self, generation: Generation, reason: str, now: float, *, lasting: bool = True) -> list[Action]:
        if generation.resumed:  # a rebuild may well work
            self._asking += generation.requests
            generation.requests = []
        live = self.live
        if live and not live.broken and self.wanted == generation.wiring:
            self.wanted = live.wiring
        elif live is None or live.broken:
            if generation.requests and self.wanted == generation.wiring:  # its requests failed, so it is not retried
                self.wanted = self.kept_instead_of(generation) or self.wanted
            if lasting and not generation.resumed:
                self._tried.append(generation.wiring)
            is_retry = not lasting and not generation.resumed and self.wanted == generation.wiring
            if is_retry or not self._next_try():
                self._tried.clear()
                self._retry_due = now + self._retry_s * min(2**self._retries, MAX_WAITS)
                self._retries += 1
        return self._end(generation, GenerationState.FAILED, reason)

    def _next_try(self) -> Wiring | None:
        """Returns the wiring to build: the wanted one, or a fallback as long as nothing is live."""
        options = [self.wanted] if self.live else [self.wanted, *self._fallbacks]
        return next((one for one in options if one is not None and one not in self._tried), None)

    def _build_next(self, now: float) -> list[Action]:
        """Builds the wanted wiring, unless another build or its cleanup is in progress."""
        if self._quiet_due <= now:
            self._quiet_due = NEVER
        waits = self._retry_due < NEVER or self._quiet_due < NEVER
        ending = self._of(GenerationState.FAILED, GenerationState.SUPERSEDED, GenerationState.HELD)
        if self._closing or self.coming or ending or self.wanted is None or waits:
            return []
        live, wiring = self.live, self._next_try()
        if wiring is None or (live and live.wiring == wiring and not live.broken):
            return []
        self._last += 1
        generation = self.generations[self._last] = Generation(self._last, wiring)
        if wiring == self.wanted:
            generation.requests, self._asking = self._asking, []
        if live and not live.broken:
            generation.due_s = now + self._rules.timeout_s
        return [StartBuild(generation.number, wiring)]
