"""Shuffle orders compared with a reservoir, the buffer of `tf.data` and uniform orders; all seeds are fixed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from penstock import Dataset, Options, image, read_arrow, read_parquet
from penstock.index.blocked import Blocks
from penstock.kernels.image import random_resized_crop_box

COUNT = 50_000


def everything(x):
    return True


def reservoir(count, buffer, rng):
    """Fill a buffer, give a random one of it, put the next in its place; give the rest in a random order."""
    held, order = list(range(buffer)), []
    for number, at in zip(range(buffer, count), rng.integers(0, buffer, count).tolist(), strict=False):
        order.append(held[at])
        held[at] = number
    rng.shuffle(held)
    return np.array(order + held)


def figures(first, second, size, batch=64):
    """Return statistics of batches over sorted classes of `size`, and of the overlap of two epochs."""
    count = len(first) // batch * batch
    classes = np.sort(first[:count].reshape(-1, batch) // size, axis=1)
    distinct = 1 + (np.diff(classes, axis=1) != 0).sum(axis=1)
    at = np.empty((2, len(first)), np.int64)
    at[0, first], at[1, second] = np.arange(len(first)), np.arange(len(first))
    batches = at // batch
    together = np.unique(batches[0] * len(first) + batches[1], return_counts=True)[1]
    moved = at - np.arange(len(first))
    return {
        "classes": distinct.mean(),
        "of one class": (distinct == 1).mean(),
        "met again": (together * (together - 1)).sum() / len(first),  # batchmates of an element that it meets again
        "correlation": abs(np.corrcoef(moved)[0, 1]),
        "deviation": moved[0].std(),
    }


def orders(buffer, *, stream, count=COUNT, epochs=2):
    ds = Dataset.range(count)
    ds = (ds.filter(everything) if stream else ds).shuffle(buffer, seed=1).batch(1000)
    return [np.concatenate(list(ds.iterator(epoch=epoch))) for epoch in range(epochs)]


def correlations(orders):
    """The correlation over elements of their displacements, in each pair of epochs."""
    moved = np.argsort(orders, axis=1) - np.arange(len(orders[0]))
    return np.corrcoef(moved)[np.triu_indices(len(orders), 1)]


@pytest.mark.filterwarnings("ignore:PS105")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("buffer", "size"), [(1000, 1000), (1000, 500), (1000, 2000), (100, 100), (128, 64)])
def test_a_buffer_mixes_at_least_as_well_as_a_reservoir(buffer, size, stream):
    rng = np.random.default_rng(2)
    wanted = figures(reservoir(COUNT, buffer, rng), reservoir(COUNT, buffer, rng), size)
    found = figures(*orders(buffer, stream=stream), size)
    assert found["classes"] > wanted["classes"]
    assert found["of one class"] <= wanted["of one class"] + 0.01
    assert found["met again"] < 0.9 * wanted["met again"]
    assert found["correlation"] < 0.02
    assert found["deviation"] > wanted["deviation"]


def sized(x):
    """An element of 20 to 380 bytes, 200 on average, whose number is its first eight."""
    return x.to_bytes(8, "little") + bytes(12 + x * 7919 % 361)


def number_of(x):
    return int.from_bytes(x[:8], "little")


@pytest.mark.parametrize(
    ("buffer", "classes", "size"),
    [(40, 40, 8), (100, 100, 8), (1000, 1000, 8), (1000, 500, 8), (5000, 1000, 8), (1000, 500, 200)],
)
def test_a_buffer_of_bytes_mixes_at_least_as_well_as_a_reservoir_of_as_many(buffer, classes, size):
    ds = Dataset.range(COUNT).filter(everything)
    ds = (ds if size == 8 else ds.map(sized)).shuffle(buffer_bytes=buffer * size, seed=1)
    ds = (ds if size == 8 else ds.map(number_of)).batch(1000)
    orders = [np.concatenate(list(ds.iterator(epoch=epoch))) for epoch in (0, 1)]
    rng = np.random.default_rng(2)
    wanted = figures(reservoir(COUNT, buffer, rng), reservoir(COUNT, buffer, rng), classes)
    found = figures(*orders, classes)
    assert found["classes"] > wanted["classes"]
    assert found["of one class"] <= wanted["of one class"] + 0.01
    assert found["met again"] < wanted["met again"]
    assert found["correlation"] < max(0.02, wanted["correlation"] + 0.005)
    assert found["deviation"] > wanted["deviation"]


@pytest.mark.filterwarnings("ignore:PS105")
@pytest.mark.parametrize(
    ("buffer", "of_two_epochs"),
    [(2, 0.18), (3, 0.07), (4, 0.04), (5, 0.04), (8, 0.04), (16, 0.02), (100, 0.02), (1000, 0.02), (10_000, 0.06)],
)
def test_epochs_correlate_no_more_than_those_of_a_reservoir(buffer, of_two_epochs):
    count, epochs, rng = 100_000, 8, np.random.default_rng(3)
    reservoirs = [reservoir(count, buffer, rng) for _ in range(epochs)]
    buffered = orders(buffer, stream=False, count=count, epochs=epochs)
    found, wanted = correlations(buffered), correlations(reservoirs)
    assert found.mean() <= max(0.02, wanted.mean()) + 2 * found.std() / epochs**0.5
    assert np.abs(found).max() < of_two_epochs
    found, wanted = (
        np.mean([figures(a, b, buffer)["met again"] for a, b in pairwise(made)]) for made in (buffered, reservoirs)
    )
    assert found < (1.002 if buffer == 3 else 1) * wanted


@pytest.mark.filterwarnings("ignore:PS105")
def test_a_buffer_of_two_can_swap_all_neighbors():
    swapped = set()
    for epoch in range(40):
        order = list(Dataset.range(41).shuffle(2, seed=0).iterator(epoch=epoch))
        swapped |= {i for i in range(40) if order.index(i) > order.index(i + 1)}
    assert swapped == set(range(40))


@pytest.mark.parametrize("lengths", [(40_000, 60_000), (1000, 1001), (1000, 999)])
def test_one_seed_gives_unrelated_orders_to_other_lengths(lengths):
    for make in (
        lambda n: Dataset.range(n).shuffle(seed=0),
        lambda n: Dataset.range(n).split({"a": 0.5, "b": 0.5}, seed=0)["a"],
        lambda n: Dataset.range(n).shuffle(100, seed=0, reshuffle_each_iteration=False),
    ):
        one, other = (np.concatenate(list(make(n).batch(1000))) for n in lengths)
        count = min(map(len, (one, other)))
        assert (one[:count] == other[:count]).mean() < 0.02


def test_variants_of_one_element_are_as_far_apart_as_in_a_uniform_order():
    variants = np.concatenate(list(Dataset.range(4000).expand(5).shuffle(seed=3).batch(1000)))
    places = np.argsort(variants, kind="stable").reshape(4000, 5)
    apart = np.abs(places[:, :, None] - places[:, None, :])[:, *np.triu_indices(5, 1)].reshape(-1) / 20_000
    assert abs(apart.mean() - 1 / 3) < 0.01  # of two places drawn uniformly
    assert abs(apart.var() - 1 / 18) < 0.005
    assert abs((apart < 64 / 20_000).mean() - 128 / 20_000) < 0.003


@pytest.mark.filterwarnings("ignore:PS105")
@pytest.mark.parametrize("buffer", [100, 1000])
def test_in_a_buffer_variants_of_one_element_are_as_far_apart_as_in_a_reservoir(buffer):
    variants = np.concatenate(list(Dataset.range(COUNT // 5).expand(5).shuffle(buffer, seed=3).batch(1000)))
    orders = variants, reservoir(COUNT, buffer, np.random.default_rng(2)) // 5
    found, wanted = (np.argsort(order, kind="stable").reshape(-1, 5) for order in orders)
    assert np.ptp(found, axis=1).mean() > np.ptp(wanted, axis=1).mean()
    together, by_reservoir = (np.mean(np.diff(places // 64, axis=1) == 0) for places in (found, wanted))
    assert together < by_reservoir  # in one batch


def torchvisions_box(height, width, rng):
    """`RandomResizedCrop.get_params` as torchvision documents it, with its default scale and ratio."""
    for _ in range(10):
        area = height * width * rng.uniform(0.08, 1)
        aspect = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.integers(0, height - h + 1), rng.integers(0, width - w + 1), h, w
    aspect = min(max(width / height, 3 / 4), 4 / 3)
    w, h = min(width, round(height * aspect)), min(height, round(width / aspect))
    return (height - h) // 2, (width - w) // 2, h, w


def moments(boxes, height, width):
    """Mean and deviation of area, logarithm of the aspect, and middle of boxes `(top, left, height, width)`."""
    top, left, h, w = np.array(boxes, float).T
    parts = [h * w / (height * width), np.log(w / h), (top + h / 2) / height, (left + w / 2) / width]
    return np.array([moment for part in parts for moment in (part.mean(), part.std())])


@pytest.mark.parametrize(("height", "width"), [(375, 500), (500, 375), (256, 256), (100, 900)])
def test_boxes_of_random_resized_crop_are_distributed_as_torchvisions(height, width):
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 1 << 64, 20_000, np.uint64).tolist()
    found = [random_resized_crop_box(height, width, (0.08, 1.0), (3 / 4, 4 / 3), draw) for draw in draws]
    wanted = [torchvisions_box(height, width, rng) for _ in range(20_000)]
    found, wanted = moments(found, height, width), moments(wanted, height, width)
    assert np.abs(found - wanted).max() < 0.012  # four standard errors of the widest of them


def test_crops_are_distributed_as_torchvisions():
    height, width, size, count = 150, 200, 32, 6000
    places = np.zeros((height, width, 3), np.uint8)  # of pixels: row, column
    places[..., 0], places[..., 1] = np.arange(height)[:, None], np.arange(width)
    crop = image.random_resized_crop(size, interpolation="nearest")
    ds = Dataset.range(count).map(lambda x: places).map(crop).with_options(Options(seed=5)).batch(500)
    crops = np.concatenate(list(ds)).astype(float)
    first, last = crops[:, 0, 0, :2], crops[:, -1, -1, :2]
    h, w = ((last - first) * size / (size - 1)).T  # these are the middles of the outer cells of the result
    middle = (first + last + 1) / 2
    found = moments(np.stack([middle[:, 0] - h / 2, middle[:, 1] - w / 2, h, w], axis=1), height, width)
    rng = np.random.default_rng(0)
    wanted = moments([torchvisions_box(height, width, rng) for _ in range(count)], height, width)
    assert np.abs(found - wanted).max() < 0.015


FILES, GROUPS = 20, (700, 900, 800)  # rows of the blocks of each file
BOUNDS = np.concatenate([[0], np.cumsum(GROUPS * FILES)])


def assert_blocks_are_mixed(order, again):
    """Rows of one block of 60 are far apart, and in every batch are rows of the ten blocks of a window."""
    block = BOUNDS.searchsorted(order, "right") - 1
    distinct = [len(set(block[low : low + 64].tolist())) for low in range(0, len(block) - 64, 64)]
    assert abs(np.mean(distinct) - 10) < 0.4
    spans = [np.ptp(np.flatnonzero(block == number)) for number in range(len(BOUNDS) - 1)]
    assert min(spans) > 0.9 * 6 * 1000  # rows of a block are all over their window
    assert abs(np.corrcoef(np.argsort(order), np.argsort(again))[0, 1]) < 0.3  # some 60 blocks change places


def test_a_shuffle_by_blocks_mixes_the_rows_of_several_files():
    blocks = Blocks(BOUNDS, 10)
    order = blocks.permuted(np.arange(blocks.length), key=3)
    assert_blocks_are_mixed(order, blocks.permuted(np.arange(blocks.length) + blocks.length, key=3) - blocks.length)


def write_row_groups(path, table):
    with pytest.importorskip("pyarrow.parquet").ParquetWriter(path, table.schema) as writer:
        for low, high in pairwise(np.cumsum((0, *GROUPS))):
            writer.write_table(table.slice(low, high - low), row_group_size=1000)


def write_record_batches(path, table):
    pa = pytest.importorskip("pyarrow")
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        for low, high in pairwise(np.cumsum((0, *GROUPS))):
            writer.write_table(table.slice(low, high - low))


@pytest.mark.parametrize(("write", "read"), [(write_row_groups, read_parquet), (write_record_batches, read_arrow)])
def test_a_shuffle_mixes_the_row_groups_of_parquet_and_the_batches_of_arrow_files(tmp_path, write, read):
    pa = pytest.importorskip("pyarrow")
    for number in range(FILES):
        rows = np.arange(number * sum(GROUPS), (number + 1) * sum(GROUPS))
        write(tmp_path / f"{number:02}", pa.table({"row": rows}))
    ds = read(str(tmp_path / "*"), cache_bytes=20 * 800 * 8).shuffle(seed=3)
    assert "60 blocks of about 800 rows in random order, and the rows of 10 at a time" in ds.explain()
    batches = ds.batch(1000)
    order, again = (np.concatenate([batch["row"] for batch in batches.iterator(epoch=epoch)]) for epoch in (0, 1))
    assert sorted(order) == list(range(BOUNDS[-1]))
    assert_blocks_are_mixed(order, again)
