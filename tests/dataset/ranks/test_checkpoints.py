"""The recipes of docs/ranks.md: a job is stopped, and goes on exactly, from the checkpoint of each library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import penstock as ps


def indexed():
    return ps.Dataset.range(32).shuffle(seed=2).map(np.float32).batch(4).shard_by_rank(rank=0, world=1)


def streamed():
    ds = ps.Dataset.range(40).shuffle(seed=2).filter(lambda x: x >= 8).map(np.float32).batch(4)
    return ds.shard_by_rank(rank=0, world=1)


def rows(batches):
    return [np.asarray(batch).ravel().tolist() for batch in batches]


def stopped(ds, steps, save):
    """The first batches of a pass, after which the state is saved."""
    received = []
    for batch in ds:
        received.append(batch)
        if len(received) == steps:
            save()
            break
    return rows(received)


BOTH = pytest.mark.parametrize("make", [indexed, streamed])


@BOTH
def test_torch_save(make, tmp_path):
    torch = pytest.importorskip("torch")
    ds, path = make(), tmp_path / "checkpoint.pt"
    before = stopped(ds, 3, lambda: torch.save({"data": ds.state_dict()}, path))
    again = make()
    again.load_state_dict(torch.load(path)["data"])
    assert before + rows(again) == rows(make())


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")
@BOTH
def test_torch_distributed_checkpoint(make, tmp_path):
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    ds, again = make(), make()
    before = stopped(ds, 3, lambda: dcp.save({"data": ds}, checkpoint_id=tmp_path, no_dist=True))
    dcp.load({"data": again}, checkpoint_id=tmp_path, no_dist=True)
    assert before + rows(again) == rows(make())


@BOTH
def test_orbax(make, tmp_path):
    ocp = pytest.importorskip("orbax.checkpoint")
    ds, again = make(), make()
    with ocp.CheckpointManager(tmp_path) as manager:
        before = stopped(
            ds, 3, lambda: manager.save(3, args=ocp.args.Composite(data=ocp.args.JsonSave(ds.state_dict())))
        )
        manager.wait_until_finished()
        restored = manager.restore(3, args=ocp.args.Composite(data=ocp.args.JsonRestore()))
    again.load_state_dict(restored.data)
    assert before + rows(again) == rows(make())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning(tmp_path, package):
    lightning = pytest.importorskip(package)
    torch = pytest.importorskip("torch")
    seen = []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def train_dataloader(self):
            return indexed().to_torch()

        def training_step(self, batch, number):
            seen.append(batch.tolist())
            return self.layer(batch[:, None]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    def trainer(steps):
        save = lightning.callbacks.ModelCheckpoint(tmp_path, filename="model", every_n_train_steps=3)
        return lightning.Trainer(
            accelerator="cpu", devices=1, max_steps=steps, logger=False, enable_progress_bar=False,
            enable_model_summary=False, callbacks=[save], default_root_dir=tmp_path,
        )  # fmt: skip

    trainer(3).fit(Model())
    trainer(8).fit(Model(), ckpt_path=tmp_path / "model.ckpt")
    assert seen == rows(indexed())


@pytest.mark.filterwarnings("ignore")
def test_accelerate(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    pytest.importorskip("torch")
    accelerator = accelerate.Accelerator(cpu=True)
    feed = indexed().to_torch()
    accelerator.register_for_checkpointing(feed)
    before = stopped(feed, 3, lambda: accelerator.save_state(tmp_path / "state"))
    feed.load_state_dict(indexed().state_dict())
    accelerator.load_state(tmp_path / "state")
    assert before + rows(feed) == rows(indexed())


@pytest.mark.filterwarnings("ignore")
def test_hugging_face_trainer(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    torch = pytest.importorskip("torch")
    seen = []

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x):
            seen.append(x.tolist())
            return {"loss": self.layer(x[:, None]).mean()}

    def run(steps, feed, **arguments):
        class SaveData(transformers.TrainerCallback):
            def on_save(self, args, state, control, **kwargs):
                path = Path(args.output_dir, f"checkpoint-{state.global_step}", "data.json")
                path.write_text(json.dumps(feed.state_dict()))

        class OurTrainer(transformers.Trainer):
            def get_train_dataloader(self):
                return feed

        settings = transformers.TrainingArguments(
            output_dir=str(tmp_path), use_cpu=True, max_steps=steps, save_steps=3, report_to=[], disable_tqdm=True,
            ignore_data_skip=True, logging_steps=1000,
        )  # fmt: skip
        OurTrainer(Model(), settings, callbacks=[SaveData()]).train(**arguments)

    def make():
        return indexed().map(lambda x: {"x": x}).to_torch()

    run(3, make())
    feed = make()
    feed.load_state_dict(json.loads((tmp_path / "checkpoint-3" / "data.json").read_text()))
    run(8, feed, resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert seen == rows(indexed())
