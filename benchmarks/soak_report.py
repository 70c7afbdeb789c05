"""The report of a soak, as JSON, plots and Markdown: whether each measure stayed flat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.soak_samples import Sample


@dataclass(frozen=True)
class Measure:
    """A measure that may grow by a share of its first value plus an amount, and no more."""

    key: str
    name: str
    share: float
    amount: float


PROCESSES = {
    "serve": "evertable serve",
    "driver": "Spark's driver program",
    "spark": "Spark's JVM",
    "broker": "the broker",
}

MEASURES = (
    *(Measure(f"{key}_rss_mib", f"{name}: resident memory, MiB", 0.10, 30) for key, name in PROCESSES.items()),
    Measure("spark_heap_mib", "Spark's heap after full collections, MiB", 0.10, 50),
    *(Measure(f"{key}_threads", f"{name}: threads", 0.05, 5) for key, name in PROCESSES.items()),
    *(Measure(f"{key}_files", f"{name}: open files", 0.05, 10) for key, name in PROCESSES.items()),
    *(Measure(f"{key}_sockets", f"{name}: sockets", 0.05, 10) for key, name in PROCESSES.items()),
    Measure("topics", "topics in Kafka", 0.0, 1),
    Measure("generations", "generations with a checkpoint", 0.0, 1),
    Measure("checkpoints_mib", "checkpoints, MiB", 0.20, 5),
    Measure("checkpoints_files", "checkpoints, files", 0.20, 20),
    Measure("temporary_mib", "temporary files, MiB", 0.20, 20),
    Measure("temporary_files", "temporary files", 0.20, 50),
    Measure("latency_p50_ms", "producer to viewer, median, ms", 0.25, 5),
    Measure("latency_p95_ms", "producer to viewer, 95 %, ms", 0.50, 20),
)

PLOTS = {
    "memory": ("MiB", [*(f"{key}_rss_mib" for key in PROCESSES), "spark_heap_mib"]),
    "threads": ("threads", [f"{key}_threads" for key in PROCESSES]),
    "files": ("open files", [f"{key}_files" for key in PROCESSES]),
    "sockets": ("sockets", [f"{key}_sockets" for key in PROCESSES]),
    "latency": ("ms", ["latency_p50_ms", "latency_p95_ms"]),
    "folders": ("MiB", ["checkpoints_mib", "temporary_mib"]),
    "leftovers": ("number", ["topics", "generations"]),
    "counts": ("number", ["checkpoints_files", "temporary_files"]),
}


@dataclass(frozen=True)
class Finding:
    """A measure's medians in the second and in the last quarter of the run."""

    measure: Measure
    before: float
    after: float

    @property
    def most(self) -> float:
        return self.before * (1 + self.measure.share) + self.measure.amount

    @property
    def is_flat(self) -> bool:
        return self.after <= self.most


def findings(samples: Sequence[Sample]) -> list[Finding]:
    """Returns one finding for each measure; raises ValueError for a measure without values."""
    quarter = len(samples) // 4
    found = []
    for measure in MEASURES:
        second, last = (
            [sample[measure.key] for sample in part if measure.key in sample]
            for part in (samples[quarter : 2 * quarter], samples[-quarter:])
        )
        if not (second and last):
            raise ValueError(f"{measure.key} was not measured in both quarters: the run was too short")
        found.append(Finding(measure, median(second), median(last)))
    return found


def markdown(about: dict[str, Any], found: Sequence[Finding], problems: Sequence[str]) -> str:
    """Formats the report."""
    lines = ["# Soak", "", about["machine"], "", about["sentence"], ""]
    lines += [
        "Medians of the second and of the last quarter of the run. Flat: the last one is within its limit.",
        "",
    ]
    lines += ["| measure | second quarter | last quarter | allowed | |", "|---|---|---|---|---|"]
    for each in found:
        figures = f"{each.before:,.1f} | {each.after:,.1f} | {each.most:,.1f}"
        lines.append(f"| {each.measure.name} | {figures} | {'flat' if each.is_flat else '**grows**'} |")
    lines += ["", "Viewers and swaps: " + ("no problems." if not problems else f"{len(problems)} problems."), ""]
    lines += [f"- {problem}" for problem in problems[:20]]
    lines += [f"![{name}]({name}.png)" for name in PLOTS]
    return "\n".join(lines) + "\n"


def plot(samples: Sequence[Sample], swaps: Sequence[float], folder: Path) -> None:
    """Plots each group of measures; grey lines are swaps."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = {measure.key: measure.name for measure in MEASURES}
    for name, (unit, keys) in PLOTS.items():
        figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
        for key in keys:
            points = [(sample["minute"], sample[key]) for sample in samples if key in sample]
            axes.plot(*zip(*points, strict=True), label=names[key], linewidth=1.2)
        for minute in swaps:
            axes.axvline(minute, color="0.85", linewidth=0.6, zorder=0)
        axes.set(xlabel="minutes", ylabel=unit, ylim=(0, None))
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        figure.savefig(folder / f"{name}.png", dpi=90)
        plt.close(figure)


def write(
    folder: Path, about: dict[str, Any], samples: Sequence[Sample], swaps: Sequence[float], problems: Sequence[str]
) -> bool:
    """Writes the report, and returns whether everything was flat and there were no problems."""
    found = findings(samples)
    folder.mkdir(parents=True, exist_ok=True)
    rounded = [{key: round(value, 2) for key, value in sample.items()} for sample in samples]
    kept = {"about": about, "problems": list(problems), "swaps": [round(at, 3) for at in swaps], "samples": rounded}
    (folder / "soak.json").write_text(json.dumps(kept, indent=1) + "\n")
    plot(samples, swaps, folder)
    text = markdown(about, found, problems)
    (folder / "README.md").write_text(text)
    print(text)
    return all(each.is_flat for each in found) and not problems
