"""Tables of what speed.py measured."""

from __future__ import annotations

import statistics
from typing import Any

from reporting import standing, table

SYSTEMS = ("bitweft", "eflomal", "fast_align")
LEARNED = ("lse", "chain", "count")
CORES = (8, 32, 64)
WIDTHS = {"lse": 4, "chain": 4}  # groups of a batch: no more threads than these have work


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """Write each table, by name."""
    made = {
        "race": race_table(results),
        "kept": kept_table(results),
        "phases": phases_table(results),
        "products": products_table(results),
        "cores": cores_table(results),
        "length": length_table(results),
    }
    return {name: text for name, text in made.items() if text}


def steps(results: dict[str, Any], what: str) -> list[dict[str, Any]]:
    """Give the steps of one kind."""
    return [step for step in results["steps"] if step["what"] == what]


def races(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Give, for each text, the median cost over the turns of each system that ran on it."""
    found = []
    for row in dict.fromkeys(step["row"] for step in steps(results, "race")):
        own = [step for step in steps(results, "race") if step["row"] == row]
        merged = {"row": row, "pairs": own[0]["pairs"]}
        for system in (name for name in SYSTEMS if name in own[0]):
            names = own[0][system]
            merged[system] = {name: statistics.median(step[system][name] for step in own) for name in names}
        found.append(merged)
    return found


def race_table(results: dict[str, Any]) -> str:
    """Lay out what training plus aligning costs."""
    head = ["text", "", "wall s", "CPU s", "peak MiB"]
    lines = []
    for row in races(results):
        for system in (name for name in SYSTEMS if name in row):
            cost = [f"{row[system][name]:.1f}" for name in ("wall", "cpu")]
            lines.append([row["row"], system, *cost, f"{row[system]['memory']:.0f}"])
        if "eflomal" in row:
            ratios = [row["bitweft"][name] / row["eflomal"][name] for name in ("wall", "cpu", "memory")]
            lines.append(["", "**bitweft / eflomal**", *(f"**{ratio:.2f}**" for ratio in ratios)])
    return f"{standing(results)}\n\n{table(head, lines)}" if lines else ""


def rate(step: dict[str, Any], threads: int) -> float | None:
    """Give the pairs a second that a kept model aligns, the start of the program left out.

    A text that takes hardly longer than the start is too short to tell.
    """
    whole, one = step[f"whole, {threads}"]["wall"], step[f"one, {threads}"]["wall"]
    return float((step["pairs"] - 1) / (whole - one)) if whole > 1.5 * one else None


def kept_table(results: dict[str, Any]) -> str:
    """Lay out what aligning with a kept model costs."""
    lines = []
    for step in steps(results, "kept"):
        lines.append(
            [f"training on {step['pairs']:,} pairs, {step['threads']} threads", _said(step["train"])]
        )
        for threads in sorted({1, step["threads"]}):
            cost = step[f"whole, {threads}"]
            with_start = step["pairs"] / cost["wall"]
            own = rate(step, threads)
            alone = "the start is most of it" if own is None else f"**{own:,.0f} pairs/s**"
            said = f"{alone} ({with_start:,.0f} pairs/s with the start); {_said(cost)}"
            lines.append([f"aligning {step['pairs']:,} pairs, {threads} thread(s)", said])
        tenth = step[f"tenth, {step['threads']}"]
        lines.append([f"aligning {step['pairs'] // 10:,} pairs", _said(tenth)])
        for name in (key for key in step if key.endswith(" words")):
            lines.append([f"aligning one pair of {name}", _said(step[name])])
        if "short" in step:
            few = f"learning from {step['short']['pairs']} pairs and aligning them"
            lines.append([few, _said(step["short"])])
            lines.append(["single pairs by `Aligner.align`", f"**{step['single']:,.0f} a second**"])
        lines.append(["from command to first link", f"{step['first_link']:.2f} s"])
        torch = "with" if step["imports_torch"] else "without"
        for what, name in ((f"importing bitweft, {torch} PyTorch", "import"), ("`Aligner.load`", "load")):
            lines.append([what, f"{step[name]['wall']:.2f} s, CPU {step[name]['cpu']:.2f} s"])
        for row in races(results):
            speed = rate(step, step["threads"])
            if row["row"] == step["row"] and speed is not None and "eflomal" in row:
                faster = speed * row["eflomal"]["wall"] / row["pairs"]
                lines.append(["a pair, against eflomal's training and aligning", f"{faster:.0f} × faster"])
    return table(["with a kept model", ""], lines) if lines else ""


def _said(cost: dict[str, float]) -> str:
    return f"{cost['wall']:.1f} s, CPU {cost['cpu']:.1f} s, peak {cost['memory']:.0f} MiB"


def phases_table(results: dict[str, Any]) -> str:
    """Lay out where the time goes, and how it grows with the pairs."""
    names = ("reading", *LEARNED, "aligning")
    head = ["text", *names, "total", *(f"{name}, µs a pair and pass" for name in LEARNED)]
    lines = []
    for step in steps(results, "phases"):
        own = step["seconds"]
        per_pass = [own[name] / step["epochs"][name] / _pairs(step, name) * 1e6 for name in LEARNED]
        spent = [f"{own[name]:.1f} s" for name in names]
        lines.append([step["row"], *spent, f"{sum(own.values()):.1f} s", *(f"{us:.0f}" for us in per_pass)])
    return table(head, lines) if lines else ""


def _pairs(step: dict[str, Any], phase: str) -> int:
    """Tell how many pairs a phase goes over; those of runs before there was a sample learned from all."""
    return int(step["learned"] if phase == "count" else step.get("sampled", step["learned"]))


def shares(step: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Set the time of the products alone against the time of each kind of pass."""
    alone, own, epochs = step["products"], step["seconds"], step["epochs"]
    groups = _pairs(step, "lse") / step["group"]
    found = {}
    for name, times, unit in (
        ("learning", groups * (epochs["lse"] + epochs["chain"]), "group"),
        ("counting", step["learned"] * epochs["count"], "pair"),
        ("aligning", step["pairs"], "pair"),
    ):
        phases = {"learning": ("lse", "chain"), "counting": ("count",)}.get(name, ("aligning",))
        seconds = sum(own[phase] for phase in phases)
        flop = times * alone[f"{unit}_flop"]
        found[name] = {
            "share": times * alone[f"{unit}_seconds"] / seconds,
            "in_products": alone[f"{unit}_flop"] / alone[f"{unit}_seconds"],
            "achieved": flop / seconds,
            "flop_a_pair": flop / step["pairs"],
        }
    return found


def products_table(results: dict[str, Any]) -> str:
    """Lay out the share of the products, and how near they come to the peak."""
    head = [
        "text",
        "",
        "MFLOP a pair",
        "share of time in products",
        "GFLOP/s in products",
        "GFLOP/s in all",
        "peak",
    ]
    lines = []
    for step in steps(results, "phases"):
        for name, own in shares(step).items():
            speeds = [own["in_products"], own["achieved"], step["peak_flops"]]
            share = f"{100 * own['share']:.0f} %"
            shown = [f"{own['flop_a_pair'] / 1e6:.2f}", share, *(f"{flops / 1e9:.1f}" for flops in speeds)]
            lines.append([step["row"], name, *shown])
    return table(head, lines) if lines else ""


def amdahl(one: float, several: float, threads: int, cores: int, width: int | None = None) -> float:
    """Tell the seconds on some cores, of what takes `one` on one thread and `several` on so many threads.

    At most `width` threads have work at a time.
    """
    serial = min(max((threads * several / one - 1) / (threads - 1), 0.0), 1.0)
    return one * (serial + (1 - serial) / min(cores, width or cores))


def cores_table(results: dict[str, Any]) -> str:
    """Lay out the wall seconds of each phase on one thread and on several, and what more cores would give."""
    lines = []
    for step in steps(results, "cores"):
        one, several = step["walls"]["1"], step["walls"][str(step["threads"])]
        rows = []
        for name in one:
            own = (one[name], several[name], step["threads"])
            rows.append(
                [one[name], several[name], *(amdahl(*own, cores, WIDTHS.get(name)) for cores in CORES)]
            )
            lines.append([step["row"], name, *(f"{seconds:.1f} s" for seconds in rows[-1])])
        total = [sum(column) for column in zip(*rows, strict=True)]
        lines.append([step["row"], "**all**", *(f"**{seconds:.1f} s**" for seconds in total)])
    head = [
        "text",
        "",
        "1 thread",
        f"{results['threads']} threads",
        *(f"{cores} cores (Amdahl)" for cores in CORES),
    ]
    return table(head, lines) if lines else ""


def length_table(results: dict[str, Any]) -> str:
    """Lay out how time grows with the length of sentences."""
    head = ["words (longer side)", "pairs", "mean words", "bitweft CPU s", "eflomal CPU s", "ratio"]
    lines = []
    for step in steps(results, "length"):
        cpu = [step[system]["cpu"] for system in ("bitweft", "eflomal")]
        first, last = step["lengths"]
        shown = [f"{step['pairs']:,}", f"{step['words']:.1f}", *(f"{own:.1f}" for own in cpu)]
        lines.append([f"{first}–{last}", *shown, f"{cpu[0] / cpu[1]:.2f}"])
    return table(head, lines) if lines else ""
