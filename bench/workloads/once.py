"""The check of workloads that read rows of files: each row once, in full batches."""

from __future__ import annotations

from typing import Any


def each_once(checks: dict[str, Any], what: str, rows: int, batch: int) -> list[str]:
    """Return the errors in the counts of a pass over `rows` rows, each of which is a `what`.

    >>> each_once({"rows": 8, "most": 1, "records": 8}, "line", 9, 4)
    []
    >>> each_once({"rows": 8, "most": 2, "records": 7}, "line", 9, 4)
    ['a line 2 times', '7 different lines']
    """
    expected = rows // batch * batch
    wrong = {
        f"{checks['rows']} {what}s": checks["rows"] != expected,
        f"a {what} {checks['most']} times": checks["most"] != 1,
        f"{checks['records']} different {what}s": checks["records"] != expected,
    }
    return [problem for problem, found in wrong.items() if found]
