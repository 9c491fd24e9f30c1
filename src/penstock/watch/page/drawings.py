"""Drawings of a report as SVG, in the colors of the page, so that they are legible in light, dark and print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDE = 720
CHARACTER = 10  # width of most characters on a phone, where text is largest
WIDEST_LABEL = 9 * CHARACTER


def svg(height: float, parts: Sequence[str], title: str, width: float = WIDE) -> str:
    """Return a drawing as wide as its place, with a title for those who cannot see it."""
    told = escape(title)
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{told}"><title>{told}</title>'
    return f"{head}{''.join(parts)}</svg>"


def words(x: float, y: float, text: str, *, kind: str = "", end: bool = False) -> str:
    """Return a text; `end` aligns its end with `x`."""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{anchor}>{escape(text)}</text>'


def bar(x: float, y: float, wide: float, high: float, kind: str, hint: str = "") -> str:
    """Return a rectangle, with a hint for the mouse."""
    told = f"<title>{escape(hint)}</title>" if hint else ""
    size = f'width="{max(wide, 0):.1f}" height="{max(high, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{kind}">{told}</rect>'


def plan(operations: Sequence[tuple[str, float, str]]) -> str:
    """Draw operations from the sources down as pipes whose widths are their shares of the time."""
    parts: list[str] = []
    middle, high = 120.0, 46
    for number, (name, share, told) in enumerate(operations):
        y = 8 + number * high
        wide = 4 + 200 * share
        parts.append(bar(middle - wide / 2, y, wide, high - 14, "work", f"{name}: {told}"))
        if number:
            parts.append(bar(middle - 2, y - 14, 4, 14, "pipe"))
        parts += [words(240, y + 14, name, kind="strong"), words(240, y + 29, told, kind="soft")]
    return svg(
        len(operations) * high + 8, parts, "The operations, from the sources down; widths are shares of the time"
    )


def timeline(lanes: Sequence[tuple[str, str, Sequence[float]]], seconds: float) -> str:
    """Draw a lane for each row of (name, kind, shares), whose heights are shares of the time busy."""
    parts: list[str] = []
    left, high = 150.0, 30
    for number, (name, kind, shares) in enumerate(lanes):
        y, used = 4 + number * high, shares
        step = (WIDE - left) / max(len(used), 1)
        parts.append(words(left - 8, y + 18, name, end=True))
        parts.append(bar(left, y, WIDE - left, high - 6, "lane"))
        parts += [
            bar(left + at * step, y + (high - 6) * (1 - share), step + 0.2, (high - 6) * share, kind)
            for at, share in enumerate(used)
            if share > 0
        ]
    y = 4 + len(lanes) * high + 12
    parts += [words(left, y, "0 s", kind="soft"), words(WIDE, y, f"{seconds:.3g} s", kind="soft", end=True)]
    return svg(y + 6, parts, "The time that the consumer waited and each worker was busy")


def histogram(bars: Sequence[tuple[str, int]], title: str) -> str:
    """Draw bars of (label of the least value, count)."""
    most, high = max(count for _, count in bars), 130
    step = WIDE / len(bars)
    parts = [
        bar(
            at * step + 1,
            10 + high * (1 - count / most),
            step - 2,
            high * count / most,
            "work",
            f"from {label}: {count:,}",
        )
        for at, (label, count) in enumerate(bars)
    ]
    labeled = range(0, len(bars), max(-(-len(bars) // 7), 1))
    for at in labeled:
        is_last, label = at == labeled[-1] and at * step > WIDE - WIDEST_LABEL, bars[at][0]
        if is_last or at == labeled[-1] or at * step < WIDE - 2 * WIDEST_LABEL:
            parts.append(words(WIDE if is_last else at * step, high + 31, label, kind="soft", end=is_last))
    return svg(high + 38, parts, title)


def curves(times: Sequence[float], values: dict[str, list[float]], unit: str, title: str) -> str:
    """Draw curves of values at moments (s) over one another, with a legend; those that are always 0 are left out."""
    values = {name: each for name, each in values.items() if any(each)}
    high, top = 150.0, max([max(each, default=0) for each in values.values()] + [1e-9])
    span = (times[-1] - times[0]) or 1.0
    parts: list[str] = [bar(0, 10, WIDE, high, "lane")]
    x = 0.0
    for number, (name, each) in enumerate(values.items()):
        points = " ".join(
            f"{(time - times[0]) / span * WIDE:.1f},{10 + high * (1 - value / top):.1f}"
            for time, value in zip(times, each, strict=True)
        )
        parts.append(f'<polyline points="{points}" class="curve c{number % 5}"/>')
        parts += [bar(x, high + 19, 10, 10, f"key c{number % 5}"), words(x + 15, high + 28, name)]
        x += 32 + CHARACTER * len(name)
    parts.append(words(WIDE - 4, 26, f"{top:,.3g} {unit}", kind="soft", end=True))
    parts.append(words(WIDE, high + 28, f"over {span:,.3g} s", kind="soft", end=True))
    return svg(high + 36, parts, title)


def square(points: Sequence[tuple[float, float]], title: str) -> str:
    """Draw points of a square from (0, 0) to (1, 1)."""
    size = 260
    parts = [bar(0, 4, size, size, "lane")]
    parts += [f'<circle cx="{x * size:.1f}" cy="{4 + size * (1 - y):.1f}" r="1.6" class="dot"/>' for x, y in points]
    return svg(size + 8, parts, title, size)
