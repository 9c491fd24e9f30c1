"""The elements that a function makes, inline and in other processes."""

from __future__ import annotations

import numpy as np

import penstock as ps

ALL = {
    "processes": lambda ds: ds.with_options(ps.Options(executor="processes", workers=2)),
    "threads": lambda ds: ds.with_options(ps.Options(executor="threads", workers=2)),
    "isolated": lambda ds: ds.with_options(ps.Options(isolate=True)),
    "shared": lambda ds: ds.share("elements"),
}


def same_everywhere(function, *, modes=("processes",), rows=6):
    """Return the elements that a function makes inline, after a look that all others make the same."""
    ds = ps.Dataset.range(rows).map(function)
    expected = outcome(ds, "inline")
    for mode in modes:
        assert outcome(ALL[mode](ds), None) == expected, mode
    return expected


def outcome(ds, executor):
    ds = ds if executor is None else ds.with_options(ps.Options(executor=executor))
    try:
        return [np.asarray(each).tolist() for each in ds]
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error).splitlines()[0]
