"""The figures of a run under way as lines of text: functions of its counts and of the width that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining, east_asian_width

from penstock.core.frozen import frozen
from penstock.watch.export.figures import shares
from penstock.watch.stats import PLURALS, Stats, count, names, rate
from penstock.watch.verdict import INPUT_BOUND, MOST_WAITING, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
LONG_WAIT_TOLD = 2.0  # seconds of one request from which on the view says what it waits for
WIDEST_BAR = 30  # columns
LEAST_BAR = 8
MOST_OPERATIONS = 10  # lines of them
_SEPARATOR, _ASCII_SEPARATOR = " · ", " | "


@frozen()
class Glance:
    """The counts of a run at one moment, and the place in its epoch.

    `first` counts the items of the epoch before those received, and `total` all of them (below 0 if unknown or without
    end). `waiting` is the time that the consumer has waited in the request under way, in seconds, for a thread in the
    operations `at_work`. `paused` is true if somebody has paused the run.
    """

    stats: Stats
    first: int = 0
    total: int = -1
    waiting: float = 0.0
    at_work: tuple[str, ...] = ()
    paused: bool = False

    @property
    def reached(self) -> int:
        """Return the number of items of the epoch up to now."""
        return self.first + self.stats.items


@frozen()
class Style:
    """The abilities of a terminal: colors, and characters beyond ASCII."""

    color: bool = False
    blocks: bool = True


class Figure(NamedTuple):
    """A piece of a line, with its color."""

    text: str
    color: str = ""


def line_of(title: str, now: Glance, before: Glance | None, width: int, style: Style) -> str:
    """Return one line of at most `width` columns: the position, time left, rate, and share of waiting.

    Rates and shares are those since `before`, or since the beginning. Figures that do not fit are left out, the last
    ones first.

    >>> it = Dataset.range(8).batch(2).iterator()
    >>> _ = next(it), next(it)
    >>> line_of("train", Glance(it.stats(), total=4), None, 40, Style()).startswith("train  2/4 batches · 50 %")
    True
    """
    head = [Figure(f"{_plain(title)}  ", BOLD)] if title else []
    figures = [Figure(_position(now)), *_bar_of_epoch(now, width, style), *_times(now, before)]
    if stuck := _long_wait(now):
        figures[1:1] = [stuck]
    figures += [*_rates(now, before), _waited(now, before), Figure(now.stats.mode)]
    return _painted([*head, *_fitting(figures, width - sum(columns(each.text) for each in head), style)], width, style)


def lines_of_run(title: str, now: Glance, before: Glance | None, width: int, style: Style) -> list[str]:
    """Return lines of at most `width` columns: as `line_of`, then memory, operations, the limit, and the last event."""
    stats = now.stats
    head = [Figure(f"{_plain(title)}  ", BOLD)] if title else []
    first = [Figure(_position(now)), *_bar_of_epoch(now, width, style), *_times(now, before)]
    more = [*_rates(now, before), _waited(now, before), Figure(stats.mode), Figure(f"{stats.ahead} under way")]
    more += [Figure(_memory(stats))]
    room = width - sum(columns(each.text) for each in head)
    lines = [[*head, *_fitting(first, room, style)], _fitting([Figure("   "), *more], width, style, joined_from=1)]
    lines += _operations(now, before, width, style)
    stuck = _long_wait(now)
    if stuck is not None:
        lines.append([Figure("   "), stuck])
    elif limit := _limit(stats):
        lines.append([Figure(f"   {limit}")])
    if stats.events:
        lines.append([Figure(f"   {_plain(str(stats.events[-1]).splitlines()[0])}", YELLOW)])
    return [_painted(line, width, style) for line in lines]


def last_line_of(title: str, last: Glance) -> str:
    """Return the line that stays when a pass is over.

    >>> it = Dataset.range(8).batch(2).iterator()
    >>> batches = list(it)
    >>> last_line_of("train", Glance(it.stats(), total=4)).startswith("train: 4 batches in 0:00")
    True
    """
    stats = last.stats
    of_all = f" of {last.total:,}" if last.total > last.reached else ""
    text = f"{stats.items:,}{of_all} {PLURALS[stats.unit]}" if of_all else count(stats.items, stats.unit)
    text += f" in {clock(stats.seconds)}"
    if stats.items and stats.seconds:
        text += f", {rate(stats.rate)} {PLURALS[stats.unit]}/s, waited {100 * stats.wait_share:.0f} % of the time"
    return f"{_plain(title)}: {text}" if title else text


def clock(seconds: float) -> str:
    """Return a time in hours, minutes and seconds.

    >>> clock(83), clock(7267)
    ('1:23', '2:01:07')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def columns(text: str) -> int:
    """Return the number of columns that a text takes on a terminal.

    >>> columns("abc"), columns("水路")
    (3, 4)
    """
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def as_shown(text: str, style: Style) -> str:
    """Return a text as the terminal can show it, with a `?` for each character that it lacks.

    >>> as_shown("größer", Style(blocks=False))
    'gr??er'
    """
    return text if style.blocks else text.encode("ascii", "replace").decode()


def clipped(text: str, width: int) -> str:
    """Return the beginning of a text that takes at most `width` columns.

    >>> clipped("水路", 3)
    '水'
    """
    while columns(text) > width:
        text = text[: max(min(width, len(text) - 1), 0)]
    return text


