"""The counts of a pass as a notebook shows them: the verdict, figures, and a bar for each operation."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from penstock.watch.notebook.frame import in_frame
from penstock.watch.page.document import size_text
from penstock.watch.stats import count, cut, operations_table, rate

if TYPE_CHECKING:
    from penstock.watch.stats import Stats

BAR_PIXELS = 160  # pixels of a bar
LONGEST_BARRED = 56  # characters of an operation's name
EVENTS_SHOWN = 5


def stats_html(stats: Stats, title: str = "", verdict: str = "") -> str:
    """Return the counts as HTML, under a title and with a verdict, if these are given."""
    heading = f"<p><b>{escape(title)}</b></p>" if title else ""
    judged = f"<p class=verdict>{escape(verdict)}</p>" if verdict else ""
    return in_frame(heading, f"<p>{_figures(stats)}</p>", judged, _operations(stats), _told(stats))


def share_bar(share: float, kind: str = "") -> str:
    """Return a bar whose width is a share of the widest."""
    wide = max(round(BAR_PIXELS * min(max(share, 0.0), 1.0)), 1)
    return f'<span class="share {kind}" style="width:{wide}px"></span>'


def _figures(stats: Stats) -> str:
    plural = {"batch": "batches"}.get(stats.unit, "elements")
    parts = [count(stats.items, stats.unit)]
    if stats.unit == "batch":
        parts.append(f"{stats.rows:,} rows")
    parts.append(f"{stats.seconds:,.2f} s")
    if stats.items and stats.seconds:
        parts.append(f"{rate(stats.rate)} {plural}/s")
    parts.append(stats.mode)
    if stats.ahead:
        parts.append(f"{stats.ahead} tasks under way")
    if stats.peak_bytes:
        parts.append(f"at most {size_text(stats.peak_bytes)} of batches")
    waited = (
        f" {share_bar(stats.wait_share, 'wait')} waited {100 * stats.wait_share:.0f} % of the time"
        if stats.items
        else ""
    )
    return escape(" · ".join(parts)) + (f"<br>{waited}" if waited else "")


def _operations(stats: Stats) -> str:
    if not stats.operations:
        return ""
    head, *rows = operations_table(stats)
    total = sum(each.wall for each in stats.operations) or 1.0
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}<th></th></tr>"]
    for row, operation in zip(rows, stats.operations, strict=True):
        cells = [cut(row[0], LONGEST_BARRED), *row[1:]]
        told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        lines.append(f'<tr>{told}<td style="text-align:left">{share_bar(operation.wall / total)}</td></tr>')
    return f"<div class=scroll><table>{''.join(lines)}</table></div>"


def _told(stats: Stats) -> str:
    lines = [f"failed: {each}" for each in stats.failure.splitlines()[:1]]
    lines += [f"memory grows: {each}" for each in stats.growing] + [f"memory: {each}" for each in stats.notes]
    lines += [] if stats.fetched is None else [f"storage: {stats.fetched}"]
    lines += [f"event: {each}" for each in stats.events[-EVENTS_SHOWN:]]
    return "".join(f"<p class=soft>{escape(line)}</p>" for line in lines)
