"""What a user is told, and what is tried again, by the answers of a store and its options."""

from __future__ import annotations

import errno

import pytest

import penstock as ps
from penstock.core.errors import PlanError
from penstock.storage.remote.failures import Reason, classify
from penstock.storage.remote.writing import write_to_url


@pytest.mark.parametrize("status", [425, 500, 502, 503, 504, 507, 509, 520, 522, 524, 529, 530, 599])
def test_every_answer_that_says_that_a_server_fails_is_tried_again(status):
    found = classify(OSError(f"Server returned non-2xx status code: {status} something"))
    assert (found.kind, found.kind.is_passing) == (Reason.SERVER, True)


def test_a_wrong_clock_is_named():
    found = classify(OSError("status code: 403 <Code>RequestTimeTooSkewed</Code>"))
    assert found.kind is Reason.CLOCK


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/", "http://127.0.0.1:9", "http://127.0.0.1:9/a/*.txt?X-Amz-Signature=1"]
)
def test_folders_and_patterns_of_a_web_server_are_refused_at_once(url):
    with pytest.raises(PlanError, match="a web server has no listing of a folder or pattern"):
        ps.read_text(url)


def test_a_header_that_no_server_takes_is_named_before_any_request():
    with pytest.raises(PlanError, match=r"'headers'.*line end"):
        ps.read_text("http://127.0.0.1:9/a.txt", storage_options={"headers": {"Authorization": "Bearer a\n"}})


def test_an_unknown_option_of_a_web_server_is_told_the_known_ones():
    with pytest.raises(PlanError, match=r"unknown for http://; expected some of .*\bheaders\b"):
        ps.read_text("http://127.0.0.1:9/a.txt", storage_options={"header": {}})


def test_a_profile_that_is_not_configured_is_named(monkeypatch, tmp_path):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(PlanError, match=r"'profile': 'prod'\}: the AWS configuration has no such profile"):
        ps.read_text("s3://bucket/a.txt", storage_options={"profile": "prod"})


def test_files_are_not_written_to_signed_urls(tmp_path):
    with pytest.raises(PlanError, match="files cannot be written to signed URLs"):
        ps.Dataset.range(3).map(lambda x: b"a").write_tfrecord("http://127.0.0.1:9/a.tfrecord?X-Amz-Signature=1")


def test_a_full_disk_while_files_for_a_url_are_made_names_the_folder(tmp_path, options):
    def write(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write_to_url(write, "s3://data/x", {**options, "cache_dir": str(tmp_path)}, in_shards=False, overwrite=True)
    assert f"are complete in {tmp_path} before they are sent: make room there" in caught.value.__notes__[0]
