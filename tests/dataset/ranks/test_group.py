"""Groups of ranks: exchanges, and who is missing."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.core.errors import RankError
from penstock.dataset.ranks.group import RankGroup, group_here
from penstock.dataset.ranks.stores import ThreadStore


def groups(world, timeout=10.0):
    store = ThreadStore()
    return store, [RankGroup(store, rank, world, timeout) for rank in range(world)]


def test_all_ranks_receive_the_texts_of_all_in_their_order():
    store, members = groups(3)

    def talk(group):
        conversation = group.begin()
        return [conversation.exchange(f"{group.rank}.{turn}", "now") for turn in range(4)]

    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(talk, members))
    assert told == [[[f"{rank}.{turn}" for rank in range(3)] for turn in range(4)]] * 3
    assert all(key.startswith("1/3/") for key in store._texts)  # what all have read is dropped


def test_the_ranks_that_do_not_answer_are_named():
    _, (first, *_) = groups(3, timeout=0.01)
    with pytest.raises(RankError, match=r"at the start: rank 1, 2 of 3 did not answer within 0.01 s"):
        first.begin().exchange("text", "at the start")


def test_after_a_wait_in_vain_no_rank_begins_again_on_old_messages():
    _, (first, second) = groups(2, timeout=0.01)
    with pytest.raises(RankError, match="rank 1 of 2 did not answer"):
        first.begin().exchange("text", "at the start of epoch 1")
    for group in (first, second):
        with pytest.raises(
            RankError, match="out of step, since rank 0 waited in vain for rank 1 at the start of epoch 1"
        ):
            group.begin()


def test_a_store_that_is_gone():
    class Gone(ThreadStore):
        def put(self, key, text):
            raise RuntimeError("Connection reset by peer")

    with pytest.raises(RankError, match=r"cannot reach the others any more \(Connection reset by peer\)"):
        RankGroup(Gone(), 0, 2, 1.0).exchange("key", "text", "now")


def test_a_copy_in_another_process_belongs_to_no_group():
    _, (group, _) = groups(2)
    assert pickle.loads(pickle.dumps(group)) is None
    assert copy.copy(group) is None


def test_a_folder_is_a_group(tmp_path):
    place, group = group_here(tmp_path, 1, 2, 5.0)
    assert place[:2] == (1, 2)
    assert repr(group) == "<RankGroup: rank 1 of 2, FolderStore>"


def test_no_group():
    assert group_here(None, 0, 4, 1.0)[1] is None
    with pytest.raises(TypeError, match="expected a torch ProcessGroup"):
        group_here(7, 0, 4, 1.0)
    with pytest.raises(TypeError, match="needs rank= and world="):
        group_here(ThreadStore(), None, None, 1.0)


def test_numbers_that_contradict_the_group(tmp_path):
    _, (_, second) = groups(2)
    assert group_here(second, None, None, 1.0)[0] == group_here(second, 1, 2, 1.0)[0] == (1, 2, "group=")
    with pytest.raises(ValueError, match=r"shard_by_rank\(rank=0, world=2\): this process is rank 1 of 2 in the group"):
        group_here(second, 0, 2, 1.0)
    torch = pytest.importorskip("torch")
    distributed = torch.distributed
    distributed.init_process_group("gloo", init_method=(tmp_path / "store").as_uri(), rank=0, world_size=1)
    try:
        group = distributed.new_group([0])
        assert group_here(group, 0, 1, 1.0)[0] == group_here(group, None, None, 1.0)[0] == (0, 1, "group=")
        with pytest.raises(ValueError, match=r"shard_by_rank\(rank=1, world=2\): this process is rank 0 of 1"):
            group_here(group, 1, 2, 1.0)
    finally:
        distributed.destroy_process_group()
