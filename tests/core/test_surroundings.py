"""The rank of this process among others, with a fake PyTorch."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from penstock.core.surroundings import FETCHER, is_read_by_a_dataloader, surroundings, torch_ranks, torch_worker


def test_a_single_process_has_one_worker_and_one_rank(monkeypatch):
    for name in ("torch.utils.data", "torch.distributed"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert surroundings() == (0, 1)
    assert torch_worker() is None


def test_workers_of_a_dataloader_are_counted(monkeypatch):
    info = SimpleNamespace(id=1, num_workers=4)
    monkeypatch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))
    assert torch_worker() is info
    assert surroundings()[0] == 4


def test_ranks_count_once_they_are_initialised(monkeypatch):
    ready = [False, True]
    ranks = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: ready.pop(0), get_world_size=lambda: 3)
    monkeypatch.setitem(sys.modules, "torch.distributed", ranks)
    assert [torch_ranks(), torch_ranks()] == [1, 3]
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace(is_available=lambda: False))
    assert torch_ranks() == 1


def test_a_dataloader_is_known_by_its_module():
    def row():
        return is_read_by_a_dataloader()

    names = {"__name__": FETCHER, "row": row}
    exec("read = row()", names)
    assert names["read"]
    assert not row()
