"""Orders that runs tell for the cache of a host: of live runs only, the earliest use of each object."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from penstock.storage.remote import orders as module
from penstock.storage.remote.orders import USE, ToldOrder, ToldOrders

A, B = "a" * 32, "b" * 32


def uses(**times):
    """The uses of A and B, each `(next, again)`."""
    return np.array([({"a": A, "b": B}[name].encode(), *each) for name, each in times.items()], USE)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(module, "_FRESH", 0.0)


@pytest.fixture
def told(tmp_path):
    made = ToldOrder(str(tmp_path))
    yield made
    made.close()


def test_what_is_told_replaces_what_was_told_before(tmp_path, told):
    orders = ToldOrders(str(tmp_path))
    assert orders.uses() == {}
    told.tell(uses(a=(5.0, 9.0), b=(6.0, 7.0)))
    assert orders.uses() == {A: (5.0, 9.0), B: (6.0, 7.0)}
    told.tell(uses(b=(8.0, 9.0)))
    assert orders.uses() == {B: (8.0, 9.0)}
    told.close()
    assert orders.uses() == {}
    assert os.listdir(tmp_path / "orders") == []


def test_the_earliest_use_of_several_runs_counts(tmp_path, told):
    other = ToldOrder(str(tmp_path))
    told.tell(uses(a=(5.0, 30.0)))
    other.tell(uses(a=(8.0, 10.0), b=(1.0, 2.0)))
    assert ToldOrders(str(tmp_path)).uses() == {A: (5.0, 10.0), B: (1.0, 2.0)}
    told.close()
    assert ToldOrders(str(tmp_path)).uses()[A] == (8.0, 10.0)
    other.close()


def test_the_order_of_a_process_that_was_killed_does_not_count(tmp_path):
    program = (
        "import os, signal, sys\n"
        "import numpy as np\n"
        "from penstock.storage.remote.orders import USE, ToldOrder\n"
        "ToldOrder(sys.argv[1]).tell(np.array([(b'a' * 32, 1.0, 2.0)], USE))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert len(os.listdir(tmp_path / "orders")) == 1
    assert ToldOrders(str(tmp_path)).uses() == {}
    assert os.listdir(tmp_path / "orders") == []


def test_a_damaged_file_is_no_error(tmp_path, told):
    told.tell(uses(a=(5.0, 9.0)))
    (path,) = (tmp_path / "orders").iterdir()
    with path.open("ab") as file:
        file.write(b"\xff" * 17)
    assert ToldOrders(str(tmp_path)).uses() == {A: (5.0, 9.0)}


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "orders").write_bytes(b"")
    told = ToldOrder(str(tmp_path))
    told.tell(uses(a=(5.0, 9.0)))
    told.close()
    assert ToldOrders(str(tmp_path)).uses() == {}
