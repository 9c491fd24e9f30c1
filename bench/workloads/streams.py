"""The cost of a stream for each element: filter, flat_map, interleave, shuffle and unbatch against plain generators."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS, FEW, BATCH = 2_000_000, 50_000, 256
KINDS = {
    "filter": "map of `lambda x: x + 1` → filter of `lambda x: x % 2 == 0`",
    "flat_map": "flat_map of `lambda x: [x] * 4`, over a quarter of the elements",
    "interleave": "interleave of ranges of 1,000, eight at a time",
    "shuffle": "filter that keeps all → shuffle with a buffer of 10,000",
    "unbatch": "batches of 256 → filter that keeps all → unbatch",
}


def jobs() -> list[Job]:
    return [job(kind) for kind in KINDS]


def job(kind: str) -> Job:
    """Make the job of one transformation."""
    plain = (Contender("penstock", "Penstock, vectorized=False", "streams", {"vectorized": False}),)
    return Job(
        name=f"streams {kind}",
        title=f"`range({ROWS:,})` → {KINDS[kind]} → batch {BATCH}.",
        unit="elements/s",
        contenders=(
            Contender("limit", "plain Python generators", "streams"),
            Contender("penstock", "Penstock", "streams"),
            *(plain if kind == "filter" else ()),
            Contender("tfdata", "tf.data", "streams", {"rows": FEW}),
        ),
        check=lambda label, checks: check(checks, kind),
        target=Target(of_limit=0.8 if kind == "filter" else 0.5),
        options={"rows": ROWS, "batch": BATCH, "kind": kind},
        footnotes=(f"tf.data runs over {FEW:,} elements, to save time; the figures are per second.",),
    )


def check(checks: dict[str, Any], kind: str) -> list[str]:
    """Check for the right number of elements in batches of int64; the filter keeps half of them."""
    share = 2 if kind == "filter" else 1
    expected = [rows // share // BATCH * BATCH for rows in (ROWS, FEW)]
    wrong = {
        f"{checks['rows']} elements": checks["rows"] not in expected,
        f"batches {checks['shapes']}": checks["shapes"] != [f"int64 ({BATCH},)"],
    }
    return [problem for problem, found in wrong.items() if found]
