from __future__ import annotations

from penstock.engine.observer import Unobserved


def test_it_leaves_programs_as_they_are():
    observer = Unobserved()
    program = object()
    assert observer.wrap(None, program) is program
    assert observer.drain() is None
    observer.absorb(None)
