"""Nobody sees what another has written into an element, as users would notice it."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.testing.alike import difference


class Row(NamedTuple):
    """An element that is a named tuple with something to write into."""

    tags: list
    label: int


@dataclass
class Example:
    """An element that is a dataclass."""

    image: object
    tags: list


def rows(count=6):
    return [{"image": 8.0 * row, "tags": [row], "box": {"low": row}} for row in range(count)]


def arrays(count=6):
    return [{"image": np.full(2, 8.0 * row), "tags": [row]} for row in range(count)]


def halve(row):
    """Divide in place, as users write it."""
    row["image"] = row["image"] / 2
    row["tags"].append("seen")
    return row


def uneven(tmp_path):
    return Dataset.from_source([{"image": float(n), "tags": [0] * n} for n in range(6)])


def json_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return ps.read_json(path)


def text_rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("".join(f"{row}\n" for row in range(6)))
    return ps.read_text(path).map(lambda line: {"image": float(line), "tags": [line]})


def listed(tmp_path):
    return Dataset.from_source(rows())


def streamed(tmp_path):
    return Dataset.from_source(rows()).filter(lambda row: row["tags"] == [row["image"] / 8])


def generated(tmp_path):
    return Dataset.from_generator(rows)


SOURCES = [uneven, json_rows, text_rows, listed, streamed, generated]
WAYS = {
    "cache": lambda s: s.cache(),
    "mapped cache": lambda s: s.map(lambda row: row).cache(),
    "cache and shuffle": lambda s: s.cache().shuffle(4, seed=0),
    "repeated cache": lambda s: s.cache().repeat(3),
    "expanded": lambda s: s.expand(3),
    "groups": lambda s: s.group_by_window(lambda row: 0, lambda key, group: group, window_size=4),
    "sequences": lambda s: s.flat_map(lambda row: [row, row]),
    "mixture": lambda s: Dataset.sample_from_datasets([s, s], seed=0),
    "prefetched": lambda s: s.prefetch(3),
    "together": lambda s: s.concatenate(s),
    "on a part": lambda s: s.map(lambda tags: [*tags, 1], on="tags").cache(),
}
EXECUTORS = [Options(executor="inline"), Options(executor="threads", workers=2), Options()]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_writes_into_its_element_gives_the_same_in_every_epoch(source, way, tmp_path):
    ds = WAYS[way](source(tmp_path)).with_options(Options(ignore_lint="all", seed=0))
    wanted = [halve(json.loads(json.dumps(row))) for row in ds.iterator(epoch=0)]
    for options in EXECUTORS:
        halved = ds.map(halve).with_options(options)
        for _ in range(3):
            assert list(halved.iterator(epoch=0)) == wanted


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_a_consumer_that_writes_into_elements_changes_no_later_epoch(source, tmp_path):
    ds = source(tmp_path).cache()
    wanted = json.dumps(list(ds))
    for _ in range(2):
        for row in ds:
            halve(row)
            row["box"] = None
    assert json.dumps(list(ds)) == wanted


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_writes_of_a_function_do_not_reach_the_other_branch_of_a_zip(source, tmp_path):
    s = source(tmp_path).cache()
    plain = list(s)
    for _ in range(2):
        pairs = list(Dataset.zip(s.map(halve), s))
        assert [other for _, other in pairs] == plain
        assert [one for one, _ in pairs] == [halve(json.loads(json.dumps(row))) for row in plain]


def test_paths_replaced_by_open_files_are_paths_again_in_the_next_epoch(tmp_path):
    path = tmp_path / "photo"
    path.write_text("pixels")

    def load(row):
        with open(row["image"]) as file:
            row["image"] = file.read()
        return row

    mine = [{"image": str(path)} for _ in range(3)]
    for ds in (Dataset.from_source(mine).map(load), Dataset.from_source(mine).cache().map(load)):
        for _ in range(2):
            assert [row["image"] for row in ds] == ["pixels"] * 3
        assert ds[1] == {"image": "pixels"}
    assert mine == [{"image": str(path)}] * 3


def test_the_users_list_is_unchanged_after_a_run():
    mine, copy = rows(), json.dumps(rows())
    ds = Dataset.from_source(mine)
    for row in ds.map(halve):
        row.clear()
    for row in ds:
        row["box"]["low"] = "changed"
    ds[0].clear()
    ds.reduce(0, lambda total, row: total + len(row.pop("tags")))
    list(ds.filter(lambda row: bool(row.pop("tags"))))
    list(ds.batch(2).map(lambda batch: batch.clear() or {"x": 1}))
    list(ds.scan(0, lambda total, row: (total, row.popitem()[0])))
    list(ds.group_by_window(lambda row: len(row.popitem()[0]) % 2, lambda key, group: group, window_size=2))
    assert json.dumps(mine) == copy


def test_a_table_that_a_function_looks_up_is_unchanged():
    table = rows()
    ds = Dataset.range(6).map(lambda i: table[i]).map(halve)
    assert list(ds) == list(ds)
    assert table == rows()


def test_a_generator_may_change_and_yield_its_dict_again():
    def counting():
        row = {"tags": []}
        for number in range(4):
            row["number"] = number
            row["tags"].append(number)
            yield row

    ds = Dataset.from_generator(counting)
    assert [row["number"] for row in ds] == [0, 1, 2, 3]
    assert [len(row["tags"]) for row in ds] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "element",
    [
        Row(["a"], 1),
        Example(1, ["a"]),
        OrderedDict(tags=["a"]),
        (["a"], {"x": 1}),
        [{"x": 1}],
        deque([["a"]]),
        {"x": {1}},
        {"x": bytearray(b"a")},
    ],
    ids=lambda element: type(element).__name__,
)
def test_every_kind_of_container_is_copied_for_the_consumer(element):
    ds = Dataset.from_source([element]).repeat(2)
    first, second = ds
    assert type(first) is type(second) is type(element)
    assert first == element
    write(first)
    assert first != second == element == ds[0]


def write(value):
    """Write into every container of an element."""
    if isinstance(value, dict):
        for part in value.values():
            write(part)
        value["written"] = 0
    elif isinstance(value, tuple):
        for part in value:
            write(part)
    elif isinstance(value, list | deque):
        for part in value:
            write(part)
        value.append(0)
    elif isinstance(value, Example):
        write(value.tags)
        value.image = 0
    elif isinstance(value, set):
        value.add(0)
    elif isinstance(value, bytearray):
        value.append(0)


def test_an_element_that_contains_itself_is_an_error_and_not_a_crash():
    row = {}
    row["row"] = row
    with pytest.raises(RecursionError):
        list(Dataset.from_source([row]))


def divide(row):
    """Divide an array in place."""
    row["image"] /= 2
    return row


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.from_source(arrays()),
        Dataset.from_source(arrays()).cache(),
        Dataset.from_tensor_slices({"image": np.ones((6, 2))}),
        Dataset.from_tensor_slices({"image": np.ones((6, 2))}).shuffle(seed=0),
        Dataset.from_tensor_slices({"image": np.ones((6, 2))}).cache().shuffle(seed=0),
        Dataset.range(6).map(lambda i: {"image": np.ones(2)}).cache(),
        Dataset.range(6).filter(lambda i: True).map(lambda i: {"image": np.ones(2)}).cache(),
        Dataset.from_tensor_slices({"image": np.ones((6, 2))}).filter(lambda row: row["image"][0] > 0).cache(),
        Dataset.from_tensors({"image": np.ones(2)}),
    ],
)
@pytest.mark.parametrize("options", EXECUTORS)
def test_writing_into_a_cached_array_advises_a_copy(ds, options):
    for _ in range(2):  # of a cache, the second epoch reads what is kept
        with pytest.raises(ValueError, match="read-only") as caught:
            list(ds.map(divide).with_options(options))
        assert any("copy" in note for note in caught.value.__notes__)
        assert not any(row["image"].flags.writeable for row in ds)


def test_a_cache_leaves_the_users_own_arrays_writable():
    table = [np.zeros(2) for _ in range(3)]
    list(Dataset.range(3).map(lambda i: {"x": table[i]}).cache())
    assert all(array.flags.writeable for array in table)


def writable(ds, options):
    return [leaf.flags.writeable for row in ds.with_options(options) for leaf in leaves_of(row)]


def leaves_of(element):
    parts = element if isinstance(element, tuple) else (element,)
    return [part for part in parts if isinstance(part, np.ndarray)]


SLICES = Dataset.from_tensor_slices(np.ones((9, 2)))
FRESH = Dataset.range(9).map(lambda i: np.ones(2))


@pytest.mark.parametrize(
    ("ds", "wanted"),
    [
        (SLICES, [False] * 9),
        (SLICES.shuffle(seed=1), [False] * 9),
        (SLICES.take(5).pad_to_cardinality(7), [False] * 5 + [True] * 2),
        (FRESH.take(5).pad_to_cardinality(7), [True] * 7),
        (SLICES.concatenate(FRESH), [False] * 9 + [True] * 9),
        (Dataset.choose_from_datasets([SLICES, FRESH], Dataset.range(2).repeat(9)), [False, True] * 9),
        (SLICES.expand(2), [False] * 18),
        (FRESH.expand(2), [True] * 18),
        (SLICES.cache(), [False] * 9),
        (FRESH.cache(), [False] * 9),
        (FRESH.cache().shuffle(seed=0), [False] * 9),
        (SLICES.batch(3), [True] * 3),
        (SLICES.batch(3).cache(), [False] * 3),
        (SLICES.cache().batch(3), [True] * 3),
        (SLICES.batch(3).unbatch(), [True] * 9),
        (SLICES.filter(lambda x: x[0] > 0, vectorized=False), [False] * 9),
        (Dataset.from_source([np.ones(2)] * 9), [False] * 9),
        (FRESH, [True] * 9),
    ],
)
def test_read_only_arrays_do_not_depend_on_the_executor(ds, wanted, processes):
    ways = [*EXECUTORS, Options(executor="threads", workers=1), Options(executor="inline", rewrite=False)]
    for options in [*ways, Options(executor=processes)]:
        for epoch in range(2):
            assert writable(ds, options) == wanted, (options, epoch)


def test_an_expanded_element_is_copied_for_each_variant():
    def add(x, rng):
        x += rng.integers(5)
        return x

    ds = FRESH.expand(3).map(add, vectorized=False).with_options(Options(seed=0))
    alone = [ds[row] for row in range(len(ds))]
    assert difference(list(ds.iterator(epoch=0)), alone) is None


def test_writes_before_a_failure_are_not_visible_when_elements_are_made_again():
    def halve_unless_third(row):
        row = halve(row)
        if row["box"]["low"] == 3:
            raise ValueError("third")
        return row

    wanted = [halve(row) for row in rows() if row["box"]["low"] != 3]
    for ds in (Dataset.from_source(rows()), Dataset.from_source(rows()).filter(lambda row: True)):
        assert list(ds.map(halve_unless_third, on_error=ps.on_error.skip())) == wanted
        assert list(ds.map(halve_unless_third).ignore_errors()) == wanted


def test_arrays_changed_before_a_failure_are_restored():
    def halve_unless_third(x):
        x[:] /= 2
        if x[0] == 1.5:
            raise ValueError("third")
        return x

    fresh = Dataset.range(6).map(lambda i: np.full(2, float(i)))
    wanted = [[i / 2] * 2 for i in range(6) if i != 3]
    for ds in (fresh, fresh.filter(lambda x: True), fresh.batch(1).unbatch()):
        for options in EXECUTORS:
            made = ds.map(halve_unless_third, on_error=ps.on_error.skip(), vectorized=False).with_options(options)
            assert [x.tolist() for x in made] == wanted
            replaced = ds.map(halve_unless_third, on_error=ps.on_error.replace(np.zeros(2))).with_options(options)
            assert [x.tolist() for x in replaced if x.any()] == wanted[1:]
            assert [x.tolist() for x in ds.map(halve_unless_third).ignore_errors().with_options(options)] == wanted


def test_replacements_are_copied_for_the_consumer():
    def fail(i):
        raise ValueError

    ds = Dataset.range(3).map(fail, on_error=ps.on_error.replace({"x": [1]}))
    for _ in range(2):
        for row in ds:
            assert row == {"x": [1]}
            row["x"].append(2)
