"""Every program in examples/ runs and prints the expected output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DIGITS = "sklearn.datasets"
TORCH = DIGITS, "torch", "torch._dynamo"  # which optimizers import
PLOTS = "matplotlib", "pandas"  # as others that are `missing`: frameworks import them wherever they are there


VERDICT = re.compile(r"(Input|Step|Transfer|Storage|GIL|Memory)-bound|Too early to say: \d+ (batches|elements|steps)")


def needs(*modules: str) -> None:
    """Skip a test whose example cannot import some of the modules, without importing them into this process."""
    for each in modules:
        if find_spec(each) is None:
            pytest.skip(f"there is no {each} here")


def share_of(told: str, pattern: str) -> float:
    """Return the percentage that an example tells; the example prints a verdict too."""
    assert VERDICT.search(told)
    return float(re.search(rf"(\d+\.\d)% {pattern}", told)[1])


def same_losses(told: str) -> bool:
    uninterrupted, resumed = re.search(r"loss.*: (\S+) uninterrupted, (\S+) resumed", told).groups()
    return uninterrupted == resumed


FORKS = """
import atexit, functools, gc, importlib, json, os, runpy, signal, sys, threading, warnings
gc.disable()  # of what is imported, nothing is garbage
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # the threads of BLAS and PyTorch are idle here
for line in sys.stdin:
    path, modules, missing, ignored, told = json.loads(line)
    for module in modules:
        importlib.import_module(module)
    if "torch" in sys.modules:
        ranks = sys.modules["torch.multiprocessing"]  # whose processes import PyTorch again unless they are forked
        ranks.spawn = functools.partial(ranks.start_processes, start_method="fork")
    gc.freeze()
    program = os.fork()
    if not program:
        gc.enable()
        signal.alarm(110)  # one that hangs ends before its test does, and those after it begin
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream.fileno())
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        sys.modules.update(dict.fromkeys(missing))  # as where they are not installed
        for message in ignored:
            warnings.filterwarnings("ignore", message)
        sys.argv[:] = [path]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        threading._shutdown()  # all that ends a program but to take modules apart, which takes seconds
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)
    print(told, os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """A function that returns what an example prints; warnings are errors, but for those `ignored`.

    One process imports the `modules` that examples share, and is forked for each example.
    """
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "KERAS_BACKEND": "jax"}  # other tests use the other cores
    alone.pop("XLA_FLAGS", None)
    command = [sys.executable, "-W", "error", "-c", FORKS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=alone) as process:

        def run(name: str, *modules: str, ignored: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> str:
            needs(*(module.partition(".")[0] for module in modules))
            told = tmp_path_factory.mktemp("examples") / name
            asked = str(EXAMPLES / name), modules, missing, list(map(re.escape, ignored)), str(told)
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            ends = (line for line in process.stdout if line.startswith(str(told)))  # not one that took too long
            assert next(ends, "") == f"{told} 0\n", told.read_text() if told.exists() else f"{FORKS} has ended"
            return told.read_text()

        yield run
        process.kill()


def test_images_to_numpy(printed):
    told = printed("images_numpy.py")
    assert "7 batches of {'image': uint8[?, 64, 64, 3], 'label': int64[?]}, classes: rings, stripes" in told
    assert len(re.findall(r"mean brightness 1[23]\d\.\d", told)) == 2


def test_tables_are_shuffled_by_row_groups_and_resume(printed):
    needs("pyarrow")
    told = printed("parquet_tabular.py")
    assert "batches of {'features': float32[512, 4], 'fare': float32[512]}" in told
    assert "40 blocks of about 1,399 rows in random order, and the rows of 10 at a time" in told
    assert re.search(r"a mile costs 2\.[12]\d", told)
    assert "resumed after 10 batches: True" in told


def test_clicks_are_predicted_from_records_of_sparse_features(printed):
    told = printed("tfrecord_ctr.py")
    assert "10,000 records in 4 files" in told
    assert """'seen': ps.records.RaggedFeature("int64")""" in told
    assert float(re.search(r"epoch 3: loss (\S+),", told)[1]) < 0.52  # 0.69 is that of a coin
    assert VERDICT.search(told)


def test_training_with_torch_resumes_to_the_same_loss(printed):
    told = printed("torch_training.py", *TORCH)
    assert same_losses(told)
    assert share_of(told, "of the digits held out") > 95


def test_torch_goes_on_with_three_processes_instead_of_two(printed):
    told = printed("torch_ddp.py", *TORCH)
    assert "2 processes: stopped in epoch 1 after 5 batches" in told
    assert "13 ledgers of 4 epochs: each record exactly once" in told  # two of each of 2 ranks, three of each of 3
    assert share_of(told, "of 297 digits held out") > 95


def test_training_continues_after_each_evaluation(printed):
    told = printed("torch_evaluating.py", *TORCH)
    assert [int(step) for step in re.findall(r"^step (\d+)", told, re.MULTILINE)] == [
        100,
        200,
        300,
        400,
        100,
        200,
        300,
        400,
    ]
    assert "as without the stop: True" in told
    assert share_of(told.rpartition("step 400")[2], "of the digits held out") > 95


def test_two_replicas_predict_clicks_from_sparse_features(printed):
    told = printed("torch_clicks.py", *TORCH)
    assert "'seen': ragged int64[512, ~]" in told
    assert share_of(told.rpartition("epoch 1")[2], "correct") > 68  # 50 by chance


def test_jax_divides_batches_among_devices(printed):
    told = printed("jax_sharded.py", DIGITS, "jax")
    assert "rows of a batch on each device: {0: 16, 1: 16, 2: 16, 3: 16}" in told
    assert share_of(told, "of 297 digits held out") > 95


def test_jax_runs_epochs_as_compiled_calls(printed):
    told = printed("jax_compiled_epochs.py", DIGITS, "jax")
    assert VERDICT.search(told)
    assert "20.0 dB with noise" in told
    assert float(re.search(r"(\d+\.\d) dB cleaned", told)[1]) > 27


def test_lightning_resumes_within_an_epoch(printed):
    needs("lightning")
    told = printed("lightning_digits.py", *TORCH, ignored=("`isinstance(treespec, LeafSpec)`", "Checkpoint directory"))
    assert "epoch 1, stopped and resumed: 1500 digits, 1500 different ones" in told
    assert share_of(told, "of the digits held out") > 95


def test_the_trainer_of_hugging_face_resumes_to_the_same_loss(printed):
    needs("transformers", "accelerate")
    told = printed("transformers_text.py", *TORCH, missing=("datasets", "tensorflow", *PLOTS))
    assert VERDICT.search(told)
    assert same_losses(told)
    assert float(re.search(r"(\S+) uninterrupted", told)[1]) < 2.9  # 3.3 by the frequencies of bytes


def test_accelerate_resumes_to_the_same_loss(printed):
    needs("accelerate")
    told = printed("accelerate_photos.py", *TORCH)
    assert same_losses(told)
    assert share_of(told, "of other crops") > 90


def test_keras_recognizes_digits(printed):  # the other backends: tests/feed/test_keras.py
    needs("keras")
    told = printed("keras_digits.py", DIGITS, "jax", missing=("tensorflow", *PLOTS))
    assert "stopped in epoch 0 after 21 batches" in told
    assert share_of(told, "of 297 digits held out") > 95
    assert "jax: " in told
    assert re.search(r"ids of those that are not: \[\d+, ", told)


def test_loss_and_outputs_of_the_same_batch_in_a_train_step(printed):
    needs("tensorflow")
    told = printed("keras_hard_digits.py", DIGITS, missing=("jax", *PLOTS))
    assert float(re.search(r"mean loss in the last epoch: (\S+)", told)[1]) < 0.3
    assert VERDICT.search(told)
    assert len(re.findall(r"digit \d+ is a \d, answered \d: loss \d\.\d\d", told)) == 3


def test_shards_of_images_resume(printed):
    told = printed("webdataset_images.py")
    assert re.search(r"^\d archives, 10 batches of \{'image': uint8\[\?, 64, 64, 3\]|^\d archives, 10 batches", told)
    assert "resumed after 4 batches: True" in told


def test_tokens_resume_to_the_same_sequences(printed):
    told = printed("tokens_pretrain.py")
    assert re.search(r"batches of tokens \(8, 512\)", told)
    assert float(re.search(r"filled: (\d+\.\d)%", told)[1]) > 80
    assert "resumed after 11 batches" in told
    assert told.rstrip().endswith("True")


def test_audio_commands_are_classified(printed):
    told = printed("audio_commands.py")
    assert "4 batches of (16, 101, 40)" in told
    assert int(re.search(r"classified correctly: (\d+) of 64", told)[1]) > 50


def test_every_example_has_a_test():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "accelerate_photos.py",
        "audio_commands.py",
        "images_numpy.py",
        "jax_compiled_epochs.py",
        "jax_sharded.py",
        "keras_digits.py",
        "keras_hard_digits.py",
        "lightning_digits.py",
        "parquet_tabular.py",
        "tfrecord_ctr.py",
        "tokens_pretrain.py",
        "torch_clicks.py",
        "torch_ddp.py",
        "torch_evaluating.py",
        "torch_training.py",
        "transformers_text.py",
        "webdataset_images.py",
    }
