"""Ranks in real process groups: PyTorch's gloo and JAX on CPUs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.dataset.ranks.job import Job, rows_of
from tests.dataset.ranks.member import pipeline

MEMBER = Path(__file__).with_name("member.py")
SECONDS = 100


def started(framework, world, address, *tasks):
    """What each process of a group reports; with one task for all, or one for each."""
    tasks = [json.dumps(task) for task in (tasks if len(tasks) == world else tasks * world)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(MEMBER), framework, str(world), str(address)]
    together = {"0": tasks} if framework == "torch" else {str(rank): [task] for rank, task in enumerate(tasks)}
    programs = [
        subprocess.Popen(
            [*command, first, *these],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        for first, these in together.items()
    ]
    try:
        told = [program.communicate(timeout=SECONDS) for program in programs]
    finally:
        for program in programs:
            with suppress(ProcessLookupError):  # they have all ended
                os.killpg(program.pid, signal.SIGKILL)
    lines = [(line, error) for out, error in told for line in (out.splitlines() or [""])]
    return [json.loads(line) if line else {"crashed": error} for line, error in lines]


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def started_by_address(framework, world, task, prefix=""):
    """The same at an address of this machine; another process may take its port before the first rank does."""
    for _ in range(3):
        told = started(framework, world, prefix + free_address(), task)
        if not any("crashed" in each for each in told):
            break
    return told


def global_batches(told):
    assert [each.get("error", each) for each in told] == [""] * len(told)
    assert len({len(each["steps"]) for each in told}) == 1
    return [rows_of(step) for step in zip(*(each["steps"] for each in told), strict=True)]


def whole(**task):
    return [rows_of(step) for step in Job(lambda: pipeline(task), 1).steps()]


def test_torch_ranks_share_a_stream_and_go_on_with_one_rank_fewer(tmp_path):
    pytest.importorskip("torch")
    told = started("torch", 3, (tmp_path / "first").as_uri(), {"save": 2, "dies": [1, 4], "timeout": 2})
    assert told[1]["died"]
    for rank in (0, 2):
        assert "rank 1 of 3 did not answer within 2 s" in told[rank]["error"]
    before = [rows_of(step) for step in zip(*(each["steps"] for each in told), strict=False)]
    assert before == whole()[: len(before)]
    assert told[0]["state"] == told[1]["state"] == told[2]["state"]
    again = started("torch", 2, (tmp_path / "second").as_uri(), {"state": told[2]["state"]})
    assert before[:2] + global_batches(again) == whole()
    assert again[0]["last"]["epoch"] == again[1]["last"]["epoch"] == 1


def test_torch_ranks_that_disagree_all_hear_of_it_at_once(tmp_path):
    pytest.importorskip("torch")
    other = {"count": 151}
    told = started("torch", 2, (tmp_path / "plan").as_uri(), {}, other)
    for each in told:
        assert "rank 1 of 2 has another pipeline" in each["error"]


def test_torch_ranks_that_meet_at_an_address_name_the_one_that_was_killed():
    pytest.importorskip("torch")
    told = started_by_address("torch", 3, {"dies": [1, 4], "timeout": 3}, "tcp://")
    assert told[1]["died"]
    assert "rank 1 of 3 did not answer within 3 s" in told[0]["error"]
    assert re.search(
        "rank 1 of 3 did not answer|the process that holds their store has probably ended", told[2]["error"]
    )


def test_torch_ranks_of_a_group_share_a_stream_and_those_of_another_have_the_same():
    pytest.importorskip("torch")
    told = started_by_address("torch", 4, {"groups": [[0, 2], [1, 3]]}, "tcp://")
    assert global_batches(told[0::2]) == global_batches(told[1::2]) == whole()


def test_a_distributed_checkpoint_of_two_ranks_loads_on_three(tmp_path):
    pytest.importorskip("torch")
    path = str(tmp_path / "checkpoint")
    told = started("torch", 2, (tmp_path / "first").as_uri(), {"save": 2, "stop": 2, "checkpoint": path})
    again = started("torch", 3, (tmp_path / "second").as_uri(), {"restore": path})
    assert global_batches(told) + global_batches(again) == whole()


def test_unseeded_torch_ranks_take_the_seed_of_the_first(tmp_path):
    pytest.importorskip("torch")
    told = started("torch", 2, (tmp_path / "seeds").as_uri(), {"kind": "indexed", "unseeded": True})
    assert sorted(row // 1000 for step in global_batches(told) for row in step) == sorted(
        row for step in whole(kind="indexed") for row in step
    )
    assert told[0]["last"] == told[1]["last"]


def test_jax_processes_share_a_stream():
    pytest.importorskip("jax")
    told = started_by_address("jax", 2, {"save": 3})
    assert global_batches(told) == whole()
    again = started("none", 1, "", {"state": told[1]["state"]})
    assert whole()[:3] + global_batches(again) == whole()
