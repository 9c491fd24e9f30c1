import pytest

from penstock.cli.files.amounts import many, parse_size, size


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 bytes"), (1, "1 bytes"), (999, "999 bytes"), (1000, "1 KB"), (999_400, "999 KB"), (10**18, "1000 PB")],
)
def test_bytes_have_a_fitting_unit(count, told):
    assert size(count) == told


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1000", 1000), ("1k", 1000), ("1KB", 1000), ("1KiB", 1024), ("0.5 MiB", 1 << 19), ("2gb", 2 * 10**9)],
)
def test_sizes_with_units_are_parsed(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "MB", "1 XB", "-1", "1.2.3", "1ib", "one"])
def test_invalid_sizes_are_refused(text):
    with pytest.raises(ValueError, match="256MB"):
        parse_size(text)


def test_counts_have_a_singular():
    assert (many(0, "file"), many(1, "file"), many(2, "file")) == ("0 files", "1 file", "2 files")
