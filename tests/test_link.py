"""The web server of the benchmark `remote`: whole files, ranges, and errors, at the bytes that were asked for."""

from __future__ import annotations

from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

pytest.importorskip("bench.link")
from bench.link import linked, span


@pytest.fixture
def connection(tmp_path):
    """A connection to a server of one file."""
    (tmp_path / "file").write_bytes(bytes(range(256)) * 1000)
    with linked(tmp_path, 0.0, 1e9) as url:
        made = HTTPConnection(urlsplit(url).netloc, timeout=60)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("wanted", "begin", "end"),
    [
        (None, 0, 256_000),
        ("bytes=3-70000", 3, 70_001),
        ("bytes=255990-", 255_990, 256_000),
        ("bytes=-5", 255_995, 256_000),
    ],
)
def test_bytes_of_a_range(connection, wanted, begin, end):
    for _ in range(2):  # over one connection
        connection.request("GET", "/file", headers={"Range": wanted} if wanted else {})
        answer = connection.getresponse()
        assert answer.read() == (bytes(range(256)) * 1000)[begin:end]
        assert answer.status == (206 if wanted else 200)
        assert answer.getheader("Content-Range") == (f"bytes {begin}-{end - 1}/256000" if wanted else None)


def test_head_and_missing_files(connection):
    connection.request("HEAD", "/file")
    answer = connection.getresponse()
    assert (answer.read(), answer.getheader("Content-Length")) == (b"", "256000")
    connection.request("GET", "/other")
    answer = connection.getresponse()
    assert (answer.read(), answer.status) == (b"", 404)


def test_an_end_beyond_the_file():
    assert span("bytes=2-400", 10) == (2, 10)


def test_a_bucket_lists_its_files(connection, tmp_path):
    (tmp_path / "bucket").mkdir()
    for name in ("b.mds", "a.mds", "other"):
        (tmp_path / "bucket" / name).write_bytes(name.encode())
    connection.request("GET", "/bucket?list-type=2&prefix=")
    assert connection.getresponse().read().count(b"<Contents>") == 3
    obstore = pytest.importorskip("obstore")
    store = pytest.importorskip("obstore.store").S3Store.from_url(
        "s3://bucket",
        endpoint=f"http://{connection.host}:{connection.port}",
        region="us-east-1",
        skip_signature=True,
        client_options={"allow_http": True},
    )
    found = {each["path"]: each for page in obstore.list(store) for each in page}
    assert sorted(found) == ["a.mds", "b.mds", "other"]
    assert bytes(obstore.get(store, "a.mds").bytes()) == b"a.mds"
    assert obstore.head(store, "a.mds")["e_tag"] == found["a.mds"]["e_tag"]
