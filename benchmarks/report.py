"""The report: the figures of all parts and their budgets, as Markdown, JSON and pictures."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from benchmarks import machine

mpl.use("Agg")
from matplotlib import pyplot as plt

OURS, TUNED, DEFAULT = "Evertable", "Deephaven, 100 ms", "Deephaven, 1000 ms"
SYSTEMS = (OURS, TUNED, DEFAULT)
COLOURS = {OURS: "#0b7285", TUNED: "#e8590c", DEFAULT: "#868e96"}
JOINS = ("inner", "left", "natural", "asof")
FULL = 1_000_000
OUTPUT_PEERS = ("Pathway", "Flink")
HOPS = ("producer and broker", "Spark", "changelog", "fold", "tick", "socket")

Line = dict[str, Any]


@dataclass
class Figures:
    """All figures, which can be selected by their attributes."""

    lines: list[Line] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> Figures:
        files = sorted(folder.glob("*.jsonl"))
        return cls([json.loads(line) for file in files for line in file.read_text().splitlines()])

    def where(self, measure: str, **about: object) -> list[Line]:
        wanted = {"measure": measure, **about}
        return [line for line in self.lines if all(line.get(name) == value for name, value in wanted.items())]

    def values(self, measure: str, **about: object) -> list[float]:
        """Returns all values, those of lists flattened."""
        found: list[float] = []
        for line in self.where(measure, **about):
            found += line["value"] if isinstance(line["value"], list) else [line["value"]]
        return found

    def percentiles(self, measure: str, **about: object) -> list[list[float]]:
        """Returns the 50, 95 and 99 % percentiles of each line, that is of each round."""
        return [np.percentile(line["value"], [50, 95, 99]).tolist() for line in self.where(measure, **about)]


@dataclass(frozen=True)
class Budget:
    what: str
    must: str
    measured: Callable[[Figures], tuple[str, bool] | None]
    """Returns a text and whether the budget holds; None without figures."""
    if_missed: str = ""
    """The reason, as far as known."""


def most(measure: str, limit: float, unit: str, reduce: Callable[[Any], Any] = np.median, **about: object) -> Any:
    def measured(figures: Figures) -> tuple[str, bool] | None:
        found = figures.values(measure, **about)
        return (f"{reduce(found):,.1f} {unit}", bool(reduce(found) <= limit)) if found else None

    return measured


def least(measure: str, limit: float, **about: object) -> Any:
    """Tests the median of the slowest join."""

    def measured(figures: Figures) -> tuple[str, bool] | None:
        each = {join: figures.values(measure, system=OURS, join=join, **about) for join in JOINS}
        medians = {join: np.median(found) for join, found in each.items() if found}
        if not medians:
            return None
        text = ", ".join(f"{join} {value:,.0f}" for join, value in medians.items())
        return f"{text} rows/s", bool(min(medians.values()) >= limit)

    return measured


def parts(measure: str, limits: Sequence[float], **about: object) -> Any:
    """Tests percentiles over all records of all joins and rounds."""

    def measured(figures: Figures) -> tuple[str, bool] | None:
        if not (found := figures.values(measure, system=OURS, **about)):
            return None
        reached = np.percentile(found, [50, 95, 99])
        holds = all(value <= limit for value, limit in zip(reached, limits, strict=False))
        return f"{' / '.join(f'{value:.1f}' for value in reached)} ms over {len(found):,} records", holds

    return measured


def against(figures: Figures) -> tuple[str, bool] | None:
    """Compares our p50 and p95 with the tuned peer's, for the worst join."""
    shares = []
    for join in JOINS:
        ours, theirs = (figures.values("ms at 20/s", system=name, join=join, accounts=FULL) for name in (OURS, TUNED))
        if ours and theirs:
            shares.append(np.percentile(ours, [50, 95]) / np.percentile(theirs, [50, 95]))
    if not shares:
        return None
    p50, p95 = np.max(shares, axis=0)
    return f"p50 1/{1 / p50:.1f}, p95 1/{1 / p95:.1f} (the worst join)", bool(max(p50, p95) <= 0.5)


