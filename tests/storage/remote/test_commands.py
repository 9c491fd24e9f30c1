"""The commands `index`, `inspect`, `peek` and `convert` with URLs, whose credentials are in the environment."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.cli.main import main


@pytest.fixture(autouse=True)
def records(folder, server, monkeypatch):
    """Records in the store, which the environment names."""
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t-value",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    made = ps.Dataset.from_source([b"record %d" % i for i in range(30)])
    made.write_tfrecord(folder / "a.tfrecord", max_bytes=300, index=False)
    return list(made)


def test_index(capsys, cache):
    assert main(["index", "s3://data/*.tfrecord"]) == 0
    printed = "".join(capsys.readouterr())
    assert "TFRecord: 3 files" in printed
    assert "30 records" in printed
    assert len(list(cache.glob("index/*.psindex"))) == 3
    assert main(["index", "--force", "s3://data/*.tfrecord"]) == 0


def test_inspect_and_peek(capsys):
    assert main(["inspect", "s3://data/*.tfrecord"]) == 0
    assert "30" in "".join(capsys.readouterr())
    assert main(["peek", "s3://data/*.tfrecord", "--elements", "2"]) == 0
    assert "s3://data/a-00000-of-00003.tfrecord, record 1" in "".join(capsys.readouterr())


def test_convert(tmp_path, records):
    assert main(["convert", "s3://data/*.tfrecord", str(tmp_path / "b.tfrecord")]) == 0
    assert list(ps.read_tfrecord(str(tmp_path / "b*.tfrecord"))) == records


@pytest.fixture
def written():
    """The store in memory that is written to, empty at first."""
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.rm("/converted", recursive=True) if store.exists("/converted") else None
    return store


def test_convert_to_urls(written, capsys, cache, records):
    to = "memory://converted/b.tfrecord"
    assert main(["convert", "s3://data/*.tfrecord", to, "--max-bytes", "200", "--workers", "1"]) == 0
    printed = "".join(capsys.readouterr())
    assert "30 records in 2 files" in printed
    assert sorted(written.find("/converted")) == [f"/converted/b-0000{i}-of-00002.tfrecord" for i in range(2)]
    assert list(ps.read_tfrecord("memory://converted/*.tfrecord", storage_options={"cache_bytes": 0})) == records
    assert not list(cache.glob("penstock-*"))


def test_convert_keeps_what_is_there(written, tmp_path, capsys):
    written.pipe("/converted/b.tar", b"old")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    command = ["convert", str(tmp_path / "a.txt"), "memory://converted/b.tar"]
    assert main(command) == 2
    assert "memory://converted/b.tar exists already; remove it, or pass --overwrite" in "".join(capsys.readouterr())
    assert written.cat_file("/converted/b.tar") == b"old"
    assert main([*command, "--overwrite"]) == 0
    assert written.cat_file("/converted/b.tar") != b"old"


@pytest.mark.parametrize(
    ("to", "text"),
    [("s3://data/b.odd", "the extension of s3://data/b.odd is unknown"), ("s3://data/x//b.tar", "an empty name")],
)
def test_convert_says_what_is_wrong_with_a_url(to, text, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("one\n")
    assert main(["convert", str(tmp_path / "a.txt"), to]) == 2
    printed = "".join(capsys.readouterr())
    assert text in printed
    assert "Traceback" not in printed


def test_a_wrong_name_is_one_line(capsys):
    assert main(["inspect", "s3://data/nothing"]) == 2
    printed = "".join(capsys.readouterr())
    assert "no such object" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("command", "status"), [(["inspect", "s3://data/a.tar"], 2), (["cache", "info", "s3://data/saved"], 1)]
)
def test_a_denied_command_names_the_environment_and_no_argument_of_python(command, status, server, capsys):
    server.told(status=403, code="AccessDenied")
    assert main(command) == status
    printed = "".join(capsys.readouterr())
    assert "access is denied (AccessDenied, status 403); give keys in the environment that may read it" in printed
    assert "(environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true" in printed
    assert "storage_options" not in printed
