"""The settings that a run has found, for other runs of the same pipeline."""

from __future__ import annotations

from penstock.core.tunings import Tuning
from penstock.engine.runs.session import Session

MOVE_KINDS = ("moved", "stayed")  # kinds of events of a stage that processes make, or would make if they could


def tuning_of(session: Session, operations: tuple[str, ...], *, indexed: bool) -> Tuning:
    """Return the settings of a run so far, of an `indexed` plan or a stream, with the reasons for them.

    `operations` are those of the pipeline as it was written.
    """
    settings, budget = session.settings, session.budget
    threads = max((tuner.threads for tuner in session.tuners), default=0)
    in_threads = session.has_threads and threads > 0
    executor = "processes" if session.made_elsewhere else "threads" if in_threads else "inline"
    workers = 1 if executor == "inline" else threads
    known = session.tuners if session.told is None or indexed else []  # one of them is told
    tasks = tuple(tuner.tasks() for tuner in known)
    why = [reason for tuner in session.tuners for reason in tuner.reasons()]
    why += [event.words for event in session.events if event.kind in MOVE_KINDS]
    if executor == "inline" and settings.executor == "inline":
        required = "a function that one thread only may call" if settings.kept_here else "the options"
        why.append(f"inline, as required by {required}")
    if budget.given and budget.short:
        why.append(f"Options(memory_budget={budget.limit:,}) leaves no room for more items ahead")
    return Tuning(executor, workers, settings.available_cores, operations, tasks, tuple(dict.fromkeys(why)))
