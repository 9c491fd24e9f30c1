"""Turns results into rows of text: absolute figure, spread, share of the limit, and Penstock against the best peer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.harness import BEFORE, Result
from bench.job import Job

Row = tuple[str, str, str, str]
NO_PEERS = ("limit", "penstock", BEFORE)
RELATIVE = {"rate": "share of the limit", "time": "× the limit", "slowdown": "× replayed"} | {
    "overhead": "× without",
    "growth": "growth",
}
STEPS = ("slowdown", "overhead")  # measures of one batch, which a contender reports
FLOOR = 0.97  # of the speed of the build before


def limit_seconds(job: Job, results: Sequence[Result]) -> float | None:
    """Return the limit in seconds per row: by formula, or as the median of the contender on the limit's side."""
    if job.limit_seconds is not None or job.measure in STEPS:
        return job.limit_seconds or 1.0
    return next((result.median for result in results if result.side == "limit" and result.values), None)


def share(job: Job, result: Result, limit: float | None) -> float | None:
    """Return the ratio shown in the table: the share of the limit (rate) or the multiple of the limit (time)."""
    if limit is None or not result.values:
        return None
    return limit / result.median if job.measure == "rate" else result.median / limit


def best_peer(results: Sequence[Result]) -> Result | None:
    peers = [result for result in results if result.values and result.side not in NO_PEERS]
    return min(peers, key=lambda result: result.median, default=None)


def header(job: Job) -> Row:
    return ("contender", job.unit, "±", RELATIVE[job.measure])


def rows(job: Job, results: Sequence[Result]) -> list[Row]:
    """Return one row per contender, in the job's order."""
    limit = limit_seconds(job, results)
    table: list[Row] = []
    if job.limit_seconds is not None:
        table.append(("limit (formula)", figure(job, job.limit_seconds), "", "1.000"))
    for result in results:
        label = {
            "penstock": result.label,
            BEFORE: f"{result.label}, the build before",
        }.get(result.side, f"{result.label} {result.version}".strip())
        if not result.values:
            table.append((label, result.problem, "", ""))
        elif job.measure == "growth":
            table.append((label, memory(result), "", f"{100 * result.median:+.2f} %"))
        else:
            ratio = share(job, result, limit)
            relative = "" if ratio is None else f"{ratio:.{decimals(job)}f}"
            shown = step(result) if job.measure in STEPS else figure(job, result.median)
            table.append((label, shown, f"{100 * result.spread:.0f} %", relative))
    return table


def decimals(job: Job) -> int:
    """Return the decimals of a ratio in the table: three if the target allows only a few percent above the limit."""
    of_limit = job.target.of_limit
    return 3 if job.measure in ("time", *STEPS) and of_limit is not None and of_limit < 1.1 else 2


def step(result: Result) -> str:
    seconds = result.extra["step" if "step" in result.extra else "with"]
    return f"{1000 * seconds:.3g} ms"


def memory(result: Result) -> str:
    return " → ".join(f"{result.extra.get(key, 0) / 2**20:.1f} MB" for key in ("early_bytes", "late_bytes"))


def figure(job: Job, seconds: float) -> str:
    """Format a speed or a time with three digits."""
    if job.measure == "rate":
        return f"{significant(1 / seconds):,}" if 1 / seconds >= 1000 else f"{1 / seconds:.3g}"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def significant(value: float) -> int:
    digits = len(str(int(value)))
    return round(value, 3 - digits) if digits <= 3 else int(round(value, 3 - digits))


def verdicts(job: Job, results: Sequence[Result]) -> list[str]:
    """Compare Penstock's rows with the job's target, one sentence each, whether met or missed."""
    limit, peer = limit_seconds(job, results), best_peer(results)
    ours = [result for result in results if result.side == "penstock" and result.values]
    lines = [f"{result.label}: {line}" for result in ours for line in compare(job, result, limit, peer)]
    before = {result.label: result for result in results if result.side == BEFORE and result.values}
    lines += [
        f"{result.label}: {since(job, before[result.label], result)}" for result in ours if result.label in before
    ]
    peers = [result for result in results if result.values and result.side not in NO_PEERS]
    lines += [f"{result.label}: {used(result)}" for result in peers if "efficiency" in result.extra]
    watched = [result for result in results if result.values and "cpu_ms" in result.extra]
    if job.target.less_cpu:
        lines += cpu_compared(watched)
    lines += [
        f"{result.label}: {result.extra['cpu_ms']:.2f} ms of CPU time a row, first batch after "
        f"{result.extra['first_s']:.2f} s"
        for result in watched
    ]
    killed = [result for result in results if result.values and "gap_s" in result.extra]
    return lines + [f"{result.label}: waited for a batch {result.extra['gap_s']:.2f} s at most" for result in killed]