def ahead(figures: Figures) -> tuple[str, bool] | None:
    """Compares our catch-up into a topic with that of others."""
    each = {name: figures.values("output: rows/s", system=name) for name in (OURS, *OUTPUT_PEERS)}
    medians = {name: np.median(found) for name, found in each.items() if found}
    if len(medians) < len(each):
        return None
    text = ", ".join(f"{name} {value:,.0f}" for name, value in medians.items())
    return f"{text} rows/s", bool(max(medians, key=lambda name: medians[name]) == OURS)


def nothing_shown(figures: Figures) -> tuple[str, bool] | None:
    found = [line["nothing_s"] for line in figures.where("swap", system=OURS)]
    return (f"{max(found):.2f} s at most", max(found) == 0) if found else None


def server_memory(figures: Figures) -> tuple[str, bool] | None:
    found = [line["root_mb"] for line in figures.where("memory MB, cold", system=OURS, accounts=FULL)]
    peaks = figures.values("memory MB, root process at most", system=OURS, accounts=FULL)
    return (f"{max(found):,.0f} MB; {max(peaks):,.0f} MB", max(found) <= 600 and max(peaks) <= 1200) if found else None


BUDGETS = (
    Budget(
        "producer → changelog reader, 20/s over 1.1M rows",
        "20 / 30 / 300 ms",
        parts("hop: at the changelog reader", (20, 30, 300)),
    ),
    Budget("producer → WebSocket client, the same", "p50 40, p95 60 ms", parts("ms at 20/s", (40, 60), accounts=FULL)),
    Budget("the same, against Deephaven's remote client at 100 ms", "half", against),
    Budget(
        "catch-up, warm, to the changelog reader", "95,000 rows/s", least("catch-up rows/s at the changelog", 95_000)
    ),
    Budget(
        "catch-up, warm, to the server's tables", "80,000 rows/s", least("catch-up rows/s, warm", 80_000, accounts=FULL)
    ),
    Budget("catch-up, warm, into a topic, against Pathway and Flink", "ahead of both", ahead),
    Budget(
        "one hot key, cost of a change against spread keys",
        "3 times",
        most("hot key, times as much for a change", 3, "times", max),
    ),
    Budget(
        "live p95 while 1.1M rows warm beside it",
        "5 times",
        most("live p95 while another warms, ratio", 5, "times"),
        "the warming generation is throttled, but broker, producer and viewer use the processors, too. The slowest "
        "records arrive at the end of an epoch of the live generation.",
    ),
    Budget(
        "flip, to the last of 200 viewers",
        "100 ms",
        most("flip, ms to the last of 200 viewers", 100, "ms at most", max),
    ),
    Budget(
        "500 viewers at 1,000 changed rows/s", "one core", most("server cores for viewers", 1.0, "cores at most", max)
    ),
    Budget(
        "server memory for 1.1M rows and 1M pairs; at most, in a swap to as many", "600 MB; 1,200 MB", server_memory
    ),
    Budget(
        "idle processor time, Spark and server",
        "0.3 cores",
        most("idle cores", 0.3, "cores", system=OURS, accounts=FULL),
    ),
    Budget("swap between topics of 100k rows", "5 s", most("ms: swap between topics of 100k rows", 5_000, "ms")),
    Budget("nothing, an error or some rows only at a viewer in a swap", "0 s", nothing_shown),
    Budget("rollback", "100 ms", most("ms: rollback to one that lingers, 20 times", 100, "ms at most", max)),
    Budget("restart with 1.1M rows", "15 s", most("restart s with 1.1M rows", 15, "s")),
    Budget("demo, from the command to rows", "30 s", most("demo s to rows", 30, "s at most", max)),
)


def write(folder: Path) -> Path:
    """Writes ``report.md``, ``report.json`` and the pictures, from whatever figures there are."""
    figures = Figures.read(folder)
    sections = [head(), budgets(figures)]
    for section in (compared, grown, swapped, written, anatomy):
        sections += [text] if (text := section(figures, folder)) else []
    sections.append(printed(folder))
    path = folder / "report.md"
    path.write_text("\n\n".join(sections) + "\n")
    summary = [{**line, "value": shortened(line["value"])} for line in figures.lines]
    (folder / "report.json").write_text(json.dumps(summary, indent=1) + "\n")
    return path


def shortened(value: float | list[float]) -> object:
    """Replaces a long list by its size and percentiles."""
    if not isinstance(value, list):
        return value
    if len(value) <= 20:
        return value
    p50, p95, p99, top = np.percentile(value, [50, 95, 99, 100])
    return {"count": len(value), "p50": p50, "p95": p95, "p99": p99, "max": top}


