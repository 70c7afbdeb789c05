"""The soak's report distinguishes growth from fluctuation."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.soak_report import MEASURES, PLOTS, findings, write
from benchmarks.soak_samples import heap_after_gc, of_folder


def samples(**growing: float) -> list[dict[str, float]]:
    """Makes 40 samples that alternate between 100 and 200, except for measures that grow by a step each time."""
    steady = [{"minute": i / 12, **{m.key: 100.0 + 100 * (i % 2) for m in MEASURES}} for i in range(40)]
    return [{**each, **{key: 100 + i * step for key, step in growing.items()}} for i, each in enumerate(steady)]


def test_fluctuation_is_flat_and_growth_is_not() -> None:
    found = {each.measure.key: each.is_flat for each in findings(samples(serve_threads=2, topics=0.2))}
    assert {key for key, flat in found.items() if not flat} == {"serve_threads", "topics"}
    assert all(each.is_flat for each in findings(samples()))


def test_a_decrease_is_flat() -> None:
    assert all(each.is_flat for each in findings(samples(serve_rss_mib=-2)))


def test_a_measure_without_values_is_an_error() -> None:
    blind = [{key: value for key, value in each.items() if key != "spark_heap_mib"} for each in samples()]
    with pytest.raises(ValueError, match="spark_heap_mib"):
        findings(blind)


def test_growth_or_a_problem_fails_a_run_and_the_report_is_written(tmp_path: Path) -> None:
    about = {"machine": "a machine", "sentence": "a run"}
    assert write(tmp_path, about, samples(), [1.0], [])
    assert not write(tmp_path, about, samples(broker_files=3), [1.0], [])
    assert "| the broker: open files | 143.5 |" in (tmp_path / "README.md").read_text()
    assert not write(tmp_path, about, samples(), [1.0], ["a page was empty"])
    assert "- a page was empty" in (tmp_path / "README.md").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"README.md", "soak.json", *(f"{name}.png" for name in PLOTS)}


def test_the_heap_is_measured_after_full_collections(tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    assert heap_after_gc(log) is None
    log.write_text(
        "[1.234s] Using Parallel\n"
        "[2.345s] GC(0) Pause Young (Allocation Failure) 512M->90M(1024M) 8.1ms\n"
        "[9.345s] GC(1) Pause Full (Metadata GC Threshold) 90M->60M(1024M) 80.1ms\n"
        "[9.945s] GC(2) Pause Young (Allocation Failure) 560M->64M(1024M) 8.1ms\n"
    )
    assert heap_after_gc(log) == 60
    assert heap_after_gc(tmp_path / "none") is None


def test_the_size_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(1 << 20))
    assert dict(of_folder(tmp_path)) == {"mib": 1, "files": 1}
