"""`python -m bench.feeding`: check the feeds on the devices of this machine, and measure them in a table.

For PyTorch and JAX, as far as they are installed: the conformance suite, then the time of a step of a small ResNet with
the same batch again and again (replayed), with the feed, and with a tuned loader of the framework's users; and the rate
of transfers as a share of plain copies out of pinned memory.
"""

from __future__ import annotations

import argparse
import importlib.util

from bench.feeding import jax_steps, torch_steps
from bench.feeding.work import Work

MOST_SLOWDOWN = 1.02  # of a step with the feed, over the same batch replayed
LEAST_SHARE = 0.9  # of the rate of a plain copy out of pinned memory


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.feeding", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try the program itself (default: cuda)")
    parser.add_argument("--frameworks", default="torch,jax", help="comma-separated (default: torch,jax)")
    parser.add_argument("--batch", type=int, default=256, help="images in a batch (default: 256)")
    parser.add_argument("--size", type=int, default=224, help="pixels of a side (default: 224)")
    parser.add_argument("--images", type=int, default=4096, help="images in memory (default: 4096)")
    parser.add_argument("--steps", type=int, default=60, help="steps in a round (default: 60)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts (default: 5)")
    parser.add_argument("--workers", type=int, default=8, help="workers of a DataLoader (default: 8)")
    parser.add_argument("--flip", action="store_true", help="flip images on the CPU: 150 KB of strided copies each")
    arguments = parser.parse_args()
    work = Work(
        arguments.device,
        arguments.batch,
        arguments.size,
        arguments.images,
        arguments.steps,
        arguments.rounds,
        arguments.workers,
        arguments.flip,
    )
    for name, check in (("torch", torch_steps.check), ("jax", jax_steps.check)):
        if name in arguments.frameworks.split(","):
            if importlib.util.find_spec(name) is None:
                print(f"{name}: not installed")
            else:
                report(name, work, check)


def report(name: str, work: Work, check) -> None:
    print(f"{name} on {work.device}, batches of {work.batch} images of {work.size} x {work.size} x 3 bytes", flush=True)
    times, rates, verdict = check(work)
    replayed = times["replayed"]
    for what, seconds in times.items():
        slowdown = seconds / replayed
        print(f"  {what:<40} {seconds * 1e3:9.2f} ms a step {slowdown:7.3f} x replayed{met(what, slowdown)}")
    plain = rates.get("plain copy, pinned")
    for what, rate in rates.items():
        share = f"{rate / plain:7.2f} x plain" if plain else ""
        kept = "" if what != "the feed" or not plain else f", target {LEAST_SHARE}: {yes(rate >= LEAST_SHARE * plain)}"
        print(f"  {what:<40} {rate / 1e9:9.1f} GB/s       {share}{kept}")
    print(f"  {verdict}", flush=True)


def met(what: str, slowdown: float) -> str:
    return f", target {MOST_SLOWDOWN}: {yes(slowdown <= MOST_SLOWDOWN)}" if what == "the feed" else ""


def yes(is_met: bool) -> str:
    return "met" if is_met else "missed"


if __name__ == "__main__":
    main()