def head() -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    return (
        f"# Benchmarks\n\nMade by `scripts/bench` on {datetime.now(UTC):%Y-%m-%d}, commit {commit.strip()}, on\n"
        f"{machine.description()}; with broker, producer, systems and viewers all on this machine.\n\n"
        "Systems take turns, each in a fresh process; medians over the rounds, minimum and maximum in brackets."
    )


def budgets(figures: Figures) -> str:
    lines = ["## Budgets", "", "| what | must | measured | |", "|---|---|---|---|"]
    words = []
    for budget in BUDGETS:
        text, holds = budget.measured(figures) or ("not in this run", None)
        if holds is False and budget.if_missed:
            words += ["", f"Missed, *{budget.what}*: {budget.if_missed}"]
        lines.append(
            f"| {budget.what} | {budget.must} | {text} | {'' if holds is None else '✓' if holds else '**missed**'} |"
        )
    return "\n".join(lines + words)


def compared(figures: Figures, folder: Path) -> str:
    if not figures.where("memory MB, cold", accounts=FULL):
        return ""
    texts = [
        "## Against Deephaven",
        "100,000 users and a million accounts. Latency: from before `produce()` to a remote viewer, for 31 s at 20/s\n"
        "and 8 s at 1,000/s. Evertable commits every 30 s: once in the first, and not in the second.",
    ]
    for join in JOINS:
        rows = [f"### {join}", "", "| | " + " | ".join(SYSTEMS) + " |", "|---|" + "---|" * len(SYSTEMS)]
        for label, measure, part, form in ROWS:
            found = [rounds(figures, measure, part, system=one, join=join, accounts=FULL) for one in SYSTEMS]
            rows.append(f"| {label} | " + " | ".join(spread(each, form) for each in found) + " |")
        texts.append("\n".join(rows))
    draw_latencies(figures, folder / "latency.png")
    draw_catch_up(figures, folder / "catch-up.png")
    texts.append("![Latency by join](latency.png)\n\n![Catch-up by join](catch-up.png)")
    return "\n\n".join(texts)


ROWS: tuple[tuple[str, str, int | str | None, str], ...] = (
    # label, measure, index of a percentile or name of an attribute, format
    ("catch-up, cold: rows/s", "catch-up rows/s, cold", None, "{:,.0f}"),
    ("catch-up, second: rows/s", "catch-up rows/s, warming", None, "{:,.0f}"),
    ("catch-up, third, warm: rows/s", "catch-up rows/s, warm", None, "{:,.0f}"),
    ("cores then", "catch-up rows/s, warm", "cores", "{:.2f}"),
    ("50 % at 20/s: ms", "ms at 20/s", 0, "{:,.1f}"),
    ("95 % at 20/s: ms", "ms at 20/s", 1, "{:,.1f}"),
    ("99 % at 20/s: ms", "ms at 20/s", 2, "{:,.1f}"),
    ("cores at 20/s", "ms at 20/s", "cores", "{:.2f}"),
    ("50 % at 1,000/s: ms", "ms at 1000/s", 0, "{:,.1f}"),
    ("95 % at 1,000/s: ms", "ms at 1000/s", 1, "{:,.1f}"),
    ("99 % at 1,000/s: ms", "ms at 1000/s", 2, "{:,.1f}"),
    ("cores at 1,000/s", "ms at 1000/s", "cores", "{:.2f}"),
    ("cores, idle", "idle cores", None, "{:.2f}"),
    ("memory after the first, all processes: MB", "memory MB, cold", None, "{:,.0f}"),
    ("memory after the third", "memory MB, warm", None, "{:,.0f}"),
)


def rounds(figures: Figures, measure: str, part: int | str | None, **about: object) -> list[float]:
    """A figure for each round."""
    if isinstance(part, int):
        return [found[part] for found in figures.percentiles(measure, **about)]
    if part is not None:
        return [line[part] for line in figures.where(measure, **about)]
    return figures.values(measure, **about)


def spread(values: Sequence[float], form: str) -> str:
    if not values:
        return "–"
    middle, low, high = (form.format(value) for value in (np.median(values), min(values), max(values)))
    return f"**{middle}** ({low}–{high})"


