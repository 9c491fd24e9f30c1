"""Sessions for tests of single stages, as the options of a dataset ask for them."""

from __future__ import annotations

from contextlib import contextmanager

from penstock import Dataset, Options
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tuning.settings import settings_of

INLINE = Options(executor="inline")
THREADS = Options(executor="threads", workers=4)


@contextmanager
def session_with(options):
    session = Session(settings_of(Dataset.range(1).with_options(options)._plan), CarryOver(), Unobserved())
    try:
        yield session
    finally:
        session.close()


@contextmanager
def scope_with(options):
    with session_with(options) as session:
        yield session.scope()
