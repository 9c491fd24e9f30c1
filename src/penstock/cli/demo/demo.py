"""The steps of the demo: train from images, interrupt, resume elsewhere, read text and records, measure, and verify."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from penstock.cli.demo.classifier import Classifier
from penstock.cli.demo.digits import SIDE, Pipelines, pipelines, write_digits
from penstock.cli.demo.photos import Speeds, measure, pipeline, write_photos
from penstock.cli.demo.reading import Lines, RecordsRead, check_lines, copy_text, read_records, write_records
from penstock.cli.demo.resuming import batch_digest, resumed_elsewhere
from penstock.cli.terminal import Terminal
from penstock.core.lazy import require

ENOUGH = 0.93  # held-out accuracy
EPOCHS = 12
RATE = 0.04  # of learning, at first; 0 at the end


class Interruption(NamedTuple):
    """A position within an epoch, and the digests of the batches after it without interruption."""

    epoch: int
    received: int
    cursor: dict[str, Any]
    digests: list[str]


def demo(terminal: Terminal, *, quick: bool = False, seconds: float | None = None) -> bool:
    """Run all steps, and return whether the classifier learned and all resumed and reread data was equal."""
    began = perf_counter()
    terminal.say(
        "Penstock demo. It trains a classifier from real image files, interrupts the training, resumes it in a new "
        "process, reads text and records at random, and compares its speed with the machine's limit: half a minute, "
        "in a temporary folder.",
        0,
    )
    for module in ("PIL.Image", "sklearn.datasets"):
        require(module, extra="demo", purpose="penstock demo")
    with tempfile.TemporaryDirectory(prefix="penstock-") as name:
        folder = Path(name)
        accuracy, interruption = _train(terminal, folder)
        equal = _resume(terminal, folder, interruption)
        lines, records = _read(terminal, folder)
        speeds = _measure(terminal, folder, 96 if quick else 512, seconds or (3 if quick else 12))
    read_back = lines.equal == lines.lines and records.equal == records.records and records.resumed == records.left
    held = accuracy >= ENOUGH and equal and read_back
    terminal.heading("Everything held." if held else "A check failed.")
    terminal.table(
        [
            [
                "held-out accuracy",
                f"{100 * accuracy:.1f} %",
                f"at least {100 * ENOUGH:.0f} %",
                _held(accuracy >= ENOUGH),
            ],
            ["resumed batches", "bit-equal" if equal else "different", "bit-equal", _held(equal)],
            ["lines and records", "as written" if read_back else "different", "as written", _held(read_back)],
        ]
    )
    terminal.say(
        f"ImageNet-style pipeline: {speeds.pipeline:,.0f} images/s, {100 * speeds.share:.0f} % of the ceiling. "
        f"All in {perf_counter() - began:.0f} s."
    )
    return held


def _train(terminal: Terminal, folder: Path) -> tuple[float, Interruption]:
    terminal.heading("1. Real images, as files")
    with terminal.progress("writing digits", 1797) as update:
        count = write_digits(folder / "digits", update)
    terminal.say(f"scikit-learn's {count:,} handwritten digits, as JPEG files in one folder a class: digits/7/0007.jpg")

    terminal.heading("2. Training a classifier through Penstock")
    data = pipelines(folder / "digits")
    terminal.say(
        f"{len(data.training)} batches an epoch: reshuffled, decoded, each digit moved by a few pixels at random; "
        "360 other digits are held out."
    )
    began = perf_counter()
    classifier = Classifier(SIDE * SIDE)
    interruption = _epochs(terminal, data, classifier)
    accuracy = _accuracy(data, classifier)
    terminal.say(
        f"{EPOCHS} epochs in {perf_counter() - began:.1f} s: "
        f"{100 * accuracy:.1f} % of the held-out digits are read correctly."
    )
    return accuracy, interruption


def _epochs(terminal: Terminal, data: Pipelines, classifier: Classifier) -> Interruption:
    """Train; within the last epoch record the position, and the batches after it."""
    length = len(data.training)
    half, last, total = length // 2, EPOCHS - 1, EPOCHS * length
    cursor: dict[str, Any] = {}
    digests: list[str] = []
    # Two pools of threads on the same cores wait for each other; the matrices here are small.
    single = require("threadpoolctl", extra="demo", purpose="penstock demo").threadpool_limits(1)
    with single, terminal.progress("training", total) as update:
        for epoch in range(EPOCHS):
            with data.training.iterator(epoch=epoch) as batches:
                for step, batch in enumerate(batches):
                    done = epoch * length + step
                    loss = classifier.learn(batch["image"], batch["label"], RATE * (1 - done / total))
                    update(done, f"epoch {epoch + 1}, loss {loss:.2f}")
                    if epoch == last and step >= half:
                        digests.append(batch_digest(batch))
                    if epoch == last and step == half - 1:
                        cursor = batches.state_dict()
    return Interruption(last, half, cursor, digests)


def _accuracy(data: Pipelines, classifier: Classifier) -> float:
    right = total = 0
    for batch in data.held_out:
        right += int((classifier.predict(batch["image"]) == batch["label"]).sum())
        total += len(batch["label"])
    return right / total


def _resume(terminal: Terminal, folder: Path, interruption: Interruption) -> bool:
    terminal.heading("3. Interrupted in mid-epoch, resumed in a new process")
    epoch, received, cursor, expected = interruption
    saved = folder / "cursor.json"
    saved.write_text(json.dumps(cursor))
    terminal.say(
        f"In epoch {epoch + 1}, after {received} batches, state_dict() was saved: {saved.stat().st_size:,} bytes of "
        f'JSON that say "epoch": {cursor["epoch"]}, "row": {cursor["row"]}. This process continued to the end; '
        "a new one now resumes from the file, with 3 workers instead of the measured number."
    )
    got = resumed_elsewhere(folder / "digits", saved, workers=3)
    pairs = [(a, b) for a, b in zip(expected, got, strict=False) if a == b]
    first = received + 1
    terminal.table(
        [
            ["batch", "digest, uninterrupted", "digest, resumed"],
            *([f"{first + i}", expected[i], got[i]] for i in range(min(3, len(got), len(expected)))),
            ["...", "", ""],
        ]
    )
    terminal.say(f"{len(pairs)} of {len(expected)} remaining batches are bit-equal, random shifts included.")
    return got == expected and len(expected) > 0


def _read(terminal: Terminal, folder: Path) -> tuple[Lines, RecordsRead]:
    terminal.heading("4. Real text and records, at random")
    copy_text(folder / "text")
    lines = check_lines(folder / "text")
    terminal.say(
        f"Python's standard library, {lines.files} files: found and indexed its {lines.lines:,} lines, and read all in "
        f"an order shuffled over all files, in {lines.seconds:.2f} s; {lines.equal:,} are equal to plain Python's:"
    )
    for row, place, text in lines.some:
        terminal.show(f"{f'ds[{row}]':<12}{place:<28}{text:.60}".rstrip())
    terminal.say("")
    records = read_records(write_records(folder))
    terminal.say(
        f"The digits as tf.train.Example, in {records.files} TFRecord files: shuffled over all and parsed in "
        f"{records.seconds:.2f} s. {records.equal:,} of {records.records:,} are as written. A second reader was "
        f'given "row": {records.row}: {records.resumed} of {records.left} remaining batches are bit-equal.'
    )
    return lines, records


def _measure(terminal: Terminal, folder: Path, count: int, seconds: float) -> Speeds:
    terminal.heading("5. An ImageNet-style pipeline, compared with its ceiling")
    with terminal.progress("writing photos", count) as update:
        written = write_photos(folder / "photos", count, update)
    terminal.say(
        f"{count} crops of two real photos, about 500×375, {written / count / 1000:.0f} kB each: shuffle, decode, "
        "random resized crop to 224×224, flip, batches of 64. The consumer only counts. Three contenders run in turn, "
        "four times each; these are the medians:"
    )
    with terminal.progress("measuring", 12) as update:
        speeds = measure(folder / "photos", seconds, update)
    terminal.table(
        [
            ["", "images/s", "of the ceiling"],
            ["Penstock, from files to batches", f"{speeds.pipeline:,.0f}", f"{100 * speeds.share:.0f} %"],
            [f"ceiling: its kernel alone, {speeds.threads} threads, files in memory", f"{speeds.kernel:,.0f}", "100 %"],
            [
                f"decoding every image whole, {speeds.threads} threads, no crop",
                f"{speeds.whole:,.0f}",
                f"{100 * speeds.whole / speeds.kernel:.0f} %",
            ],
        ]
    )
    terminal.say("")
    terminal.say(f"verdict(): {speeds.verdict}")
    terminal.say("")
    terminal.say("explain():")
    terminal.show(pipeline(folder / "photos").explain(), 5)
    return speeds


def _held(held: bool) -> str:
    return "ok" if held else "FAILED"
