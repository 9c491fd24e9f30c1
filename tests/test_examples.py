"""Every program in examples/ runs and prints the expected output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def printed(name: str, *arguments: str, ignored: tuple[str, ...] = ()) -> str:
    """Return what an example prints; warnings are errors, but for those `ignored`."""
    ignoring = [flag for each in ignored for flag in ("-W", f"ignore:{each}")]
    command = [sys.executable, "-W", "error", *ignoring, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_images_to_numpy():
    told = printed("images_numpy.py")
    assert "7 batches of {'image': uint8[?, 64, 64, 3], 'label': int64[?]}, classes: rings, stripes" in told
    assert len(re.findall(r"mean brightness 1[23]\d\.\d", told)) == 2


def test_tables_are_shuffled_by_row_groups_and_resume():
    pytest.importorskip("pyarrow")
    told = printed("parquet_tabular.py")
    assert "batches of {'features': float32[512, 4], 'fare': float32[512]}" in told
    assert "40 blocks of about 1,399 rows in random order, and the rows of 10 at a time" in told
    assert re.search(r"a mile costs 2\.[12]\d", told)
    assert "resumed after 10 batches: True" in told


def test_clicks_are_predicted_from_records_of_sparse_features():
    told = printed("tfrecord_ctr.py")
    assert "20,000 records in 4 files" in told
    assert """'seen': ps.records.RaggedFeature("int64")""" in told
    assert float(re.search(r"epoch 3: loss (\S+),", told)[1]) < 0.52  # 0.69 is that of a coin


def test_training_with_torch_resumes_to_the_same_loss():
    pytest.importorskip("torch")
    told = printed("torch_training.py")
    uninterrupted, resumed = re.search(r"loss: (\S+) uninterrupted, (\S+) resumed", told).groups()
    assert uninterrupted == resumed
    assert float(resumed) < 0.5


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_keras_recognizes_digits_on_each_backend(backend, monkeypatch):
    pytest.importorskip("keras")
    pytest.importorskip(backend)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    told = printed("keras_digits.py", ignored=("__array__ implementation",))  # Keras with PyTorch and NumPy 2
    assert "stopped in epoch 0 after 21 batches" in told
    assert float(re.search(rf"{backend}: (\d+\.\d)% of 297", told)[1]) > 95
    assert re.search(r"ids of those that are not: \[\d+, ", told)


def test_loss_and_outputs_of_the_same_batch_in_a_train_step():
    pytest.importorskip("tensorflow")
    told = printed("keras_hard_digits.py")
    assert float(re.search(r"mean loss in the last epoch: (\S+)", told)[1]) < 0.3
    assert len(re.findall(r"digit \d+ is a \d, answered \d: loss \d\.\d\d", told)) == 3


def test_shards_of_images_resume():
    told = printed("webdataset_images.py")
    assert re.search(r"^\d archives, 10 batches of \{'image': uint8\[\?, 64, 64, 3\]|^\d archives, 10 batches", told)
    assert "resumed after 4 batches: True" in told


def test_tokens_resume_to_the_same_sequences():
    told = printed("tokens_pretrain.py")
    assert re.search(r"batches of tokens \(8, 512\)", told)
    assert float(re.search(r"filled: (\d+\.\d)%", told)[1]) > 80
    assert "resumed after 11 batches" in told
    assert told.rstrip().endswith("True")


def test_audio_commands_are_classified():
    told = printed("audio_commands.py")
    assert "4 batches of (16, 101, 40)" in told
    assert int(re.search(r"classified correctly: (\d+) of 64", told)[1]) > 50


def test_every_example_has_a_test():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "audio_commands.py",
        "images_numpy.py",
        "keras_digits.py",
        "keras_hard_digits.py",
        "parquet_tabular.py",
        "tfrecord_ctr.py",
        "tokens_pretrain.py",
        "torch_training.py",
        "webdataset_images.py",
    }
