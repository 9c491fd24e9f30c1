"""Sizes in bytes, as texts and numbers."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.sizes import check_bytes, parse_size


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1000", 1000), ("1k", 1000), ("1KB", 1000), ("1KiB", 1024), ("0.5 MiB", 1 << 19), ("2gb", 2 * 10**9)],
)
def test_sizes_with_units_are_parsed(text, count):
    assert parse_size(text) == check_bytes("f", "size", text) == count


@pytest.mark.parametrize("text", ["", "MB", "1 XB", "-1", "1.2.3", "1ib", "one", ".", "_"])
def test_invalid_sizes_are_refused(text):
    with pytest.raises(ValueError, match=r"expected a size such as 256MB, not"):
        parse_size(text)
    with pytest.raises(ValueError, match=r"^f\(size=.*\): expected a size such as 256MB, not"):
        check_bytes("f", "size", text)


def test_a_size_is_a_number_of_at_least_one_byte():
    with pytest.raises(ValueError, match=r"f\(size=0\): expected at least 1"):
        check_bytes("f", "size", "0.1B")
    with pytest.raises(TypeError, match=r"f\(size=1\.5\): expected a whole number"):
        check_bytes("f", "size", 1.5)


def test_all_arguments_in_bytes_take_the_spellings_of_the_commands(tmp_path):
    assert ps.Options(memory_budget="2GB") == ps.Options(memory_budget=2 * 10**9)
    ds = ps.Dataset.from_source([bytes(50)] * 10)
    assert len(ds.write_tfrecord(tmp_path / "a", max_bytes="0.1KB")) == 5
    assert ds.cache(limit_bytes="1KB").fingerprint() == ds.cache().fingerprint()
    assert len(list(ds.shuffle(buffer_bytes="1 KiB", seed=0))) == 10
    with ps.Switch(a=ds, memory_budget="10MB") as switch:
        assert len(list(switch["a"])) == 10
    for call in (lambda: ds.shuffle(buffer_bytes="much"), lambda: ds.cache(limit_bytes="much")):
        with pytest.raises(ValueError, match=r"_bytes='much'\): expected a size such as 256MB"):
            call()


def test_readers_of_blocks_take_sizes_with_units(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    assert len(ps.read_csv(tmp_path / "a.csv", cache_bytes="1MB", block_bytes="1 KiB")) == 2