def grown(figures: Figures, folder: Path) -> str:
    sizes = sorted({line["accounts"] for line in figures.where("memory MB, warm", join="left")})
    if len(sizes) < 2:
        return ""
    lines = [
        "## Growth",
        "",
        "`left` join; a tenth as many users as accounts.",
        "",
        "| accounts | system | catch-up, warm: rows/s | cores | 50 % at 20/s: ms | 95 % | cores | memory: MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for system in SYSTEMS[:2]:
            about: dict[str, object] = {"system": system, "join": "left", "accounts": size}
            ages = figures.percentiles("ms at 20/s", **about)
            shown = (
                spread(figures.values("catch-up rows/s, warm", **about), "{:,.0f}"),
                spread(rounds(figures, "catch-up rows/s, warm", "cores", **about), "{:.2f}"),
                spread([found[0] for found in ages], "{:,.1f}"),
                spread([found[1] for found in ages], "{:,.1f}"),
                spread(rounds(figures, "ms at 20/s", "cores", **about), "{:.2f}"),
                spread(figures.values("memory MB, warm", **about), "{:,.0f}"),
            )
            lines.append(f"| {size:,} | {system} | {' | '.join(shown)} |")
    draw_growth(figures, sizes, folder / "growth.png")
    return "\n".join([*lines, "", "![Growth](growth.png)"])


def swapped(figures: Figures, folder: Path) -> str:  # noqa: ARG001 - as the others
    if not figures.where("swap"):
        return ""
    lines = [
        "## A swap while viewers watch",
        "",
        "From 100,000 rows to 100,000 others, in seconds from the request. With Deephaven the name is rebound at the",
        "server, and a second viewer reopens it immediately. *Nothing* is how long the viewer had no row, an error, or",
        "only some of the rows.",
        "",
        "| | an open viewer sees the new topics | any viewer does | all rows there | nothing | cores | memory: MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for system in SYSTEMS:
        if not (found := figures.where("swap", system=system)):
            continue
        opened = [line["open_viewer_s"] for line in found if line["open_viewer_s"] is not None]
        first = spread(opened, "{:.2f}") if opened else "never"
        rest = [
            spread([line[name] for line in found], "{:.2f}")
            for name in ("any_viewer_s", "complete_s", "nothing_s", "cores")
        ]
        rest.append(spread([line["memory_mb"] for line in found], "{:,.0f}"))
        lines.append(f"| {system} | {first} | {' | '.join(rest)} |")
    lines += [
        "",
        "Good records seen after three bad ones on the topic (not JSON, a text and a fraction for a number):",
        "",
    ]
    for line in figures.where("good records seen after bad ones"):
        lines.append(f"- {line['system']}: {line['value']} of {line['sent']} seen")
    return "\n".join(lines)


def written(figures: Figures, folder: Path) -> str:  # noqa: ARG001 - as the others
    names = list(dict.fromkeys(line["system"] for line in figures.where("output: latency ms", join=None)))
    if not names:
        return ""
    lines = [
        "## At an output topic",
        "",
        "An inner join into a topic, without tables and viewers: Evertable's changelog, Pathway with",
        "`autocommit_duration_ms=20`, Flink with a buffer timeout of 0. The third catch-up of a JVM counts; Pathway",
        "has none, so its first counts. Memory is that of all processes at the end.",
        "",
        "| | catch-up: rows/s | cores | 50 % at 20/s: ms | 95 % | 99 % | cores | memory: MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        ages = figures.percentiles("output: latency ms", system=name)
        shown = (
            spread(figures.values("output: rows/s", system=name), "{:,.0f}"),
            spread(rounds(figures, "output: rows/s", "cores", system=name), "{:.2f}"),
            *(spread([found[at] for found in ages], "{:,.1f}") for at in range(3)),
            spread(rounds(figures, "output: latency ms", "cores", system=name), "{:.2f}"),
            spread(rounds(figures, "output: latency ms", "memory_mb", system=name), "{:,.0f}"),
        )
        lines.append(f"| {name} | {' | '.join(shown)} |")
    earlier = [spread(figures.values(f"output: rows/s, run {number}", system=OURS), "{:,.0f}") for number in (1, 2)]
    return "\n".join([*lines, "", f"Evertable's first catch-up: {earlier[0]} rows/s; its second: {earlier[1]}."])


def anatomy(figures: Figures, folder: Path) -> str:
    if not figures.where("hop: Spark"):
        return ""
    lines = [
        "## Where the milliseconds go",
        "",
        "Evertable, 20 records/s over 1.1M rows; median / 95 % / 99 % of each hop.",
        "",
        "| hop | " + " | ".join(JOINS) + " |",
        "|---|" + "---|" * len(JOINS),
    ]
    for hop in (*HOPS, "at the changelog reader", "at the viewer"):
        found = [figures.values(f"hop: {hop}", join=join) for join in JOINS]
        texts = [" / ".join(f"{p:.1f}" for p in np.percentile(one, [50, 95, 99])) if one else "–" for one in found]
        lines.append(f"| {hop} | {' | '.join(texts)} |")
    draw_anatomy(figures, folder / "anatomy.png")
    return "\n".join([*lines, "", "![Hops](anatomy.png)"])


def printed(folder: Path) -> str:
    """Quotes the output of other parts."""
    files = [
        file for file in sorted(folder.glob("*.txt")) if file.stem in ("engine", "swaps", "viewers", "tables", "demo")
    ]
    texts = [f"### {file.stem}\n\n{fenced(file.read_text())}" for file in files]
    return "\n\n".join(["## What the other parts printed", *texts])


def fenced(text: str) -> str:
    return text.strip() if "|---|" in text else f"```\n{text.strip()}\n```"


def draw_latencies(figures: Figures, path: Path) -> None:
    chart, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for rate, axis in zip((20, 1_000), axes, strict=True):
        for part, alpha in ((0, 1.0), (1, 0.35)):
            bars(axis, figures, f"ms at {rate}/s", part, alpha)
        axis.set(title=f"Producer → remote viewer, {rate:,} records/s", yscale="log")
    axes[0].set_ylabel("ms: median, and 95 % pale")
    finish(chart, axes[0], path)


def draw_catch_up(figures: Figures, path: Path) -> None:
    chart, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    bars(axis, figures, "catch-up rows/s, warm")
    axis.set(title="Catch-up of 1.1M rows, warm", ylabel="rows/s")
    finish(chart, axis, path)


def bars(axis: Any, figures: Figures, measure: str, part: int | None = None, alpha: float = 1.0) -> None:
    for number, system in enumerate(SYSTEMS):
        places = np.arange(len(JOINS)) + (number - 1) * 0.27
        heights = [_median(rounds(figures, measure, part, system=system, join=join, accounts=FULL)) for join in JOINS]
        axis.bar(places, heights, 0.25, color=COLOURS[system], alpha=alpha, label=system if alpha == 1.0 else None)
    axis.set_xticks(range(len(JOINS)), JOINS)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else 0.0


def draw_growth(figures: Figures, sizes: Sequence[int], path: Path) -> None:
    chart, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    for system in SYSTEMS[:2]:
        about = [{"system": system, "join": "left", "accounts": size} for size in sizes]
        series = (
            [_median(figures.values("catch-up rows/s, warm", **one)) for one in about],
            [_median([found[0] for found in figures.percentiles("ms at 20/s", **one)]) for one in about],
            [_median(figures.values("memory MB, warm", **one)) for one in about],
        )
        for axis, values in zip(axes, series, strict=True):
            axis.plot(sizes, values, marker="o", color=COLOURS[system], label=system)
    for axis, title in zip(axes, ("catch-up, rows/s", "median ms at 20/s", "memory, MB"), strict=True):
        axis.set(title=title, xlabel="accounts", ylim=(0, None), xscale="log")
    finish(chart, axes[0], path)


def draw_anatomy(figures: Figures, path: Path) -> None:
    chart, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    left = np.zeros(len(JOINS))
    for hop in HOPS:
        widths = np.array([_median(figures.values(f"hop: {hop}", join=join)) for join in JOINS])
        axis.barh(JOINS, widths, left=left, label=hop)
        left += widths
    axis.set(title="Median of each hop, 20 records/s over 1.1M rows", xlabel="ms")
    axis.invert_yaxis()
    finish(chart, axis, path)


def finish(chart: Any, legend: Any, path: Path) -> None:
    handles, labels = legend.get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small", frameon=False)
    chart.savefig(path, dpi=110)
    plt.close(chart)
