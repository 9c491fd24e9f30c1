"""Pack text and JSON lines into sequences of tokens, stop, and resume: `python examples/tokens_pretrain.py`.

Writes some files of each kind, mixes them two to one, splits text with a byte tokenizer, and packs whole documents into
sequences for a language model. All lines of all files are shuffled, and a saved position takes a few hundred bytes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

import penstock as ps

LENGTH, BATCH = 512, 8
END = 256  # the token after each document; lower tokens are bytes


def tokenize(text: str) -> np.ndarray:
    return np.array([*text.encode(), END], np.int32)


def pipeline(folder: Path) -> ps.Dataset:
    stories = ps.read_text(str(folder / "*.txt"), keep_empty=False).shuffle(seed=1)
    pages = ps.read_json(str(folder / "*.jsonl"), columns=["text"]).shuffle(seed=2).map(lambda page: page["text"])
    mixed = ps.Dataset.sample_from_datasets([stories, pages], [2 / 3, 1 / 3], seed=3)
    return mixed.map(tokenize).pack(LENGTH).batch(BATCH, drop_remainder=True)


def write_files(folder: Path, files: int = 4, documents: int = 300) -> None:
    """Write stories, one per line, and pages as JSON objects with an address and a text."""
    rng = np.random.default_rng(0)
    words = ["the", "a", "river", "pipe", "turns", "falls", "water", "wheel", "and", "under", "slowly", "green", "café"]
    for number in range(files):
        texts = [" ".join(rng.choice(words, rng.integers(5, 80))) for _ in range(documents)]
        (folder / f"stories-{number}.txt").write_text("\n\n".join(texts) + "\n", "utf-8")
        pages = [{"url": f"https://example.org/{number}/{i}", "text": text} for i, text in enumerate(texts)]
        (folder / f"pages-{number}.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages), "utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        ds = pipeline(folder)
        seen = []
        with ds.iterator(epoch=0) as batches:
            for step, batch in enumerate(batches):
                if step == 10:
                    state = json.dumps(batches.state_dict())  # goes into the model's checkpoint
                if step > 10:
                    seen.append(batch["tokens"])
            print(f"{step + 1} batches of tokens {batch['tokens'].shape}. {batches.verdict()}")
        filled = np.mean(batch["segment_ids"] > 0)
        print(f"filled: {filled:.1%}; first tokens: {bytes(seen[0][0, :40].astype(np.uint8))!r}")
        with pipeline(folder).iterator() as batches:  # for example, in another process
            batches.load_state_dict(json.loads(state))
            same = all(np.array_equal(batch["tokens"], tokens) for batch, tokens in zip(batches, seen, strict=True))
            print(f"resumed after 11 batches, from {len(state)} bytes: {same}")


if __name__ == "__main__":
    main()
