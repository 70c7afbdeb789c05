"""Decides at a start what to resume and what to build, from the state, the control topic and the configuration."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from evertable.control.messages import fold, keys_of
from evertable.control.topic import ControlTopic
from evertable.control.writer import Writer
from evertable.errors import EvertableError, KafkaUnreachableError
from evertable.generations.context import GenerationContext
from evertable.generations.control_reading import ControlReading, read_control
from evertable.generations.identity import change_of
from evertable.generations.lifecycle import Action, Lifecycle
from evertable.generations.orchestrator import Orchestrator
from evertable.generations.retrying import Patience
from evertable.generations.running import RunningGeneration
from evertable.generations.status_tables import StatusTables, iso, iso_of_ms
from evertable.schema.wiring import Wiring
from evertable.state.records import GenerationRow, LiveRecord, PreviousWiring
from evertable.state.state import AppState
from evertable.state.state_topic import StateTopic


@dataclass
class Startup:
    """One start of an app, step by step, from the state that the last owner left to the first actions."""

    context: GenerationContext
    state: AppState
    state_topic: StateTopic
    status_tables: StatusTables
    patience: Patience
    reset_wiring: bool = False
    """Whether the configuration's wiring is used instead of the one that was live."""

    def drop_other_sources(self) -> None:
        """Lets the configuration win over a remembered wiring of sources with other names."""
        remembered = self.state.live.identity.sources if self.state.live else None
        left, right = self.context.config.left.name, self.context.config.right.name
        if remembered in (None, (left, right)):
            return
        self.reset_wiring = True
        was_left, was_right = remembered
        self.context.report(
            "WARN",
            f"The configuration joins '{left}' and '{right}', and the last live generation joined '{was_left}' and "
            f"'{was_right}': the remembered wiring is dropped, and that of the configuration is used.",
        )
        self.patience.until_kafka_answers(lambda: self.state_topic.forget(PreviousWiring.key))
        self.state = replace(self.state, previous=None)

    def read_control(self, topic: ControlTopic, writer: Writer) -> ControlReading:
        """Reads what came on the control topic since the last start.

        If it is another topic than before, results of earlier messages are forgotten: their offsets mean others now.
        """
        is_own = topic.name == self.context.config.own_topics.default_control
        reading = self.patience.until_kafka_answers(
            lambda: read_control(topic, self.state, writer, self.context.report, is_own=is_own)
        )
        if reading.is_another_topic:
            keys = [result.key for result in self.state.control_results]
            self.patience.until_kafka_answers(lambda: self.state_topic.forget(*keys))
            self.state = replace(self.state, control_results=())
        return reading

    def show_history(self) -> None:
        """Fills the operators' tables with what was before the restart."""
        for result in self.state.control_results:
            place = (result.partition, result.offset)
            self.status_tables.message(place, result.given, iso_of_ms(result.ts), result.result, result.reason)
        for row in self.state.generations:
            self.status_tables.generation(row)

    def lifecycle(self) -> Lifecycle:
        """Returns the lifecycle, which numbers generations behind all there have been."""
        config, known = self.context.config, (row.generation for row in self.state.generations)
        left_behind = self.patience.until_kafka_answers(self.context.left_behind)
        last = max([0, self.state.last_generation, *known, *left_behind])
        life = Lifecycle(config.swap, last, [self._last_wiring, config.wiring])
        life.previous = self.state.previous
        return life

    def first_actions(self, life: Lifecycle, reading: ControlReading, orchestrator: Orchestrator) -> list[Action]:
        """Resumes what was live, if it is what is wanted and can be resumed; else builds what is wanted."""
        folded = fold(reading.messages, self._last_wiring, keys_of(self.context.config))
        live, wanted = self.state.live, folded.wiring
        request = orchestrator.messages.recall(folded, reading.topic_id)
        if live is not None and live.wiring == wanted and not self.reset_wiring:
            obstacle = self.patience.until_kafka_answers(lambda: self._obstacle(live))
            if obstacle is None:
                starts = (live.identity.left.offsets, live.identity.right.offsets)
                running = RunningGeneration(self.context, live.generation, live.wiring, starts, created=live.created)
                orchestrator.adopt(running)
                return life.resume(live.generation, live.wiring, request)
            self.context.report("WARN", f"Generation {live.generation} is not resumed: {obstacle}")
        return life.want(wanted, time.monotonic(), request)

    def close_history(self, kept: Collection[int]) -> list[GenerationRow]:
        """Marks generations as retired that were shown, and whose owner died before it could."""
        rows, live = [*self.state.generations], self.state.live
        if live is not None and all(row.generation != live.generation for row in rows):
            rows.append(GenerationRow(live.generation, live.wiring, "live", live.created, live.published))
        reason = "not resumed by the next start"
        retired = [
            replace(row, state="retired", retired=iso(), reason=reason)
            for row in rows
            if not row.retired and row.generation not in kept
        ]
        for row in retired:
            self.status_tables.generation(row)
        return retired

    def clean_up(self, kept: Collection[int]) -> None:
        """Deletes what a dead owner left behind, until the shutdown begins: then it may be a successor's."""
        for number in self.patience.until_kafka_answers(self.context.left_behind) - set(kept):
            self.context.report("INFO", f"Deleting what is left of generation {number}")
            self.patience.until_kafka_answers(partial(self.context.delete, number))

    @property
    def _last_wiring(self) -> Wiring:
        live = self.state.live
        return live.wiring if live and not self.reset_wiring else self.context.config.wiring

    def _obstacle(self, live: LiveRecord) -> str | None:
        """Returns why a generation cannot be resumed; None if it can."""
        if live.generation not in self.context.topics.list():
            return f"Its changelog '{live.changelog_topic}' is gone."
        checkpoint = self.context.checkpoints.of(live.generation)
        if live.checkpoint != checkpoint or live.generation not in self.context.checkpoints.generations():
            return f"Its checkpoint '{live.checkpoint}' is gone."
        try:
            return change_of(live.identity, self.context.config.rewired(live.wiring))
        except KafkaUnreachableError:
            raise  # no reason against resuming it
        except EvertableError as error:
            return str(error)
