"""The start positions in the control topic follow from the positions in the state."""

from __future__ import annotations

from dataclasses import replace

from tests.state.examples import IDENTITY

from evertable.config import JoinType
from evertable.schema.wiring import Wiring
from evertable.state.control_start import ControlStart, control_start
from evertable.state.identity import Identity
from evertable.state.records import ControlOffset, LiveRecord
from evertable.state.state import AppState

OWN, SHARED = "evertable.shop.control", "shared"


def remembered(*records: ControlOffset, live: LiveRecord | None = None) -> AppState:
    return AppState(control={record.partition: record for record in records}, live=live)


def live(made_of: Identity) -> LiveRecord:
    return LiveRecord(1, Wiring("u", "a", JoinType.LEFT), made_of, "c", 1, "k", "", "")


def own(state: AppState, topic_id: str | None = "new") -> ControlStart:
    return control_start(state, OWN, topic_id, is_own=True)


def shared(state: AppState, topic_id: str | None = "new") -> ControlStart:
    return control_start(state, SHARED, topic_id, is_own=False)


def test_without_state_an_own_topic_counts_from_its_beginning_and_a_shared_one_from_its_end() -> None:
    assert own(AppState()) == ControlStart()
    assert shared(AppState()) == ControlStart(from_end=True)


def test_the_same_topic_is_continued() -> None:
    """Positions in another topic are ignored."""
    state = remembered(ControlOffset(0, 5, "new", SHARED), ControlOffset(1, 6, "old", SHARED))
    assert shared(state) == ControlStart({0: 5})
    assert not shared(state).is_another_topic
    assert own(remembered(ControlOffset(0, 5, "new", OWN))) == ControlStart({0: 5})


def test_without_ids_the_name_decides() -> None:
    assert shared(remembered(ControlOffset(0, 5, None, SHARED))) == ControlStart({0: 5})
    assert shared(remembered(ControlOffset(0, 5, "old", SHARED)), None) == ControlStart({0: 5})
    assert shared(remembered(ControlOffset(0, 5, None, "other"))) == ControlStart(from_end=True)


def test_a_recreated_topic_is_read_from_its_beginning() -> None:
    assert shared(remembered(ControlOffset(0, 5, "old", SHARED))) == ControlStart(is_recreated=True)
    assert own(remembered(ControlOffset(0, 5, "old", OWN))) == ControlStart(is_recreated=True)


def test_another_topic_than_before_is_begun_like_a_new_one() -> None:
    state = remembered(ControlOffset(0, 5, "old", "other"))
    assert shared(state) == ControlStart(from_end=True)
    assert own(state) == ControlStart()
    assert own(state).is_another_topic


def test_earlier_versions_wrote_no_names() -> None:
    """A configured topic goes on if its id allows it; what waits on the former default is moved to the own topic."""
    unnamed = ControlOffset(0, 5, "old")
    assert shared(remembered(unnamed), "old") == ControlStart({0: 5})
    assert shared(remembered(replace(unnamed, topic_id=None))) == ControlStart({0: 5})
    assert shared(remembered(unnamed)) == ControlStart(from_end=True)
    assert own(remembered(unnamed), "old") == ControlStart({0: 5})
    assert own(remembered(unnamed)) == ControlStart(former={0: unnamed})
    assert own(remembered(replace(unnamed, topic_id=None)), None).former == {0: replace(unnamed, topic_id=None)}


def test_an_app_of_an_earlier_version_that_never_met_a_message_has_all_of_them_moved() -> None:
    earlier = replace(IDENTITY, left=replace(IDENTITY.left, name=""), right=replace(IDENTITY.right, name=""))
    assert own(remembered(live=live(earlier))) == ControlStart(former={})
    assert own(remembered(live=live(IDENTITY))) == ControlStart()
