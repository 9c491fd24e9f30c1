from __future__ import annotations

import gc
import os
import socket

import numpy as np
import pytest

from penstock.memory.arena import Mapping
from penstock.memory.shared_file import SharedFile
from penstock.transport.loans import LEAST_MAPPED, MOST_PIECES, WHOLE_PIECE, LentFile, LentMemory


@pytest.fixture
def lent():
    file = SharedFile(1 << 14, 1 << 14)
    return LentMemory(7, file.fd, file.size)


def test_a_block_returns_with_its_last_view(lent):
    block = lent.array((1, 2, 0), 4096, 80)
    view = block.view(np.int64)[3:]
    view[:] = 5
    del block
    gc.collect()
    assert lent.returned() == []
    assert lent.part(4096, 80).view(np.int64).tolist() == [0] * 3 + [5] * 7
    del view
    gc.collect()
    assert lent.returned() == [(1, 2, 0)]
    assert lent.returned() == []


def test_a_piece_that_no_array_was_made_of_returns_whole(lent):
    lent.give_back((1, 3, WHOLE_PIECE))
    assert lent.returned() == [(1, 3, WHOLE_PIECE)]


def test_blocks_outlive_the_memory_they_are_of(lent):
    block = lent.array((1, 1, 0), 128, 8)
    block[:] = 9
    del lent
    gc.collect()
    assert block.tolist() == [9] * 8


@pytest.fixture
def shared():
    file = SharedFile(1 << 22, 1 << 22)
    ours, theirs = socket.socketpair()
    mapping = Mapping(file.fd, file.size)
    with ours, theirs:
        yield [LentFile(os.dup(file.fd), ours.fileno()), mapping, ours, theirs]


def test_a_piece_of_a_file_is_mapped_for_this_process_alone(shared):
    lent, owners, _, _ = shared
    owners.part(5000, 200_000)[:] = 3
    places = [(5000, 150_000), (200_000, 9)]
    one, two = ([np.frombuffer(part, np.uint8) for part in lent.parts(1, piece, places)] for piece in (1, 2))
    one[0][:] = 7
    owners.part(200_000, 9)[:] = 4
    assert owners.part(5000, 1) == two[0][0] == 3
    assert one[1].tolist() == [4] * 9
    view = one.pop()[3:]
    del one
    gc.collect()
    assert lent.returned() == []
    del view
    gc.collect()
    assert lent.returned() == [(1, 1, WHOLE_PIECE)]


def test_small_pieces_and_those_beyond_the_most_are_copied_and_return_at_once(shared):
    lent, owners, _, _ = shared
    owners.part(128, 9)[:] = range(9)
    (small,) = lent.parts(1, 0, [(128, 9)])
    assert bytes(small) == bytes(range(9))
    assert lent.returned() == [(1, 0, WHOLE_PIECE)]
    kept = [lent.parts(1, number, [(128, LEAST_MAPPED)]) for number in range(MOST_PIECES)]
    assert lent.returned() == []
    (copied,) = lent.parts(1, 99, [(128, LEAST_MAPPED)])
    assert lent.returned() == [(1, 99, WHOLE_PIECE)]
    assert copied == kept[0][0]
    owners.part(128, 9)[:] = 0
    assert bytes(copied[:9]) == bytes(range(9))


def test_the_connection_ends_with_the_last_piece(shared):
    lent, (_, ours, theirs) = shared.pop(0), shared
    (part,) = lent.parts(1, 0, [(128, LEAST_MAPPED)])
    ours.close()
    del lent
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)
    del part
    gc.collect()
    assert theirs.recv(1) == b""
