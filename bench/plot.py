"""Draws the results: for each job, the speed of every contender as a share of the limit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.harness import Result
from bench.job import Job
from bench.table import figure, limit_seconds

OURS, PEERS, LIMIT = "#0b7285", "#adb5bd", "#343a40"


def draw(found: Sequence[tuple[Job, list[Result]]], path: Path) -> None:
    """Draw the jobs that have a limit into `path`: three columns of bars, longer is faster; a line marks the limit."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = [(job, results) for job, results in found if limit_seconds(job, results) is not None]
    if not panels:
        return
    rows = -(-len(panels) // 3)
    picture, axes = plt.subplots(rows, 3, figsize=(15, 2.6 * rows), squeeze=False, layout="constrained")
    for axis, (job, results) in zip(axes.flat, panels, strict=False):
        draw_job(axis, job, results)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    picture.suptitle("Speed as a share of the limit (dashed): longer is faster", fontsize=12)
    picture.savefig(path, dpi=110)
    plt.close(picture)


def draw_job(axis, job: Job, results: Sequence[Result]) -> None:
    limit = limit_seconds(job, results)
    assert limit is not None
    shown = [result for result in results if result.values and result.side != "limit"][::-1]
    shares = [limit / result.median for result in shown]
    colors = [OURS if result.side == "penstock" else PEERS for result in shown]
    errors = [share * result.spread for share, result in zip(shares, shown, strict=True)]
    axis.barh([result.label for result in shown], shares, xerr=errors, color=colors, ecolor=LIMIT, height=0.7)
    for place, (share, result) in enumerate(zip(shares, shown, strict=True)):
        color = "white" if result.side == "penstock" and share > 0.3 else "black"
        axis.text(0.01, place, f"{share:.2f}   {figure(job, result.median)}", va="center", fontsize=7, color=color)
    axis.axvline(1, color=LIMIT, linestyle="--", linewidth=1)
    axis.set_xlim(0, max(1.05, *shares, 1.05) * 1.02)
    axis.set_title(f"{job.name} ({job.unit})", fontsize=9, loc="left")
    axis.tick_params(labelsize=7)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
