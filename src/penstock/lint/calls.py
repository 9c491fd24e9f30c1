"""Calls that likely do not do what was meant."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.lint.written import Found, Written


def result_thrown_away(written: Written) -> Iterator[Found]:
    """A statement that is nothing but a transformation has no effect.

    A dataset never changes. Each transformation returns a new one, which has to be given a name or used at once:
    `ds = ds.shuffle()`.
    """
    if not written.thrown_away:
        return
    name = written.plan.name
    call = "ds[...]" if name == "slice" else f"ds.{name}(...)"
    yield Found(
        written.plan,
        f"the result of {call} was thrown away. A transformation returns a new dataset and leaves the one it is called "
        f"on as it is: write `ds = {call}`",
    )
