"""Train a small language model with the Trainer of Hugging Face, and resume from one of its checkpoints.

Run it with `python examples/transformers_text.py`; it needs transformers and accelerate. The text is the documentation
that comes with Python, split into bytes and packed into sequences of one length. The Trainer saves no position of the
data, so a callback does, next to the model. The loss falls below 2.9, where the frequencies of bytes alone give 3.3.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import torch
import transformers

import penstock as ps

LENGTH, BATCH, STEPS = 32, 16, 160
END = 256  # the token after each paragraph; lower tokens are bytes


def paragraphs() -> list[bytes]:
    return [paragraph.encode() for text in topics.values() for paragraph in text.split("\n\n")]


def dataset() -> ps.Dataset:
    """Return the batches of all steps; in a job of several processes, the part of this one."""
    ds = ps.Dataset.from_source(paragraphs()).shuffle(seed=0).map(tokens)
    batches = ds.pack(LENGTH, strategy="split").batch(BATCH).take(STEPS).shard_by_rank()
    return batches.map(lambda batch: {"input_ids": batch["tokens"], "labels": batch["tokens"]})


def tokens(paragraph: bytes) -> np.ndarray:
    return np.append(np.frombuffer(paragraph, np.uint8), END)


class SavePosition(transformers.TrainerCallback):
    """Saves the position of a feed in each checkpoint."""

    def __init__(self, feed: ps.feed.torch.TorchFeed) -> None:
        self.feed = feed

    def on_save(self, args, state, control, **_) -> None:
        path = Path(args.output_dir, f"checkpoint-{state.global_step}", "data.json")
        path.write_text(json.dumps(self.feed.state_dict()))


class Trainer(transformers.Trainer):
    """A Trainer whose dataset is a feed, and whose batches are those of the feed."""

    def get_train_dataloader(self) -> ps.feed.torch.TorchFeed:
        return self.train_dataset


def train(folder: str, *, resume: str | None = None) -> Trainer:
    """Train, from the checkpoint in the folder `resume` if given, and save one after 120 steps."""
    feed = dataset().to_torch()
    if resume:
        feed.load_state_dict(json.loads(Path(resume, "data.json").read_text()))
    config = transformers.GPT2Config(
        vocab_size=END + 1, n_positions=LENGTH, n_embd=64, n_layer=1, n_head=2,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=END, eos_token_id=END,
    )  # fmt: skip
    settings = transformers.TrainingArguments(
        folder, max_steps=STEPS, per_device_train_batch_size=BATCH, learning_rate=3e-3, logging_steps=40,
        save_steps=120, ignore_data_skip=True, use_cpu=True, report_to=[], disable_tqdm=True,
    )  # fmt: skip
    trainer = Trainer(
        transformers.GPT2LMHeadModel(config), settings, train_dataset=feed, callbacks=[SavePosition(feed)]
    )
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def main() -> None:
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # a model this small gains nothing from more, and the pipeline needs the cores
    counts = np.bincount(np.concatenate([tokens(each) for each in paragraphs()]))
    shares = counts[counts > 0] / counts.sum()
    print(f"loss by the frequencies of bytes: {-(shares * np.log(shares)).sum():.3f}")
    with tempfile.TemporaryDirectory() as folder:
        whole = train(folder)
        resumed = train(folder, resume=f"{folder}/checkpoint-120")
    loss, again = (trainer.state.log_history[-2]["loss"] for trainer in (whole, resumed))
    print(f"loss of the last 40 steps: {loss:.6f} uninterrupted, {again:.6f} resumed")
    print(whole.train_dataset.verdict())


if __name__ == "__main__":
    main()
