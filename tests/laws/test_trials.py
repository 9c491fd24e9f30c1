"""Small programs as users write them in a hurry, whose results were once wrong without a word."""

from __future__ import annotations

import gzip
import importlib.util

import numpy as np
import pytest

import penstock as ps

D = ps.Dataset
WAYS = [
    ps.Options(executor="inline"),
    ps.Options(executor="threads", workers=3),
    ps.Options(),
]


class Reused:
    """A function and a source that hand out the same array each time."""

    def __init__(self):
        self.array = np.zeros(1)

    def __call__(self, x):
        self.array[0] = x
        return self.array

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return self(i)


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_an_array_kept_by_a_function_or_a_source_is_copied(options):
    reused = Reused()
    wanted = np.arange(40.0)[:, None].tolist()
    for ds in (
        D.range(40).map(Reused()),
        D.range(40).map(lambda x: {"x": reused(x)}).map(lambda d: d["x"]),
        D.from_source(Reused()),
    ):
        assert [row.tolist() for row in ds.with_options(options)] == wanted
        batches = list(ds.batch(8).with_options(options))
        assert np.concatenate(batches).tolist() == wanted


class Tool:
    buffer = np.zeros(1)

    def work(self, x):
        self.scratch = x
        return self.scratch + 1

    def copied(self, x):
        np.copyto(self.buffer, x)
        return self.buffer[0] + 1

    def named(self, x):
        setattr(self, "scratch", x)  # noqa: B010 - as a user may write it
        return self.scratch + 1


TOOLS = {"a": Tool()}
LISTED = [Tool()]
NOTES = {}


def out_of_a_dict(x):
    return TOOLS["a"].work(x)


def out_of_a_loop(x):
    for tool in LISTED:
        x = tool.work(x)
    return x


def by_its_name(x):
    return getattr(LISTED[0], "work")(x)  # noqa: B009 - the same


def noted(x):
    NOTES.update(x=x)
    return NOTES["x"] + 1


@pytest.mark.parametrize(
    "function",
    [out_of_a_dict, out_of_a_loop, by_its_name, noted, Tool().copied, Tool().named],
    ids=lambda function: function.__name__,
)
def test_scratch_data_is_found_wherever_a_function_keeps_it(function):
    ds = D.range(9).map(function)
    assert "one thread at a time" in ds.explain()
    assert list(ds.with_options(ps.Options(executor="threads", workers=3))) == list(range(1, 10))


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_a_cached_interleave_can_be_zipped_with_its_own_results(options):
    cached = D.range(24).interleave(lambda n: [n], cycle_length=1).cache()
    ds = D.zip(cached, cached.map(lambda x: x)).with_options(options)
    assert list(ds) == list(ds) == [(i, i) for i in range(24)]


def test_the_sound_part_of_a_damaged_compressed_file_and_all_other_files_are_read(tmp_path):
    lines = [f"{i}" for i in range(300_000)]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:-2000])
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x\ny\n"))
    ds = ps.read_text([tmp_path / "a.txt.gz", tmp_path / "b.txt.gz"])
    *before, x, y = ds.ignore_errors()
    assert (x, y) == ("x", "y")
    assert before == lines[: len(before)] != []
    with pytest.raises(ps.errors.DataError, match=r"a\.txt\.gz"):
        list(ds)


def test_functions_without_a_module_can_be_called():
    names = {}
    exec("def add(x): return x + 1", names)
    names["add"].__module__ = None
    assert list(D.range(3).map(names["add"])) == [1, 2, 3]


needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="PyTorch is not installed")


@needs_torch
def test_tensors_of_a_source_and_of_a_cache_are_the_same_in_every_epoch():
    import torch

    def grown(element):
        element["x"] += 1
        return element

    kept = [{"x": torch.zeros(2), "y": i} for i in range(3)]
    cached = D.range(3).map(lambda i: {"x": torch.zeros(2), "y": i}).cache()
    for ds in (D.from_source(kept).map(grown), cached.map(grown), cached.filter(lambda d: True).cache().map(grown)):
        for _ in range(3):
            assert [element["x"].tolist() for element in ds] == [[1, 1]] * 3
    assert all(not element["x"].any() for element in kept)


@needs_torch
@pytest.mark.filterwarnings("ignore:PS502")
@pytest.mark.parametrize("reshuffle", [True, False])
def test_workers_of_a_dataloader_draw_one_order(reshuffle):
    import pickle

    shuffled = D.range(100).shuffle(reshuffle_each_iteration=reshuffle)
    workers = [pickle.loads(pickle.dumps(shuffled)) for _ in range(2)]
    assert sorted(workers[row % 2][row] for row in range(100)) == list(range(100))
