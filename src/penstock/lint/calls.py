"""Rules about calls that probably do not have the intended effect."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.lint.written import Found, Written


def result_thrown_away(written: Written) -> Iterator[Found]:
    """A statement that consists of a transformation alone has no effect.

    A dataset never changes. Each transformation returns a new one, which must be assigned to a name or used at once:
    `ds = ds.shuffle()`.
    """
    if not written.thrown_away:
        return
    name = written.plan.name
    call = "ds[...]" if name == "slice" else f"ds.{name}(...)"
    yield Found(
        written.plan,
        f"the result of {call} was thrown away, since a transformation returns a new dataset and does not change the "
        "one it is called on",
        f"write `ds = {call}`",
    )
