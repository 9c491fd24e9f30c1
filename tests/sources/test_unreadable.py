"""Unreadable files among others: one failing element stands for each; see also test_faults.py."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.unreadable import WithUnreadable


def written(folder, *wrong):
    paths = [str(folder / f"{i}.npy") for i in range(4)]
    for i, path in enumerate(paths):
        np.save(path, np.arange(3) + 10 * i)
    for i in wrong:
        (folder / f"{i}.npy").write_bytes(b"nothing")
    return paths


@pytest.mark.parametrize("wrong", [(0,), (3,), (1, 2), (0, 3), (0, 1, 2)])
def test_a_failing_element_represents_each_unreadable_file(tmp_path, wrong):
    source = ps.read_numpy(written(tmp_path, *wrong))._plan.source
    assert isinstance(source, WithUnreadable)
    expected = [value for i in range(4) for value in (["fails"] if i in wrong else [10 * i, 10 * i + 1, 10 * i + 2])]
    assert source.length == len(expected)
    assert [str(error)[-40:] != "" for error in source.faults.values()] == [True] * len(wrong)
    good = np.array([row for row, value in enumerate(expected) if value != "fails"])
    assert source.read_many(good).elements() == [value for value in expected if value != "fails"]
    for row, value in enumerate(expected):
        if value == "fails":
            with pytest.raises(DataError, match=r"\d\.npy") as error:
                source.read_many(np.array([good[0], row]))
            assert error.value.element == 1
            assert source.describe(row) == "the unreadable part of a file"
        else:
            assert f"{value // 10}.npy" in source.describe(row)
    source.advise(np.arange(source.length))


def test_only_unreadable_files_are_an_error_at_once(tmp_path):
    with pytest.raises(DataError, match=r"0\.npy"):
        ps.read_numpy(written(tmp_path, 0, 1, 2, 3))
