"""The process of a service, here in a thread: whom it welcomes, and the memory that it lends."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import PlanError
from penstock.service.client import PreparedElsewhere, ServiceKey
from penstock.service.folder import runtime_folder, service_door
from penstock.service.server import Service
from penstock.transport import loans

D = ps.Dataset
LARGE = D.range(64).map(lambda x: np.full(40_000, x)).batch(8)  # 2.5 MB a batch
PATIENCE = 60  # seconds, for the ends of threads


def prepared(ds, fingerprint="1"):
    return PreparedElsewhere(ServiceKey("x", fingerprint, now=fingerprint), ds._plan)


class Here:
    """A service in a thread of this process, which `end` lets go."""

    def __init__(self):
        self._before = set(threading.enumerate())
        self._listening = socket.socket(socket.AF_UNIX)
        with service_door("x") as door:
            self._listening.bind(door.address)
            self._listening.listen()
            self._first = socket.socket(socket.AF_UNIX)  # a consumer that says nothing
            self._first.connect(door.address)
            self.service = Service(self._listening, runtime_folder(), "x")
            threading.Thread(target=self.service.run, daemon=True).start()

    @property
    def lent(self):
        return dict(self.service._lending._lent)

    def end(self):
        """Wait until all threads of the service have ended, which they do after the last view of what was lent."""
        self._first.close()
        for thread in set(threading.enumerate()) - self._before:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        self._listening.close()


@pytest.fixture
def here():
    started = Here()
    yield started
    gc.collect()
    started.end()
    assert started.lent == {}


def test_batches_are_lent_without_a_copy_until_their_last_view_is_gone(here):
    first, second = prepared(LARGE), prepared(LARGE)
    kept = [each.rows(np.array([0])).element(0) for each in (first, second, first)]
    blocks = [block for blocks in here.lent.values() for block in blocks.values()]
    assert len(blocks) == 3
    assert len({block.ctypes.data for block in blocks}) == 1  # the batch itself, and no copy of it
    kept[0][:] = -1
    assert np.array_equal(kept[1], LARGE[0])
    assert np.array_equal(kept[2], LARGE[0])
    del kept[0]
    part = kept.pop(0)[3:, :7]
    gc.collect()
    first.rows(np.array([1]))  # tells what was returned
    second.rows(np.array([1]))
    assert len(here.lent) == 4  # two of them behind the answers just told
    first.close()
    second.close()
    assert part.tolist() == [[x] * 7 for x in range(3, 8)]
    assert np.array_equal(kept[0], LARGE[0])


def test_a_consumer_that_keeps_everything_does_not_keep_the_memory(here):
    many = D.range(200).map(lambda x: np.full(20_000, x)).batch(1)
    ours = prepared(many)
    kept = [ours.rows(np.array([row])).element(0) for row in range(len(many))]
    assert len(here.lent) <= 40
    assert all(np.array_equal(batch, many[row]) for row, batch in enumerate(kept))
    ours.close()


KILLED = """
import sys
import numpy as np
from tests.service.test_server import LARGE, prepared
ours = prepared(LARGE)
kept = [ours.rows(np.array([row])) for row in range(3)]
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_memory_of_a_consumer_that_was_killed_returns(here):
    ours = prepared(LARGE)
    assert np.array_equal(ours.rows(np.array([0])).element(0), LARGE[0])
    command = [sys.executable, "-c", KILLED]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as job:
        assert job.stdout.readline() == "ready\n"
        assert len(here.lent) >= 3
        job.send_signal(signal.SIGKILL)
    for row in range(len(LARGE)):
        assert np.array_equal(ours.rows(np.array([row])).element(0), LARGE[row])
    ours.close()


def test_elements_come_through_the_socket_where_no_memory_is_shared(here, monkeypatch):
    monkeypatch.setattr(loans, "new_arena", lambda budget: (None, "no memory"))
    ours = prepared(LARGE)
    for row in range(3):
        batch = ours.rows(np.array([row])).element(0)
        batch += 1
        assert np.array_equal(batch, LARGE[row] + 1)
    assert here.lent == {}
    ours.close()


def test_a_name_belongs_to_those_who_were_welcome(here):
    first, other = prepared(D.range(3)), prepared(D.range(3), "2")
    first.open()
    with pytest.raises(PlanError, match="other elements are shared under this name"):
        other.open()
    first.close()
    other.open()  # of a service of its own: the connection that says nothing keeps no name
    assert not here.service._welcomed
    with service_door("x") as door:
        assert door.socket in os.listdir(runtime_folder())
    other.close()
