"""The file of an interrupted description."""

from __future__ import annotations

import json

import pytest

from penstock.core.errors import CursorError
from penstock.dataset.describing.checkpoint import Saved, load_checkpoint, remove_checkpoint, save_checkpoint
from penstock.dataset.describing.outline import ElementOutline, Tallies, parts_in


def test_a_checkpoint_is_read_back_and_removed(tmp_path):
    path = str(tmp_path / "state.json")
    tallies = Tallies()
    tallies.add(ElementOutline(list(parts_in({"x": 0.1, "y": "a", "z": float("nan")}))))
    assert load_checkpoint(path) is None
    save_checkpoint(path, Saved({"row": 1}, tallies))
    again = load_checkpoint(path)
    assert again is not None
    assert again.position == {"row": 1}
    assert json.dumps(again.tallies.state()) == json.dumps(tallies.state())
    remove_checkpoint(path)
    remove_checkpoint(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 1, "what": "else"}', '{"version": 9}', "\x00"])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path, text):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(CursorError, match=r"describe\(checkpoint='.*state.json'\): the file is not a checkpoint"):
        load_checkpoint(str(path))
