"""Footers of Parquet files: column chunks that agree with the schema, as all of an intact file do."""

from __future__ import annotations

import io

import pytest

from penstock.kernels.footers import consistent_chunks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def footer_of(table, **options):
    content = written(table, **options)
    return content[-8 - int.from_bytes(content[-8:-4], "little") : -8]


@pytest.mark.parametrize(
    "options",
    [{}, {"version": "1.0"}, {"write_page_index": True}, {"store_schema": False}, {"write_statistics": False}],
    ids=str,
)
def test_footers_of_whole_files_agree_with_their_schema(options):
    from tests.sources.arrow.test_parquet import everything

    table = everything()
    leaves = len(pq.ParquetFile(pa.BufferReader(written(table))).schema)
    found = consistent_chunks(footer_of(table, row_group_size=20, **options))
    assert found.reshape(6, leaves).all()


def test_a_column_chunk_of_another_type_is_detected():
    footer = footer_of(pa.table({"x": [1.0], "y": [2]}))
    assert consistent_chunks(footer).tolist() == [True, True]
    assert consistent_chunks(footer.replace(b"\x15\x0a\x19", b"\x15\x02\x19")).tolist() == [False, True]


def test_an_invalid_footer_gives_no_result():
    footer = footer_of(pa.table({"x": [1.0], "y": [2]}))
    for content in (b"", footer[:-1], footer[: len(footer) // 2], bytes(100), b"\xff" * 100):
        assert consistent_chunks(content).size == 0
