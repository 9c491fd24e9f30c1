"""Memory of a long run: resident memory after batch 100 and after batch 10,000."""

from __future__ import annotations

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
BATCHES, EARLY, BATCH = 10_000, 100, 128


def jobs() -> list[Job]:
    def prepare() -> None:
        data.array_file("arrays", 60_000, (28, 28))
        data.image_folder()

    return [
        Job(
            name="steady",
            title=f"{BATCHES:,} batches: resident memory after batch {EARLY} and after the last.",
            unit="memory",
            measure="growth",
            contenders=(
                Contender("penstock", "Penstock, arrays", "steady", {"pipeline": "arrays"}),
                Contender("penstock", "Penstock, Python map on two threads", "steady", {"pipeline": "map"}),
                Contender("penstock", "Penstock, images, batches of 2", "steady", {"pipeline": "images"}),
                Contender("tfdata", "tf.data, arrays", "steady"),
                Contender("torch", "torch DataLoader, arrays", "steady"),
                Contender("grain", "Grain, arrays", "steady"),
            ),
            target=Target(at_most=0.01),
            rounds=1,
            options={
                "data": str(data.DATA / "arrays.npy"),
                "folder": str(data.DATA / "images"),
                "batch": BATCH,
                "batches": BATCHES,
                "early": EARLY,
            },
            prepare=prepare,
        )
    ]
