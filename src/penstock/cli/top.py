"""Show the passes that are under way on this machine, and change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.cli.files.amounts import size
from penstock.cli.terminal import Terminal
from penstock.watch.live.view import Glance, Style, clipped, lines_of_run
from penstock.watch.stats import PLURALS, cut, rate
from penstock.watch.top.client import ProcessSeen, change, processes_seen
from penstock.watch.verdict import verdict

if TYPE_CHECKING:
    from penstock.watch.top.message import PassSeen

NO_PASSES = (
    "No pass is under way. A process is shown once a pass of it has lasted for a second, unless it runs as another "
    "user, in another container, or with PENSTOCK_TOP=0."
)
NOT_FOUND = "No process {} with a pass under way is found; penstock top --once shows all."
HEADS = ("PID", "program", "pass", "place", "rate", "waiting", "workers", "memory", "limit")
_WIDEST_PROGRAM = 24  # columns
_WIDEST_PASS = 18
MAY_BE_CUT = ("program", "pass", "limit")
SHORT_CELL, LEAST_CELL = 16, 10  # columns of these, before and after others are left out
LEAVE_FIRST, LEAVE_LAST = ("memory", "workers"), ("program", "place", "limit", "waiting")


def show_passes(terminal: Terminal, pid: int | None = None) -> bool:
    """Print the passes of all processes as a table, or those of one with their operations; return whether it exists."""
    found = processes_seen()
    if pid is None:
        if found:
            terminal.show("\n".join(table_of_passes(found, {}, terminal.width if terminal.moving else None)), 0)
        else:
            terminal.say(NO_PASSES, 0)
        return True
    process = next((each for each in found if each.pid == pid), None)
    if process is None:
        terminal.show(NOT_FOUND.format(pid), 0)
        return False
    terminal.show(f"{process.pid}  {' '.join(process.command)}", 0)
    if process.failed:
        terminal.show(process.failed, 0)
    for each in process.passes:
        terminal.show("\n".join(details_of(each, None, terminal.width - 1, Style())), 0)
        terminal.say(verdict(each.glance.stats))
    return not process.failed


def change_passes(terminal: Terminal, pid: int, changes: dict[str, int], number: int | None = None) -> bool:
    """Change the passes of a process, or one of them, and print the result; return whether all could be changed."""
    process = next((each for each in processes_seen() if each.pid == pid), None)
    if process is None:
        terminal.show(NOT_FOUND.format(pid), 0)
        return False
    done, refused = change(process.path, changes, number)
    terminal.show("\n".join([*done, *refused]), 0)
    return not refused


def table_of_passes(
    processes: Sequence[ProcessSeen], before: dict[tuple[str, int], Glance], width: int | None = None
) -> list[str]:
    """Return lines of text: a head, and one for each pass with its number, and with rates since its moment `before`.

    If there is not enough `width`, long names are cut, and columns are left out.
    """
    rows: list[tuple[str, ...]] = [HEADS]
    for process in processes:
        program = clipped(program_of(process.command), _WIDEST_PROGRAM)
        if process.failed:
            rows.append((str(process.pid), process.failed, *[""] * (len(HEADS) - 2)))
        cells = [_cells(each, before.get((process.path, each.number))) for each in process.passes]
        rows += [(str(process.pid), program, *each) for each in cells]
        if not process.passes and not process.failed:
            rows.append((str(process.pid), program, "between passes", *[""] * (len(HEADS) - 3)))
    widths = [max(map(len, column)) for column in zip(*[row for row in rows if row[2] or row is HEADS], strict=True)]
    kept = list(range(len(HEADS)))
    if width is not None:
        _fit(widths, kept, width)
    lines: list[str] = []
    for row in rows:
        whole = bool(row[2])  # else a reason, which takes several columns
        cells = [(row[at] if len(row[at]) <= widths[at] or not whole else cut(row[at], widths[at])) for at in kept]
        line = "  ".join(cell.ljust(widths[at]) for cell, at in zip(cells, kept, strict=True)).rstrip()
        lines.append(line if width is None else clipped(line, width))
    return lines


def _fit(widths: list[int], kept: list[int], width: int) -> None:
    """Make columns narrower, and leave some out, until the others fit into a width."""
    for least, leaving in ((SHORT_CELL, LEAVE_FIRST), (LEAST_CELL, LEAVE_LAST)):
        for head in ("", *leaving):
            if head:
                kept.remove(HEADS.index(head))
            over = sum(widths[at] + 2 for at in kept) - 2 - width
            for at in sorted((at for at in kept if HEADS[at] in MAY_BE_CUT), key=lambda at: -widths[at]):
                less = max(min(over, widths[at] - least), 0)
                widths[at] -= less
                over -= less
            if over <= 0:
                return


def details_of(seen: PassSeen, before: Glance | None, width: int, style: Style) -> list[str]:
    """Return the lines of a pass as `it.live()` shows them."""
    return lines_of_run(f"pass {seen.number}: {seen.name}, epoch {seen.epoch}", seen.glance, before, width, style)


def program_of(command: Sequence[str]) -> str:
    """Return a command without the interpreter and its options.

    >>> program_of(["/usr/bin/python3", "-X", "dev", "train.py", "--fast"])
    'train.py --fast'
    >>> program_of(["python", "-m", "penstock", "run", "a.py:ds"])
    '-m penstock run a.py:ds'
    """
    rest = list(command[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        rest = rest[2 if rest[0] in ("-X", "-W") else 1 :]
    text = " ".join(rest or command)
    return "".join(each if each.isprintable() else " " for each in text)


def _cells(seen: PassSeen, before: Glance | None) -> list[str]:
    now, stats = seen.glance, seen.glance.stats
    seconds = stats.seconds - (before.stats.seconds if before else 0.0)
    items = stats.items - (before.stats.items if before else 0)
    waited = stats.waited - (before.stats.waited if before else 0.0)
    place = f"{now.reached:,}/{now.total:,}" if now.total >= 0 else f"{now.reached:,}"
    found = verdict(stats)
    limit = {"early": "", "step": "step"}.get(found.kind, f"{found.kind}: {found.operation}")
    held = max(stats.live_bytes, sum(each.bytes for each in stats.held))
    return [
        f"{seen.number} {clipped(seen.name, _WIDEST_PASS)}",
        place,
        f"{rate(items / seconds)} {PLURALS[stats.unit]}/s" if seconds > 0 else "",
        f"{100 * min(waited / seconds, 1):.0f} %" if seconds > 0 else "",
        stats.mode,
        size(held),
        "paused" if now.paused else limit,
    ]
