"""Mistakes in URLs, keys and options are one sentence that says what to do, and show no credentials."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.storage.remote.failures import PanicError, Reason, classify, failed

SECRET = "s3cr3t-value"


def told(kind, url, options):
    """Return the message of the error for a URL, once it is known to be of this kind and to show no credentials."""
    with pytest.raises(kind) as caught:
        ps.read_files(url, storage_options=options)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown
    assert "AKIDTEST" not in shown
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("x//a.txt", "an empty name, between two slashes"),
        ("/a.txt", "an empty name"),
        ("x//*.txt", "an empty name"),
        ("x/../a.txt", r"a name '..'"),
        ("./a.txt", "a name '.'"),
        ("a\n.txt", "a line end"),
    ],
)
def test_a_key_that_cannot_be_asked_for_is_said(key, text, options, server):
    for root in ("s3://data/", f"http://127.0.0.1:{server.port}/"):
        message = told(PlanError, root + key, options if root.startswith("s3") else {})
        assert text in message
        assert repr(root + key) in message
    assert server.stats.requests == 0


@pytest.mark.parametrize("path", ["images/", "images/*.jpg", "images/**"])
def test_a_folder_of_a_web_server_is_said_to_have_no_listing(path, server):
    message = told(PlanError, f"http://127.0.0.1:{server.port}/{path}", None)
    assert "a web server has no listing of a folder or pattern; give the URLs of its files" in message
    with pytest.raises(PlanError, match="a web server has no listing"):
        ps.read_image_folder(f"http://127.0.0.1:{server.port}/images")
    assert server.stats.requests == 0


@pytest.mark.parametrize("bucket", ["a%2Fb", "my bucket", "{bucket}", "a\\b"])
def test_a_bucket_that_cannot_be_is_named(bucket, server, options):
    assert repr(f"s3://{bucket}/") in told(PlanError, f"s3://{bucket}/a.txt", options)
    assert server.stats.requests == 0


def test_a_listed_key_that_cannot_be_asked_for_is_named(options, server, monkeypatch):
    entry = (
        "<Contents><Key>x//a.txt</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
    )
    answer = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entry}</ListBucketResult>".encode()
    monkeypatch.setattr(server, "_listed", lambda bucket, prefix: (200, answer))
    message = told(DataError, "s3://data/*", options)
    assert "key ('x//a.txt')" in message
    assert "rename the object" in message


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "localhost:9000", "http://", "http://ho st:80", f"http://me:{SECRET}@host:x", "", 5]
)
def test_a_bad_endpoint_is_an_error_of_the_plan(endpoint, options):
    message = told(PlanError, "s3://data/a.txt", {**options, "endpoint_url": endpoint})
    assert "'endpoint_url'" in message
    assert "such as 'https://host:9000'" in message


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"timeout": "soon"}, "a timeout is not a duration such as '30s'"),
        ({"skip_signature": "maybe"}, "True or False"),
        ({"imdsv1_fallback": 7}, "a wrong type"),
        ({"proxy_url": "::"}, "proxy_url"),
    ],
)
def test_a_bad_option_is_said(given, text, options):
    message = told(PlanError, "s3://data/a.txt", {**options, **given})
    assert message.startswith("s3://data/a.txt: ")
    assert text in message
    assert "Generic" not in message


def test_options_of_other_stores(tmp_path):
    pytest.importorskip("obstore")
    missing = {"service_account": str(tmp_path / "none.json"), "cache_bytes": 0}
    assert "service account cannot be read" in told(PlanError, "gs://data/a", missing)
    assert "account_name is missing" in told(PlanError, "az://data/a", {"cache_bytes": 0})
    wrong = {"account_name": "a", "account_key": f"%{SECRET}", "cache_bytes": 0}
    assert "not a base64 text" in told(PlanError, "az://data/a", wrong)
    assert "invalid name" in told(PlanError, "http:///a", None)


def test_a_panic_of_the_client_is_an_error(options, server, folder, monkeypatch):
    panic = type("PanicException", (BaseException,), {})
    (folder / "a.txt").write_bytes(b"x")
    ds = ps.read_files("s3://data/a.txt", storage_options=options)
    obstore = pytest.importorskip("obstore")

    def broken(*given, **more):
        raise panic(f"called unwrap on {SECRET}")

    monkeypatch.setattr(obstore, "get", broken)
    monkeypatch.setattr(obstore, "head", broken)
    assert "check the URL and storage_options=" in told(PlanError, "s3://data/b.txt", options)
    with pytest.raises(PlanError, match="cannot make a request"):
        list(ds)
    assert classify(PanicError()).kind is Reason.PANIC


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("Connect, ConnectionRefused", "connection refused"),
        ("dns error: failed to lookup address", "the host name has no address"),
        ('Generic\nsource: Odd {\n source: Inner {\n  source: "secret: Key {",', "OSError: Inner"),
    ],
)
def test_the_cause_is_said_instead_of_a_type(text, details):
    failure = classify(OSError(text))
    assert failure.details == details
    assert details in str(failed(failure, "s3://data/k"))


def test_the_words_of_a_key_are_no_reason():
    assert classify(FileNotFoundError("service account file.json")).kind is Reason.MISSING


def test_a_url_as_a_path_is_said_to_lack_a_slash():
    with pytest.raises(PlanError, match=r"read_text\(paths='s3:/data/a\.txt'\): a URL has two slashes.* pathlib"):
        ps.read_text(Path("s3://data/a.txt"))


def test_a_bucket_that_is_not_there_is_named_with_the_url_as_given(server, options):
    with pytest.raises(FileNotFoundError, match="no such bucket") as caught:
        ps.read_text("s3://other/a.txt", storage_options=options)
    assert caught.value.filename == "s3://other/a.txt"
