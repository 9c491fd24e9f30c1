"""Hunt deadlocks: many threads open, close, break, fork, restore and abandon iterators, and check what they receive.

Run with `python -m tests.stress --minutes 10 --seed 0`. The seed, the number of the thread and that of the scene draw
a scene, and its elements are compared with those of the same pipeline inline. A program that stands still for a minute
prints all stacks and ends with code 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import random
import sys
import threading
from time import monotonic

from tests.stress.scenes import SCENES, Shared

STANDSTILL = 60  # seconds


def main() -> int:
    """Play scenes in all threads until the time is over; return the number of failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", choices=sorted(SCENES), help="play only this one")
    options = parser.parse_args()
    faulthandler.enable()  # for children that stand still
    logging.getLogger("penstock").setLevel(logging.ERROR)  # executors break, and are reported, all the time
    until, failures = monotonic() + 60 * options.minutes, list[str]()
    played = dict.fromkeys(SCENES, 0)
    shared = Shared()

    def play(thread: int) -> None:
        number = 0
        while monotonic() < until:
            number += 1
            draw = random.Random(f"{options.seed} {thread} {number}")
            name = options.scene or draw.choice(sorted(SCENES))
            try:
                SCENES[name](draw, shared)
            except BaseException as error:  # noqa: BLE001 - told, and the hunt goes on
                failures.append(f"seed {options.seed}, thread {thread}, scene {number} ({name}): {error!r:.2000}")
                print(failures[-1], file=sys.stderr, flush=True)
            played[name] += 1
            faulthandler.dump_traceback_later(STANDSTILL, exit=True)

    faulthandler.dump_traceback_later(STANDSTILL, exit=True)
    threads = [threading.Thread(target=play, args=[number], daemon=True) for number in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    faulthandler.cancel_dump_traceback_later()
    print(", ".join(f"{count} {name}" for name, count in played.items()), f"{len(failures)} failures", sep="; ")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
