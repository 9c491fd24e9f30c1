"""Requests of every kind are tried again for `retry_seconds`; clear errors end them at once."""

from __future__ import annotations

import threading
from unittest.mock import Mock

import pytest

import penstock as ps
from penstock.storage.remote import retrying
from penstock.storage.remote.failures import Reason, StoreFailure
from penstock.storage.remote.file import Access
from penstock.storage.remote.retrying import Retry, answer_of

FAILURES = [ConnectionError("reset")] * 9


@pytest.fixture
def soon(monkeypatch):
    """Pauses of no length."""
    monkeypatch.setattr(retrying, "_FIRST_PAUSE", 0.0)


def access(seconds):
    return Access("memory://", {"retry_seconds": seconds})


def test_a_passing_failure_is_tried_again(soon):
    assert answer_of(Mock(side_effect=[*FAILURES, "size"]), "memory://a", access(300)) == "size"


@pytest.mark.parametrize(
    ("failure", "seconds"), [(FAILURES[0], 0), (PermissionError("no"), 300), (FileNotFoundError("no"), 300)]
)
def test_clear_errors_and_the_end_of_the_time_end_the_tries(failure, seconds):
    request = Mock(side_effect=failure)
    with pytest.raises(OSError, match="memory://a"):
        answer_of(request, "memory://a", access(seconds))
    assert request.call_count == 1


def test_forgotten_credentials_are_said_soon(soon, monkeypatch):
    monkeypatch.setitem(retrying._UNKNOWN_SECONDS, Reason.METADATA, 0.0)
    with pytest.raises(PermissionError, match=r"no credentials.*storage_options="):
        answer_of(Mock(side_effect=OSError("http://169.254.169.254/ connect")), "s3://a/b", access(302))


def test_a_server_that_has_never_answered_is_given_up_soon(soon, monkeypatch):
    monkeypatch.setitem(retrying._UNKNOWN_SECONDS, Reason.CONNECTION, 0.0)
    given = access(301)
    refused = Mock(side_effect=ConnectionError("connection refused"))
    with pytest.raises(ConnectionError, match="memory://a"):
        answer_of(refused, "memory://a", given)
    assert refused.call_count == 1
    with pytest.raises(FileNotFoundError):
        answer_of(Mock(side_effect=FileNotFoundError("no")), "memory://a", given)
    assert answer_of(Mock(side_effect=[*FAILURES, "size"]), "memory://a", given) == "size"


def test_nothing_is_tried_again_once_stopped():
    stopped = threading.Event()
    stopped.set()
    request = Mock(side_effect=FAILURES)
    with pytest.raises(ConnectionError, match="memory://a"):
        answer_of(request, "memory://a", access(300), stopped=stopped)
    assert request.call_count == 1


def test_pauses_grow():
    retry, failure = Retry(access(300)), StoreFailure(Reason.SERVER, "")
    pauses = [retry.pause_after(failure) for _ in range(9)]
    assert all(low / 2 <= pause <= low for pause, low in zip(pauses, [0.1 * 2**i for i in range(7)], strict=False))
    assert 5 <= pauses[-1] <= 10
    assert retry.pause_after(failure, 0.0) is None
    expired = StoreFailure(Reason.EXPIRED, "")
    assert [retry.pause_after(expired) for _ in range(2)] == [0.0, None]


def test_all_kinds_of_requests_are_tried_again(soon, monkeypatch):
    store = pytest.importorskip("fsspec").filesystem("memory")
    options = {"cache_bytes": 0}
    ds = ps.Dataset.from_source([b"one", b"two", b"three"])
    sent = ds.write_tfrecord("memory://tried/a", max_bytes=1, storage_options=options)
    left = {}
    for name in ("info", "find", "put_file", "rm_file"):
        method, left[name] = getattr(type(store), name), len(FAILURES)

        def failing(self, *given, _name=name, _method=method, **more):
            if left[_name]:
                left[_name] -= 1
                raise ConnectionError("reset")
            return _method(self, *given, **more)

        monkeypatch.setattr(type(store), name, failing)
    ds.write_tfrecord("memory://tried/a", max_bytes=40, overwrite=True, storage_options=options)
    assert list(ps.read_tfrecord("memory://tried/a*", storage_options=options)) == list(ds)
    assert len(sent) == 3
    assert not any(left.values())
