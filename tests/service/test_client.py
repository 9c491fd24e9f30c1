"""The consumer's side of a service."""

import pickle

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.service import client
from penstock.service.client import PreparedElsewhere, ServiceKey

D = ps.Dataset


def prepared(ds, name="x", fingerprint="1"):
    return PreparedElsewhere(ServiceKey(name, fingerprint, now=fingerprint), ds._plan)


def test_connections_are_made_as_needed_and_again_after_close():
    ours = prepared(D.range(9).map(lambda x: x + 1))
    assert not ours._lines
    ours.open()
    ours.open()
    assert len(ours._lines) == 1
    assert ours.rows(np.array([2, 3])).elements() == [3, 4]
    ours.close()
    assert not ours._lines
    assert ours.rows(np.array([8, 0])).elements() == [9, 1]
    ours.close()


def test_a_copy_in_another_process_asks_the_same_service():
    ours = prepared(D.range(9))
    ours.open()
    copy = pickle.loads(pickle.dumps(ours))
    assert (copy.key, copy.name) == (ours.key, "x")
    assert copy.rows(np.array([5])).elements() == [5]
    copy.close()
    ours.close()


def test_other_versions_are_told(monkeypatch):
    ours = prepared(D.range(9))
    ours.open()
    monkeypatch.setattr(client, "versions", lambda: "Penstock 0.0 with Python 2.7")
    other = prepared(D.range(9))
    with pytest.raises(WorkerError, match=r"has Penstock .*, and this one has Penstock 0.0 with Python 2.7; use"):
        other.open()
    ours.close()


def test_a_pipeline_that_cannot_be_loaded_says_so(tmp_path, monkeypatch):
    (tmp_path / "only_in_this_folder.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_in_this_folder

    ours = prepared(D.range(9).map(only_in_this_folder.double))
    monkeypatch.undo()
    with pytest.raises(ModuleNotFoundError, match="only_in_this_folder") as caught:
        ours.open()
    assert "while the process that prepares share('x') loaded the pipeline" in "\n".join(caught.value.__notes__)
