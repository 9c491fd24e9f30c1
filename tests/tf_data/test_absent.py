"""Names that Penstock does not have."""

from __future__ import annotations

import pytest

from penstock import tf_data as data
from penstock.tf_data.absent import OF_DATA, OF_EXPERIMENTAL


@pytest.mark.parametrize(("place", "names"), [(data, OF_DATA), (data.experimental, OF_EXPERIMENTAL)])
def test_each_absent_name_gives_a_replacement(place, names):
    for name, instead in names.items():
        with pytest.raises(AttributeError) as raised:
            getattr(place, name)
        assert str(raised.value) == f"{place.__name__} has no {name!r}: {instead}"


def test_no_absent_name_exists():
    assert not set(OF_DATA) & set(data.__all__)
    assert not set(OF_EXPERIMENTAL) & set(data.experimental.__all__)


def test_an_unknown_name_is_an_error():
    for place in (data, data.experimental, data.Dataset.range(3)):
        with pytest.raises(AttributeError, match=r"has no 'sarch'$"):
            _ = place.sarch


def test_a_misspelled_name_suggests_the_right_one():
    for place, name, known in (
        (data, "TFRecordDatset", "TFRecordDataset"),
        (data.experimental, "group_by_windw", "group_by_window"),
        (data.Dataset.range(3), "preftch", "prefetch"),
    ):
        with pytest.raises(AttributeError, match=rf"has no '{name}'; did you mean {known}\?$"):
            getattr(place, name)


def test_the_import_of_an_absent_name_gives_the_replacement():
    with pytest.raises(ImportError, match=r"name 'DatasetSpec' from 'penstock\.tf_data': .*ds\.element_spec"):
        from penstock.tf_data import DatasetSpec  # noqa: F401
    with pytest.raises(ImportError, match=r"from 'penstock\.tf_data\.experimental': .* sharding is never automatic"):
        from penstock.tf_data.experimental import SHARD_HINT  # noqa: F401
    assert not hasattr(data, "DatasetSpec")
