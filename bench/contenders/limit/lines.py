"""The limits of `lines`: a file object, and the json module."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from bench.contenders.limit.overhead import shuffled
from bench.looked import look_at_lines, look_at_objects
from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    is_json, size = options["kind"].startswith("json"), options["batch"]

    def elements(number: int) -> Iterator[Any]:
        with open(options["json" if is_json else "text"], encoding="utf-8") as file:
            made = (json.loads(line) if is_json else line.rstrip("\n") for line in file)
            yield from (
                shuffled(made, options["buffer"], random.Random(number)) if "shuffled" in options["kind"] else made
            )

    def run(tally: Tally, number: int) -> None:
        rest = elements(number)
        while len(rows := list(islice(rest, size))) == size:
            if is_json:
                look_at_objects(tally, {name: np.array([row[name] for row in rows]) for name in rows[0]})
            else:
                look_at_lines(tally, np.array(rows, object))

    return run
