"""Turn short recordings into log-mel spectrograms: `python examples/audio_commands.py`.

Writes WAV files of rising and falling tones at two sample rates, in one folder per class, instead of spoken commands.
The pipeline decodes them to one rate, cuts out a random second, changes the volume, and computes spectrograms. A
nearest-mean classifier then tells the classes apart.
"""

from __future__ import annotations

import tempfile
import wave
from pathlib import Path

import numpy as np

import penstock as ps

CLASSES = ("fall", "rise")
RATE = 16_000


def pipeline(folder: Path) -> ps.Dataset:
    files = sorted(folder.glob("*/*.wav"))
    labels = [CLASSES.index(path.parent.name) for path in files]
    recordings = ps.read_files([str(path) for path in files])
    return (
        ps.Dataset.zip((recordings, ps.Dataset.from_tensor_slices(np.array(labels))))
        .map(lambda sound, label: {"sound": sound, "label": label})
        .shuffle(seed=0)
        .map(ps.audio.decode(RATE), on="sound")  # from any sample rate
        .map(ps.audio.pad(1.0, RATE), on="sound")
        .map(ps.audio.random_crop(1.0, RATE), on="sound")
        .map(ps.audio.random_gain(-12, 6), on="sound")
        .map(ps.audio.log_mel(RATE, 40), on="sound")
        .batch(16)
    )


def write_recordings(folder: Path, count: int = 64) -> None:
    rng = np.random.default_rng(0)
    for number in range(count):
        name, rate = CLASSES[number % 2], (16_000, 22_050)[number // 2 % 2]
        seconds = rng.uniform(0.8, 1.6)
        pitch = np.geomspace(200, 2000, int(seconds * rate))
        wanted = pitch if name == "rise" else pitch[::-1]
        sound = 0.3 * np.sin(2 * np.pi * np.cumsum(wanted) / rate) + rng.normal(0, 0.02, len(pitch))
        path = folder / name / f"{number:03d}.wav"
        path.parent.mkdir(exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, rate, 0, "NONE", ""))
            file.writeframes((sound * 32767).astype("<i2").tobytes())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_recordings(folder)
        ds = pipeline(folder)
        with ds.iterator(epoch=0) as batches:
            train = list(batches)
            print(f"{len(train)} batches of {train[0]['sound'].shape}. {batches.verdict()}")
        sounds, labels = (np.concatenate([batch[key] for batch in train]) for key in ("sound", "label"))
        means = np.stack([sounds[labels == label].mean(axis=0) for label in (0, 1)])
        right = total = 0
        for batch in ds:  # the next epoch: other seconds of the same recordings
            distances = np.square(batch["sound"][:, None] - means).sum(axis=(2, 3))
            right, total = right + np.sum(distances.argmin(axis=1) == batch["label"]), total + len(batch["label"])
        print(f"classified correctly: {right} of {total}")


if __name__ == "__main__":
    main()
