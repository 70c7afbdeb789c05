"""The line protocol and the spec survive the trip through JSON."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.specs import spec

from evertable.engine import protocol
from evertable.engine.protocol import EpochCommitted, Failed, Ready, Released, Started, Stopped, TaskSlots
from evertable.engine.spec import from_wire, to_wire

texts = st.text(st.characters(codec="utf-8"))
numbers = st.integers(0, 2**53)
offsets = st.dictionaries(st.integers(0, 1000), numbers)
events = st.one_of(
    st.builds(Ready, texts, numbers, numbers),
    st.builds(Started, numbers, texts, texts),
    st.builds(EpochCommitted, numbers, numbers, offsets, offsets),
    st.builds(Failed, numbers, texts, texts, st.booleans()),
    st.builds(TaskSlots, numbers),
    st.builds(Stopped, numbers),
    st.builds(Released, numbers),
)


@given(events)
def test_an_event_is_one_line_and_survives_parsing(event: protocol.EngineEvent) -> None:
    line = protocol.encode(event)
    assert line.count(b"\n") == 1
    assert protocol.decode(line) == event


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"WARN something\n", b"[]\n", b'{"event": "unknown"}\n', b'{"event": 1}\n']
)
def test_other_lines_are_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError, match="no event"):
        protocol.decode(line)


def test_a_spec_survives_encoding() -> None:
    line = protocol.command("start", spec=to_wire(spec()))
    assert from_wire(orjson.loads(line)["spec"]) == spec()


def test_a_realtime_generation_holds_a_slot_for_every_task_and_a_microbatch_one_none() -> None:
    assert spec(readers=7).slots(shuffle_partitions=2) == 9
    assert spec("microbatch").slots(shuffle_partitions=2) == 0
    assert spec(readers=1).slots(shuffle_partitions=1) == 1