def _columns_of(character: str) -> int:
    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def _plain(text: str) -> str:
    """Return a text without characters that would move the cursor."""
    return "".join(each if each.isprintable() else " " for each in text)


def _position(now: Glance) -> str:
    unit = now.stats.unit
    return f"{now.reached:,}/{now.total:,} {PLURALS[unit]}" if now.total >= 0 else count(now.reached, unit)


def _bar_of_epoch(now: Glance, width: int, style: Style) -> list[Figure]:
    if now.total <= 0:
        return []
    share = min(now.reached / now.total, 1.0)
    wide = min(WIDEST_BAR, width // 6)
    bar = [Figure(_bar(share, wide, style), CYAN)] if wide >= LEAST_BAR else []
    return [Figure(f"{int(100 * share)} %"), *bar]


def _bar(share: float, wide: int, style: Style, rest: str = "") -> str:
    done = round(share * wide)
    return ("█" if style.blocks else "#") * done + (rest or ("░" if style.blocks else ".")) * (wide - done)


def _times(now: Glance, before: Glance | None) -> list[Figure]:
    figures = [Figure(clock(now.stats.seconds))]
    recent = _rate(now, before)
    if now.total >= 0 and recent > 0 and now.total > now.reached:
        figures.append(Figure(f"{clock((now.total - now.reached) / recent)} left"))
    return figures


def _rate(now: Glance, before: Glance | None, counted: str = "items") -> float:
    seconds = now.stats.seconds - (before.stats.seconds if before else 0.0)
    number = getattr(now.stats, counted) - (getattr(before.stats, counted) if before else 0)
    return number / seconds if seconds > 0 and number > 0 else 0.0


def _rates(now: Glance, before: Glance | None) -> list[Figure]:
    unit = now.stats.unit
    figures = [Figure(f"{rate(_rate(now, before))} {PLURALS[unit]}/s")]
    return figures + [Figure(f"{rate(_rate(now, before, 'rows'))} rows/s")] * (unit == "batch")


def _waited(now: Glance, before: Glance | None) -> Figure:
    seconds = now.stats.seconds - (before.stats.seconds if before else 0.0)
    waited = now.stats.waited - (before.stats.waited if before else 0.0)
    share = min(max(waited / seconds, 0.0), 1.0) if seconds > 0 else 0.0
    color = GREEN if share < INPUT_BOUND else YELLOW if share < MOST_WAITING else RED
    return Figure(f"waiting {100 * share:.0f} %", color)


def _long_wait(now: Glance) -> Figure | None:
    if now.paused:
        return Figure("paused", YELLOW)
    if now.waiting < LONG_WAIT_TOLD:
        return None
    at = f", in {', '.join(map(_plain, now.at_work))}" if now.at_work else ""
    return Figure(f"has waited {clock(now.waiting)} for the next {now.stats.unit}{at}", RED)


def _memory(stats: Stats) -> str:
    held = max(stats.live_bytes, sum(each.bytes for each in stats.held))
    return f"memory {held / 1e6:,.0f} of {stats.budget / 1e6:,.0f} MB"


def _limit(stats: Stats) -> str:
    """Return the kind of limit, and the operation, in a few words."""
    found = verdict(stats)
    if found.kind == "early":
        return ""
    kind = "GIL" if found.kind == "gil" else found.kind
    return f"{kind}-bound" if found.kind == "step" else f"{kind}-bound: {_plain(found.operation)}"


def _operations(now: Glance, before: Glance | None, width: int, style: Style) -> list[list[Figure]]:
    """Return a line for each operation, or for those with the most work: its name, a bar, its share of all work."""
    operations = now.stats.operations
    work = list(shares(now.stats, before.stats if before else None).values())
    most = sorted(range(len(work)), key=lambda number: -work[number])[:MOST_OPERATIONS]
    named = [_plain(name) for name in names(operations)]
    longest = max((columns(named[number]) for number in most), default=0)
    wide = max(min(WIDEST_BAR, width // 3), 0)
    longest = min(longest, max(width - wide - 11, LEAST_BAR))
    lines: list[list[Figure]] = []
    for number in sorted(most):
        name = clipped(named[number], longest)
        padded = name + " " * (longest - columns(name))
        bar = Figure(_bar(work[number], wide, style, rest=" "), CYAN)
        lines.append([Figure(f"   {padded}  "), bar, Figure(f" {100 * work[number]:3.0f} %")])
    return lines


def _fitting(figures: Sequence[Figure], width: int, style: Style, joined_from: int = 0) -> list[Figure]:
    """Return figures with separators between them, as many of the first as fit into a width."""
    found: list[Figure] = []
    separator = _SEPARATOR if style.blocks else _ASCII_SEPARATOR
    for number, figure in enumerate(figures):
        joint = Figure(separator, DIM) if number > joined_from else Figure("")
        used = sum(columns(each.text) for each in found)
        if found and used + columns(joint.text) + columns(figure.text) > width:
            break
        found += [joint, figure]
    return found


def _painted(figures: Sequence[Figure], width: int, style: Style) -> str:
    """Return the line, cut to a width, with its colors if the terminal has them."""
    text, left = "", width
    for figure in figures:
        cut = clipped(as_shown(figure.text, style), left)
        left -= columns(cut)
        is_colored = style.color and figure.color and cut
        text += f"\x1b[{figure.color}m{cut}\x1b[0m" if is_colored else cut
    return text.rstrip() if not style.color else text
