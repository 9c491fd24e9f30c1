"""Google, Azure and the Hugging Face hub, by their own interfaces: listings, ranges, tags, and what can go wrong."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.storage.remote import stores
from tests.storage.remote.hub_server import Hub

LINES = ["line 0", "second", "line 1", "second", "line 2", "second"]


def fill(folder):
    (folder / "x").mkdir()
    for i in range(3):
        (folder / "x" / f"{i}.txt").write_bytes(b"line %d\nsecond\n" % i)


@pytest.fixture(params=["gs", "gs with a key", "az", "az with a key"])
def cloud(request, folder, server):
    """The beginning of URLs of a store, and its options."""
    fill(folder)
    server.told(writable=True)
    url = f"http://127.0.0.1:{server.port}"
    own = {"cache_bytes": 0, "retry_seconds": 2}
    key = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    given = {
        "gs": {"token": "anon", "base_url": url},
        "gs with a key": {"service_account_key": json.dumps(key), "allow_http": True},
        "az": {"account_name": "account", "endpoint": url, "skip_signature": True},
        "az with a key": {"account_name": "account", "endpoint": url, "account_key": "czNjcjN0LXZhbHVl"},
    }
    return request.param[:2], {**given[request.param], **own}


def test_patterns_prefixes_and_single_objects(cloud):
    scheme, options = cloud
    for pattern in ("x/*.txt", "x/", "x/**"):
        assert list(ps.read_text(f"{scheme}://data/{pattern}", storage_options=options)) == LINES
    assert list(ps.read_text(f"{scheme}://data/x/1.txt", storage_options=options)) == ["line 1", "second"]


def test_ranges_of_large_objects(cloud, folder, server):
    scheme, options = cloud
    content = bytes(i * 31 % 256 for i in range(100_000))
    (folder / "x" / "large.bin").write_bytes(content)
    ds = ps.read_fixed_length(f"{scheme}://data/x/*.bin", 100, storage_options=options)
    server.told(writable=True)
    assert [ds[i] for i in (0, 999, 5)] == [content[:100], content[-100:], content[500:600]]
    assert 0 < server.stats.bytes < len(content)


def test_an_object_that_was_replaced_is_named(cloud, folder):
    scheme, options = cloud
    ds = ps.read_files(f"{scheme}://data/x/*.txt", storage_options=options)
    (folder / "x" / "1.txt").write_bytes(b"LINE 1\nSECOND\n")
    with pytest.raises(DataError, match=rf"{scheme}://data/x/1.txt.*replaced since the dataset was made"):
        list(ds)


def test_indexes_are_kept_beside_the_objects_of_those_who_may_write(cloud, folder):
    scheme, options = cloud
    assert list(ps.read_text(f"{scheme}://data/x/*.txt", storage_options=options)) == LINES
    count = len(list(folder.rglob(".penstock/*.psindex")))
    assert count == (0 if options.get("token") == "anon" or options.get("skip_signature") else 3)


@pytest.mark.parametrize(("name", "words"), [("data/x/no.txt", "no such object"), ("none/x/*", "no such bucket")])
def test_what_is_missing_is_said(cloud, name, words):
    scheme, options = cloud
    with pytest.raises(FileNotFoundError, match=rf"{words}.*{scheme}://{name[:6]}"):
        ps.read_text(f"{scheme}://{name}", storage_options=options)


@pytest.mark.parametrize(
    ("status", "codes", "words"),
    [
        (403, {"gs": "SignatureDoesNotMatch", "az": "AuthenticationFailed"}, "credentials are wrong"),
        (403, {"gs": "AccessDenied", "az": "AuthorizationFailure"}, "access is denied"),
        (401, {"gs": "InvalidToken", "az": "NoAuthenticationInformation"}, "credentials"),
    ],
)
def test_credentials_that_do_not_help_are_said_without_them(cloud, server, status, codes, words):
    scheme, options = cloud
    server.told(status=status, code=codes[scheme])
    with pytest.raises(PermissionError, match=words) as caught:
        list(ps.read_text(f"{scheme}://data/x/*.txt", storage_options=options))
    assert "czNjcjN0" not in str(caught.value)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(stores, "_LISTINGS_KEPT", 0.0)
    folder = tmp_path / "hub"
    folder.mkdir()
    fill(folder)
    stores.opened_store.cache_clear()
    with Hub(folder) as running:
        yield running


def of_hub(hub, **more):
    return {"endpoint": hub.url, "token": "hf_s3cr3t", "cache_bytes": 0, "retry_seconds": 1, **more}


def test_the_hub_lists_and_reads_ranges(hub):
    for pattern in ("x/*.txt", "x/", "x/**"):
        assert list(ps.read_text(f"hf://datasets/me/set/{pattern}", storage_options=of_hub(hub))) == LINES
    ds = ps.read_fixed_length("hf://datasets/me/set/x/1.txt", 7, storage_options=of_hub(hub))
    hub.requests.clear()
    assert ds[1] == b"second\n"
    assert hub.requests == ["GET /datasets/me/set/resolve/main/x/1.txt bytes=7-13"]


def test_files_that_are_pushed_later_belong_to_the_next_dataset(hub):
    url, options = "hf://datasets/me/set/x/*.txt", of_hub(hub)
    assert list(ps.read_text(url, storage_options=options)) == LINES
    (hub.folder / "x" / "9.txt").write_bytes(b"new\n")
    assert list(ps.read_text(url, storage_options=options)) == [*LINES, "new"]


def test_a_file_of_the_hub_that_was_replaced_is_named(hub):
    ds = ps.read_files("hf://datasets/me/set/x/*.txt", storage_options=of_hub(hub))
    (hub.folder / "x" / "1.txt").write_bytes(b"LINE 1\nSECOND\n")
    with pytest.raises(DataError, match=r"x/1.txt.*replaced since the dataset was made"):
        list(ds)


def test_mistakes_with_the_hub_are_said_without_the_token(hub):
    def told(kind, url):
        with pytest.raises(kind) as caught:
            list(ps.read_text(url, storage_options=of_hub(hub)))
        assert "s3cr3t" not in str(caught.value)
        return str(caught.value)

    assert "there is no such object" in told(FileNotFoundError, "hf://datasets/me/set/x/no.txt")
    assert "there is no such" in told(FileNotFoundError, "hf://datasets/me/other/x/1.txt")
    hub.token = "another"
    assert "credentials" in told(PermissionError, "hf://datasets/me/set/x/1.txt")
    hub.status = 403
    assert "access is denied" in told(PermissionError, "hf://datasets/me/set/x/1.txt")