def cpu_compared(watched: Sequence[Result]) -> list[str]:
    """Compare Penstock's CPU time a row with the least of all peers."""
    peers = [result.extra["cpu_ms"] for result in watched if result.side not in NO_PEERS]
    ours = [result for result in watched if result.side == "penstock"]
    return [
        f"{result.label}: {result.extra['cpu_ms'] / min(peers):.3g} × the least CPU time of a peer "
        f"(target < 1: {said(result.extra['cpu_ms'] < min(peers))})"
        for result in ours
        if peers
    ]


def compare(job: Job, ours: Result, limit: float | None, peer: Result | None) -> list[str]:
    lines: list[str] = []
    target, ratio = job.target, share(job, ours, limit)
    rate = job.measure == "rate"
    if target.of_limit is not None and ratio is not None:
        good = ratio >= target.of_limit if rate else ratio <= target.of_limit
        sign, unit = ("≥", "of the limit") if rate else ("≤", RELATIVE[job.measure])
        multiple = f"{ratio:.3f}" if decimals(job) == 3 else f"{ratio:.3g}"
        lines.append(f"{multiple} {unit} (target {sign} {target.of_limit:g}: {said(good)})")
    if target.of_best_peer is not None and peer is not None:
        times = peer.median / ours.median
        lines.append(
            f"{times:.3g} × the best peer, {peer.label} (target ≥ {target.of_best_peer:g}: "
            f"{said(times >= target.of_best_peer)})"
        )
    if target.at_most_bytes is not None and "peak_bytes" in ours.extra:
        peak = ours.extra["peak_bytes"]
        good = said(peak < target.at_most_bytes)
        lines.append(f"{peak / 2**20:.2f} MB more at the peak (target < {target.at_most_bytes / 2**20:g} MB: {good})")
    if target.efficiency is not None and "efficiency" in ours.extra:
        good = said(ours.extra["efficiency"] >= target.efficiency)
        lines.append(f"{used(ours)} (target ≥ {target.efficiency:g}: {good})")
    if target.at_most is not None and job.measure == "growth":
        lines.append(
            f"{100 * ours.median:+.2f} % (target < {100 * target.at_most:g} %: {said(ours.median < target.at_most)})"
        )
    elif target.at_most is not None:
        good = ours.median <= target.at_most
        lines.append(f"{1000 * ours.median:.3g} ms (target < {1000 * target.at_most:g} ms: {said(good)})")
    return lines


def since(job: Job, before: Result, ours: Result) -> str:
    """Compare a row with that of the build before, round by round, since both ran in turn."""
    if job.measure == "growth":
        return f"{ours.extra['late_bytes'] / before.extra['late_bytes']:.2f} × the memory of the build before"
    if len(before.values) != len(ours.values) or min(ours.values) <= 0:
        return f"{ours.median:.3g}, where the build before had {before.median:.3g}"
    faster = statistics.median(was / now for was, now in zip(before.values, ours.values, strict=True))
    return f"{faster:.3f} × the speed of the build before (floor {FLOOR:g}: {said(faster >= FLOOR)})"


def used(result: Result) -> str:
    return f"{result.extra['efficiency']:.4f} of all positions hold tokens"


def said(good: bool) -> str:
    return "met" if good else "missed"


def terminal(job: Job, results: Sequence[Result]) -> str:
    table = [header(job), *rows(job, results)]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    lines = [f"\n{job.name}: {job.title}"]
    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
    return "\n".join([*lines, *("→ " + line for line in verdicts(job, results))])


def markdown(job: Job, results: Sequence[Result]) -> str:
    lines = [f"### `{job.name}`", "", job.title, ""]
    lines.append("| " + " | ".join(header(job)) + " |")
    lines.append("| --- | ---: | ---: | ---: |")
    lines += ["| " + " | ".join(row) + " |" for row in rows(job, results)]
    lines.append("")
    lines.extend(f"* {line}" for line in verdicts(job, results))
    lines.extend(f"* {note}" for note in job.footnotes)
    notes = [f"* {result.label}: {result.note}" for result in results if result.note]
    return "\n".join([*lines, *notes])
