"""A user's script for the type checker: `make lint` checks this file with pyright's strictest settings."""
# pyright: strict

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np

import penstock as ps


def jittered(x: int, *, rng: np.random.Generator) -> tuple[int, float]:
    return x, float(rng.random())


def test_named_functions_determine_element_types() -> None:
    ds = ps.Dataset.range(4)
    _ = assert_type(ds.map(float), ps.Dataset[float])
    pairs = ds.map(jittered)
    _ = assert_type(pairs, ps.Dataset[tuple[int, float]])
    _ = assert_type(pairs.shuffle(seed=0).repeat(2).take(5)[0], tuple[int, float])
    assert [x for x, _ in pairs] == [0, 1, 2, 3]


def test_lambdas_need_no_types() -> None:
    ds = ps.Dataset.range(4)
    _ = assert_type(ds.map(lambda x: x * 2.0), ps.Dataset[Any])
    _ = assert_type(ds.map(jittered).map(lambda x, y: (y, x)), ps.Dataset[tuple[Any, Any]])
    _ = assert_type(ds.map(jittered).filter(lambda x, y: x + y > 1), ps.Dataset[tuple[int, float]])
    _ = assert_type(ds.filter(lambda x: x > 1).batch(2), ps.Dataset[Any])
    assert list(ds.flat_map(lambda x: [x] * 2).scan(0, lambda total, x: (total + x, total))) == [0, 0, 0, 1, 2, 4, 6, 9]
    assert list(ds.take_while(lambda x: x < 2).interleave(lambda x: [x, x])) == [0, 1, 0, 1]
    assert len(ds.split({"a": 0.5, "b": 0.5}, key_func=lambda x: x % 2)) == 2


def test_other_parts_of_an_element_keep_no_type() -> None:
    pairs = ps.Dataset.range(4).map(jittered)
    _ = assert_type(pairs.map(str, on=0), ps.Dataset[Any])
    _ = assert_type(pairs.map(lambda x: -x, on=1), ps.Dataset[Any])


def test_lines_are_text_unless_they_have_no_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    _ = assert_type(ps.read_text(tmp_path / "a.txt"), ps.Dataset[str])
    _ = assert_type(ps.read_text(tmp_path / "a.txt", encoding=None), ps.Dataset[bytes])
    assert list(ps.read_text(tmp_path / "a.txt", encoding=None)) == [b"one"]


def test_modules_opened_on_demand_are_known_to_type_checkers() -> None:
    ps.testing.verify_resume(ps.Dataset.range(3))
    assert ps.tf_data.AUTOTUNE == ps.AUTOTUNE
