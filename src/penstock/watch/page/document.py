"""The page of a report, from facts to HTML; all that comes from data or the user's code is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from penstock.watch.page import drawings, style
from penstock.watch.page.facts import Costs, Levels, Timeline
from penstock.watch.stats import PLURALS, Stats, count, cut, names, operations_table, percent, rate
from penstock.watch.verdict import verdict

LANES = {"waits": "consumer waits", "steps": "consumer steps"}
LONGEST_DRAWN = 56  # characters of an operation's name that fit beside its pipe
STYLE = f"""
:root{{color-scheme:light dark;--ink:#1d2330;--soft:#5d6678;--paper:#fff;--card:#f5f6f9;--line:#dde1e9;
  --blue:#2f6fde;--red:#d9483b;--green:#2c9a63;--violet:#8a5bd6;--amber:#c98a12}}
@media(prefers-color-scheme:dark){{:root{{--ink:#e6e9f0;--soft:#9aa4b8;--paper:#14171d;--card:#1d222b;
  --line:#323a48;--blue:#6ea2ff;--red:#ff7a6b;--green:#5fcf97;--violet:#b592ff;--amber:#f0b84a}}}}
@media print{{:root{{color-scheme:light;--ink:#000;--soft:#444;--paper:#fff;--card:#fff;--line:#bbb}}
  h2,p{{break-after:avoid}}.wide,svg,figure,tr,li{{break-inside:avoid}}}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}}
main{{max-width:820px;margin:0 auto;padding:24px 16px 64px;overflow-wrap:break-word}}
h1{{font-size:1.5rem;margin:0}}
h2{{font-size:1.1rem;margin:36px 0 10px}}
.verdict{{border-left:4px solid var(--blue);background:var(--card);padding:12px 16px;margin:16px 0;border-radius:4px}}
.failed{{border-color:var(--red);white-space:pre-wrap;overflow-wrap:anywhere}}
.figures{{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}}
.figures div{{background:var(--card);border-radius:6px;padding:10px 14px;flex:1 1 120px}}
.figures b{{display:block;font-size:1.25rem}}
.scroll{{overflow-x:auto}}
ul{{padding-left:20px}}
li{{overflow-wrap:anywhere}}
.square{{max-width:300px}}
{style.rules()}
@media(max-width:520px){{.plan{{overflow-x:auto}}.plan svg{{min-width:560px}}.figures div{{flex-basis:40%}}
  .wide text,.wide text.soft{{font-size:18px}}td,th{{padding:5px 4px}}table{{font-size:.8rem}}}}
"""


@dataclass
class ReportFacts:
    """All that a page shows."""

    title: str
    stats: Stats
    timeline: Timeline
    costs: Costs
    levels: Levels
    slowest: list[str] = field(default_factory=list)  # in words
    records: list[tuple[str, list[str], Costs]] = field(default_factory=list)  # a heading, the slowest, and all
    samples: str = ""  # HTML
    order: list[float] = field(default_factory=list)  # positions in the source, of 0 to 1, in the order of the elements
    mixing: float | None = None
    findings: list[str] = field(default_factory=list)
    explained: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    is_recorded: bool = True


def page(facts: ReportFacts) -> str:
    """Return the page."""
    parts = [
        _top(facts),
        _section("Plan", _plan(facts.stats)),
        _section("Who waited for whom", _timeline(facts)),
        _section("What elements cost", _costs(facts)),
        _section("Memory", _memory(facts)),
        _section("Decisions and events", _list([*facts.stats.decisions, *map(str, facts.stats.events)])),
        _section("Sample elements", facts.samples),
        _section("Order", _order(facts)),
        _section("Findings", _list(facts.findings) or "<p>None.</p>"),
        _section("As written and as run", f"<div class=scroll><code>{escape(facts.explained)}</code></div>"),
        _section("Environment", _table([[name, value] for name, value in facts.environment.items()])),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(facts.title)}</title><style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>"
    )


def _top(facts: ReportFacts) -> str:
    stats = facts.stats
    figures = {
        f"{PLURALS[stats.unit]} a second": rate(stats.rate),
        "of the time waited": f"{100 * stats.wait_share:.0f} %",
        "seconds": f"{stats.seconds:,.2f}",
    }
    if stats.peak_bytes:
        figures["peak of batches"] = size_text(stats.peak_bytes)
    cells = "".join(
        f"<div><b>{escape(value)}</b><small>{escape(name)}</small></div>" for name, value in figures.items()
    )
    told = escape(verdict(stats)).replace(" %", "&nbsp;%")
    failed = f'<p class="verdict failed"><b>Failed.</b> {escape(stats.failure)}</p>' if stats.failure else ""
    return (
        f"<h1>{escape(facts.title)}</h1>"
        f"<p class=soft>{count(stats.items, stats.unit)}, {stats.rows:,} rows, {escape(stats.mode)}</p>"
        f"{failed}<p class=verdict>{told}</p><div class=figures>{cells}</div>"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>" if content else ""


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _table(rows: Sequence[Sequence[Any]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=scroll><table>{lines}</table></div>"


def _plan(stats: Stats) -> str:
    if not stats.operations:
        return "<p>No operation was measured.</p>"
    total = sum(each.wall for each in stats.operations) or 1.0
    told = [
        (
            cut(name, LONGEST_DRAWN),
            each.wall / total,
            f"{100 * each.wall / total:.0f} % of the work, {each.rows:,} rows",
        )
        for name, each in zip(names(stats.operations), stats.operations, strict=True)
    ]
    head, *rows = operations_table(stats)
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    table = _table(rows).replace("<table>", f"<table><tr>{cells}</tr>", 1)
    return f"<div class=plan>{drawings.plan(told)}</div>{table}"


def _timeline(facts: ReportFacts) -> str:
    line = facts.timeline
    if not line.lanes:
        return "" if facts.is_recorded else "<p>Not recorded: call report() before the first item.</p>"
    kinds = {"waits": "wait", "steps": "step"}
    lanes = [(lane, kinds.get(lane, "task"), line.shares(lane)) for lane in sorted(line.lanes, key=_rank)]
    used = max(max((at + 1 for at, share in enumerate(shares) if share), default=1) for _, _, shares in lanes)
    shown = [(LANES.get(lane, lane), kind, shares[:used]) for lane, kind, shares in lanes]
    legend = (
        "<p class=soft>The consumer waits (red) or steps (green); workers and transfers to a device are busy (blue). "
        "Height is share of time.</p>"
    )
    return f"<div class=wide>{drawings.timeline(shown, used * line.width / 1e9)}</div>{legend}"


def _rank(lane: str) -> tuple[int, int, str]:
    return {"waits": 0, "steps": 1, "transfers": 2}.get(lane, 3), len(lane), lane  # worker 2 before worker 10


def _costs(facts: ReportFacts) -> str:
    bars = facts.costs.histogram()
    if not bars:
        return ""
    drawn = drawings.histogram([(_time(least), count) for least, count in bars], "Items by what they cost")
    slowest = facts.costs.slowest
    share = percent(sum(each.took for each in slowest) / (facts.costs.total or 1))
    most = f"<p>The slowest {len(slowest)} of {facts.costs.tasks:,} tasks took {share} of the work:</p>"
    axes = _axes(facts.stats.unit, PLURALS[facts.stats.unit])
    of_records = "".join(map(_record_costs, facts.records))
    return f"<div class=wide>{drawn}</div>{axes}{most}{_list(facts.slowest)}{of_records}"


def _record_costs(told: tuple[str, list[str], Costs]) -> str:
    heading, slowest, costs = told
    bars = [(_time(least), count) for least, count in costs.histogram()]
    drawn = f"<div class=wide>{drawings.histogram(bars, 'Records by what they cost')}</div>"
    return f"<p>{escape(heading)}:</p>{_list(slowest)}{drawn}{_axes('record', 'records')}"


def _axes(one: str, many: str) -> str:
    return f"<p class=soft>Right: the time of one {one}, on a logarithmic scale. Up: the number of {many}.</p>"


def _time(seconds: float) -> str:
    return (
        f"{seconds:.3g} s"
        if seconds >= 1
        else f"{seconds * 1e3:.3g} ms"
        if seconds >= 1e-3
        else f"{seconds * 1e6:.3g} µs"
    )


def size_text(count: int) -> str:
    """Return a number of bytes in KB or MB.

    >>> size_text(2_340), size_text(5_000_000)
    ('2.3 KB', '5.0 MB')
    """
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} KB"


def _memory(facts: ReportFacts) -> str:
    levels, stats = facts.levels, facts.stats
    drawn = ""
    if len(levels.times) > 1 and any(map(any, levels.values.values())):
        curves = drawings.curves(levels.times, levels.values, "MB", "Memory held over time")
        drawn = f"<div class=wide>{curves}</div>"
    told = [*(f"grows: {each}" for each in stats.growing), *stats.notes]
    most = f"<p>At most {size_text(stats.peak_bytes)} of batches.</p>" if stats.peak_bytes else ""
    return drawn + most + _list(told)


def _order(facts: ReportFacts) -> str:
    if not facts.order or facts.mixing is None:
        return ""
    points = [(at / len(facts.order), position) for at, position in enumerate(facts.order)]
    text = (
        f"<p>Mixing: <b>{facts.mixing:.2f}</b> of a uniform shuffle (1 is uniform, 0 is the order of the source), "
        "by the distance in the source between successive elements.</p>"
    )
    drawn = drawings.square(points, "Position in the source (up) of elements as they come (right)")
    return f"{text}<div class=square>{drawn}</div><p class=soft>Right: as they come. Up: position in the source.</p>"
