"""URLs as paths: they show no credentials, and travel with the way to their store."""

from __future__ import annotations

import pickle

import pytest

from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile, are_remote, is_url, shown_url

SHOWN = {
    "https://me:pa55@host/a.tar": "https://host/a.tar",
    "https://host/a.tar?X-Amz-Credential=AK&X-Amz-Signature=5ec": "https://host/a.tar",
    "https://acct.blob.core.windows.net/c/k?sv=2&sp=r&sig=5ec": "https://acct.blob.core.windows.net/c/k",
    "https://host/a?id=7&token=5ec&page=2": "https://host/a?id=7&page=2",
    "https://host/a?id=7&code=5ec&tok=5ec&jwt=5ec&session=5ec": "https://host/a?id=7",
    "https://host/a?q-ak=5ec&q-signature=5ec&hdnts=exp=1~hmac=5ec&ticket=5ec&pwd=5ec": "https://host/a",
    "https://host/a?id=1;sig=5ec&amp;sig=5ec#access_token=5ec": "https://host/a?id=1",
    "https://host/a#part": "https://host/a#part",
    "https://host/a?path=b.tar&download": "https://host/a?path=b.tar&download",
    "ftp://me:5ec@host/a": "ftp://…@host/a",
    "s3://bucket/odd?name@x": "s3://bucket/odd?name@x",
    "abfs://container@account/key": "abfs://container@account/key",
}


@pytest.mark.parametrize("url", SHOWN)
def test_a_url_is_shown_without_credentials(url):
    assert shown_url(url) == SHOWN[url]


@pytest.mark.parametrize(
    "query", ["unknown=5ec", "rlkey=5ec", "5ec", "id=7&5ec", "id=a?sig=5ec", "e=1&token%3D5ec", "path=//h?s=5ec"]
)
def test_other_values_are_digests_which_tell_objects_apart(query):
    shown, other = shown_url(f"https://host/a?{query}"), shown_url(f"https://host/a?{query.replace('5ec', 'other')}")
    assert "…" in shown
    assert "5ec" not in shown.partition("…")[0]
    assert shown != other
    assert shown_url(shown) == shown


def test_a_remote_file_is_a_path_that_knows_its_object():
    access = Access("s3://data", {"secret": "5ec"})
    file = RemoteFile("s3://data/k", access, ObjectInfo("k", 7, '"tag"'))
    again = pickle.loads(pickle.dumps(file))
    assert (again, again.key, again.size, again.tag, again.access) == (file, "k", 7, '"tag"', access)
    assert again.access.options == {"secret": "5ec"}
    assert "5ec" not in repr(file) + repr(access) + file.identity
    assert access != Access("s3://data", {"secret": "other"})
    assert are_remote([file, file])
    assert not are_remote(["s3://data/k"])
    assert not are_remote([])


def test_the_identity_of_a_file_changes_with_its_content():
    access = Access("s3://data", {})
    made = [
        RemoteFile("s3://data/k", access, ObjectInfo("k", size, tag)) for size, tag in ((7, "a"), (7, "b"), (8, "a"))
    ]
    assert len({file.identity for file in made}) == 3


def test_local_paths_are_no_urls():
    assert not any(map(is_url, ["a/b", "/a", "file:///a", "C:\\a", b"s3://a", None]))
    assert all(map(is_url, ["s3://a/b", "hf://datasets/a", "chain::s3://x"[7:]]))
