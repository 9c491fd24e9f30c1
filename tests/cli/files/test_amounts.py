import pytest

from penstock.cli.files.amounts import many, size


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 bytes"), (1, "1 bytes"), (999, "999 bytes"), (1000, "1 KB"), (999_400, "999 KB"), (10**18, "1000 PB")],
)
def test_bytes_have_a_fitting_unit(count, told):
    assert size(count) == told


def test_counts_have_a_singular():
    assert (many(0, "file"), many(1, "file"), many(2, "file")) == ("0 files", "1 file", "2 files")
