"""The table of `make gpu-check`, on the CPU: the program runs, and says what it says on a GPU."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize(
    ("framework", "loader"), [("torch", "DataLoader, 0 workers, pinned"), ("jax", "device_put, one batch ahead")]
)
def test_the_table_has_a_line_for_every_source_of_batches(monkeypatch, capsys, framework, loader):
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    from bench.feeding import __main__ as program

    checked = []
    monkeypatch.setattr(f"bench.feeding.{framework}_steps.verify_feed", lambda *feed: checked.append(feed))
    monkeypatch.setattr(f"bench.feeding.{framework}_steps.WIDTHS", (4, 8))
    sizes = ["--batch", "2", "--size", "16", "--images", "8", "--steps", "1", "--rounds", "1", "--workers", "0"]
    monkeypatch.setattr(sys, "argv", ["bench.feeding", "--device", "cpu", "--frameworks", framework, *sizes])
    program.main()
    table = capsys.readouterr().out.splitlines()
    assert table[0] == f"{framework} on cpu, batches of 2 images of 16 x 16 x 3 bytes"
    assert [line.split("  ")[1] for line in table[2:6]] == [
        "replayed",
        "the feed",
        "resident data",
        loader,
    ]
    assert all("ms a step" in line for line in table[2:6])
    assert "target 1.02" in table[3]
    assert len(checked) == 3
