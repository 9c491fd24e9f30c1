"""Worker processes and isolated runs: their requests to a store are counted by the consumer."""

from __future__ import annotations

import pytest

import penstock as ps

CONTENTS = [b"%d" % i * 500 for i in range(60)]


@pytest.fixture
def ds(folder, options):
    """A dataset of small objects."""
    for i, content in enumerate(CONTENTS):
        (folder / f"{i:03}.bin").write_bytes(content)
    return ps.read_files("s3://data/*.bin", storage_options=options)


@pytest.mark.parametrize("given", [{"executor": "processes", "workers": 2}, {"isolate": True}], ids=str)
def test_requests_of_other_processes_are_counted(ds, server, given):
    server.told(latency=0.02)
    with ds.batch(4).with_options(ps.Options(**given)).iterator() as it:
        assert sum(map(len, it)) == len(CONTENTS)
        fetched = it.stats().fetched
    assert fetched is not None
    assert len(CONTENTS) <= fetched.requests <= server.stats.gets
    assert fetched.bytes >= sum(map(len, CONTENTS))
    assert fetched.at_once >= 16


def test_both_together(ds, server):
    options = ps.Options(isolate=True, executor="processes", workers=2)
    with ds.batch(4).with_options(options).iterator() as it:
        assert sum(map(len, it)) == len(CONTENTS)
        assert it.stats().fetched.requests >= len(CONTENTS)
