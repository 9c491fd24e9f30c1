"""Draws the results: one line for each job, with the speed of every contender as a multiple of the limit's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.harness import Result
from bench.job import Job
from bench.table import STEPS, best_peer, limit_seconds

OURS, PEERS, LIMIT = "#0b7285", "#adb5bd", "#343a40"


def draw(found: Sequence[tuple[Job, list[Result]]], path: Path) -> None:
    """Draw the jobs that have a limit into `path`: a dot for each contender, farther right is faster."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = [(job, results) for job, results in found if job.measure not in STEPS and limit_seconds(job, results)]
    if not shown:
        return
    picture, axis = plt.subplots(figsize=(9, 1.2 + 0.27 * len(shown)), layout="constrained")
    for place, (job, results) in enumerate(shown):
        draw_job(axis, -place, job, results)
    axis.axvline(1, color=LIMIT, linestyle="--", linewidth=1)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(mpl.ticker.FormatStrFormatter("%g"))
    axis.set_yticks([-place for place in range(len(shown))], [job.name for job, _ in shown])
    axis.set_ylim(0.7 - len(shown), 0.7)
    axis.set_xlabel("speed as a multiple of the limit (dashed)")
    axis.tick_params(labelsize=8)
    axis.grid(axis="x", color="#e9ecef")
    axis.set_axisbelow(True)
    for name, color in (("Penstock", OURS), ("peers", PEERS)):
        axis.scatter([], [], color=color, s=36, label=name)
    picture.legend(loc="outside upper right", ncols=2, fontsize=8, frameon=False)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    picture.savefig(path, dpi=110)
    plt.close(picture)


def draw_job(axis, place: int, job: Job, results: Sequence[Result]) -> None:
    """Draw one job: a line from the best peer to Penstock, and a dot for every contender but the limit."""
    limit = limit_seconds(job, results)
    assert limit is not None
    ours = next((result for result in results if result.side == "penstock" and result.values), None)
    peer = best_peer(results)
    if ours is not None and peer is not None:
        axis.plot([limit / peer.median, limit / ours.median], [place, place], color=PEERS, linewidth=1, zorder=1)
    for result in results:
        if result.values and result.side != "limit":
            color = OURS if result.side == "penstock" else PEERS
            axis.scatter(limit / result.median, place, color=color, s=36, zorder=3 if color == OURS else 2)
