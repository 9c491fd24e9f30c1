"""The child process of one contender: reads a request as a line of JSON, runs it, answers with a line of JSON.

`{"build": {...}}` makes the pipeline; `{"run": 3, "thorough": false}` runs it once over the data. Standard output
is reserved for the answers; the output of libraries goes to standard error.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from bench.tally import Tally


def main(module: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    run: Callable[[Tally, int], None] | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "build" in request:
                contender = importlib.import_module(module)
                run = contender.build(request["build"])
                answer: dict[str, Any] = {"version": contender.version()}
            else:
                assert run is not None, "run before build"
                answer = measure(run, request["run"], request["thorough"])
        except BaseException as error:  # noqa: BLE001 (reported to the parent)
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
    os._exit(0)  # skip the exit handlers of libraries, which may delay the next contender


def measure(run: Callable[[Tally, int], None], number: int, thorough: bool) -> dict[str, Any]:
    gc.collect()
    tally = Tally(thorough)
    run(tally, number)
    seconds = time.perf_counter() - tally.started
    return {"seconds": seconds, "rows": tally.rows, "checks": tally.checks(), "extra": tally.extra}


if __name__ == "__main__":
    main(sys.argv[1])
