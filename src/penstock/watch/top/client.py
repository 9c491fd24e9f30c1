"""Questions to the processes of this user that have passes under way."""

from __future__ import annotations

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from penstock.core.frozen import frozen
from penstock.watch.top.folder import sockets
from penstock.watch.top.message import PassSeen, from_data

PATIENCE_OF_CLIENT = 1.0  # seconds for an answer
ASKED_AT_ONCE = 16  # processes that are asked at the same time
MOST_ANSWERED = 1 << 24  # bytes of an answer
OTHER_VERSION = "runs Penstock {}, whose answer this version cannot read"


@frozen()
class ProcessSeen:
    """A process with passes under way, or the reason why they cannot be shown."""

    path: str
    """The path of its socket."""
    pid: int
    command: tuple[str, ...] = ()
    passes: tuple[PassSeen, ...] = ()
    failed: str = ""


def processes_seen() -> list[ProcessSeen]:
    """Return all processes of this user that can be looked at; sockets of dead ones are removed."""
    paths = list(sockets())
    with ThreadPoolExecutor(
        max(min(len(paths), ASKED_AT_ONCE), 1)
    ) as pool:  # a process that is stopped holds up no other
        found = list(pool.map(_seen, paths))
    return sorted((each for each in found if each is not None), key=lambda each: each.pid)


def change(path: str, changes: dict[str, int], number: int | None = None) -> tuple[list[str], list[str]]:
    """Change the passes of a process, or one; return in words what they do from now on, and what they cannot do.

    `changes` has `workers`, `memory_budget` (bytes), `pause` or `resume` (1).
    """
    try:
        answer = ask(path, {"do": "change", "pass": number, **changes})
    except (OSError, ValueError) as error:
        return [], [f"the process does not answer: {error}"]
    if answer is None:
        return [], ["the process has ended"]
    if "error" in answer:
        return [], [str(answer["error"])]
    return [str(each) for each in answer.get("done", ())], [str(each) for each in answer.get("refused", ())]


def ask(path: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of the process at a socket; `None` if it is dead, and its socket is removed.

    Raises an `OSError` or a `ValueError` if there is no answer, or no readable one.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_OF_CLIENT)
        try:
            connection.connect(path)
        except FileNotFoundError:  # it has just ended
            return None
        except ConnectionRefusedError:  # it was killed
            with suppress(OSError):
                os.unlink(path)
            return None
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n") and len(answer) < MOST_ANSWERED:
            more = connection.recv(1 << 16)
            if not more:
                break
            answer += more
    data = json.loads(answer)
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, not {type(data).__name__}")  # noqa: TRY004 - as of other bad data
    return data


def _seen(path: str) -> ProcessSeen | None:
    named = os.path.basename(path).partition("-")[0]
    pid = int(named) if named.isdecimal() else 0
    try:
        answer = ask(path, {"do": "show"})
    except (OSError, ValueError) as error:
        return ProcessSeen(path, pid, failed=f"does not answer: {error}")
    if answer is None:
        return None
    try:
        passes = tuple(from_data(each) for each in answer["passes"])
        return ProcessSeen(path, int(answer["pid"]), tuple(map(str, answer["command"])), passes)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ProcessSeen(path, pid, failed=OTHER_VERSION.format(answer.get("penstock", "of another version")))
