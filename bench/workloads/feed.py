"""A small training step in PyTorch or JAX on the CPU, fed with images in memory: how much longer a step takes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
IMAGES, SIZE, BATCH = 2048, 64, 32
WIDTHS = (16, 32, 64, 128)  # channels of the network, so that a step takes some 15 ms on two cores
LOW, HIGH = (0 - 127) / 64, (255 - 127) / 64  # of normalized images

TORCH = {
    "torch": ({}, {"workers": 1}, {"workers": 2}, {"workers": 1, "prefetch": 4}),
    "jax": ({}, {"threads": 1}, {"workers": 1}, {"workers": 2}, {"workers": 1, "prefetch": 4}),
}
GRAIN = ({}, {"read": 1}, {"read": 1, "buffer": 1}, {"read": 2})
TFDATA = (
    {},
    {"prefetch": 1},
    {"prefetch": 2},
    {"calls": 1},
    {"calls": 2},
    {"threads": 1},
    {"xla": True},
    {"xla": True, "threads": 1},
)


def jobs() -> list[Job]:
    return [make("torch", "PyTorch"), make("jax", "JAX")]


def make(framework: str, title: str) -> Job:
    """Make the job of one framework, which every contender needs in the version that the limit has."""
    try:
        version = installed(framework)
    except PackageNotFoundError:
        version = None
    return Job(
        name=f"feed {framework}",
        title=f"{IMAGES:,} × {SIZE} × {SIZE} × 3 `uint8` and labels, shuffled, normalized, batch {BATCH} "
        f"→ a training step of a small ResNet in {title}, on the CPU. Time for each step.",
        unit="time for each step",
        measure="slowdown",
        contenders=(
            Contender("limit", "NumPy between the steps, written by hand", "feed"),
            Contender("penstock", "Penstock", "feed"),
            Contender("penstock", "Penstock, finish=, depth=2", "feed", {"finish": True, "depth": 2}),
            Contender("torch", "torch DataLoader", "feed", candidates=TORCH[framework]),
            Contender("grain", "Grain", "feed", candidates=GRAIN),
            Contender("tfdata", "tf.data", "feed", candidates=TFDATA),
        ),
        check=check,
        target=Target(of_limit=1.02),
        rounds=7,
        options={
            "framework": framework,
            "version": version,
            "data": str(data.DATA / "feed.npy"),
            "labels": str(data.DATA / "feed-labels.npy"),
            "batch": BATCH,
            "steps": IMAGES // BATCH,
            "widths": WIDTHS,
        },
        footnotes=(f"{title} {version or 'is missing'}, with its own choice of threads.",),
        prepare=prepare,
    )


def prepare() -> None:
    data.array_file("feed", IMAGES, (SIZE, SIZE, 3))
    data.label_file("feed-labels", IMAGES)


def check(label: str, checks: dict[str, Any]) -> list[str]:
    steps = IMAGES // BATCH
    shape = f"float32 ({BATCH}, {SIZE}, {SIZE}, 3)"
    wrong = {
        f"{checks['rows']} steps instead of {steps}": checks["rows"] != steps,
        f"batches {checks['shapes']} instead of {shape}": checks["shapes"] != [shape],
        f"{checks['records']} different records, {checks['fewest']} to {checks['most']} times each": (
            (checks["records"], checks["fewest"], checks["most"]) != (IMAGES, 1, 1)
        ),
        f"values in {checks['low']:g}..{checks['high']:g}": (checks["low"], checks["high"]) != (LOW, HIGH),
    }
    return [problem for problem, found in wrong.items() if found]
