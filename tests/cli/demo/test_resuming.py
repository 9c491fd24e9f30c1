from __future__ import annotations

import json

import numpy as np
import pytest

from penstock.cli.demo.digits import pipelines, write_digits
from penstock.cli.demo.resuming import batch_digest, remaining, resumed_elsewhere


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """The folder, the saved cursor, and the digests of what came after it."""
    folder = tmp_path_factory.mktemp("demo") / "digits"
    write_digits(folder, lambda done, note: None)
    with pipelines(folder).training.iterator(epoch=1) as batches:
        for _ in range(20):
            next(batches)
        cursor = folder.parent / "cursor.json"
        cursor.write_text(json.dumps(batches.state_dict()))
        return folder, cursor, [batch_digest(batch) for batch in batches]


def test_a_new_process_gets_the_same_batches(interrupted):
    folder, cursor, expected = interrupted
    assert len(expected) == 9
    assert resumed_elsewhere(folder, cursor, workers=3) == expected


def test_this_process_gets_the_same_batches(interrupted):
    folder, cursor, expected = interrupted
    assert remaining(folder, cursor, workers=1) == expected


def test_a_failed_process_shows_the_reason(interrupted, tmp_path):
    with pytest.raises(RuntimeError, match="no folder"):
        resumed_elsewhere(tmp_path / "nowhere", interrupted[1], workers=1)


def test_a_digest_sees_every_byte_shape_and_dtype():
    batch = {"x": np.zeros(4, np.int32)}
    others = [{"x": np.array([0, 0, 0, 1], np.int32)}, {"x": np.zeros((2, 2), np.int32)}, {"x": np.zeros(4, np.uint32)}]
    assert batch_digest(batch) == batch_digest({"x": np.zeros(4, np.int32)})
    assert len({batch_digest(each) for each in [batch, *others]}) == 4
