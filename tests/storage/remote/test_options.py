"""`storage_options=` in the spellings of pandas, fsspec, polars and obstore."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from penstock.core.errors import PlanError
from penstock.storage.remote.options import translated, with_checked_own


def test_options_of_both_spellings():
    assert translated("s3", {"aws_access_key_id": "a", "AWS_REGION": "r"})[0] == {"access_key_id": "a", "region": "r"}
    assert translated("s3", {"anon": True, "use_ssl": False}) == ({"skip_signature": True}, {"allow_http": True})
    assert translated("gs", {"token": "anon"})[0] == {"skip_signature": True}
    assert translated("az", {"account_name": "n", "sas_token": "t"})[0] == {"account_name": "n", "sas_token": "t"}
    assert translated("gs", {"timeout": 30, "connect_timeout": "5s"})[1] == {"timeout": "30s", "connect_timeout": "5s"}
    assert translated("http", {"headers": {"A": "b"}})[1] == {"default_headers": {"A": "b"}}
    with pytest.raises(PlanError, match="'kee'"):
        translated("s3", {"kee": 1})


@pytest.mark.parametrize(
    ("scheme", "given", "says"),
    [
        ("s3", {"bucket": "other"}, r"'bucket': \.\.\.\}: name it in the URL alone, as s3://name/key"),
        ("az", {"azure_container_name": "other"}, r"'azure_container_name': .* as az://name/key"),
        ("http", {"headers": "a: b"}, "'headers': .*expected a dict"),
    ],
)
def test_a_value_that_no_store_takes_is_named(scheme, given, says):
    with pytest.raises(PlanError, match=says):
        translated(scheme, given)


def test_a_line_end_after_a_credential_is_named():
    with pytest.raises(PlanError, match=r"'token': \.\.\.\}: it has a line end") as caught:
        translated("s3", {"token": "s3cr3t\n"})
    assert "s3cr3t" not in str(caught.value)
    translated("gs", {"service_account_key": '{"a":\n1}'})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retry_seconds", "5m"), ("retry_seconds", None), ("retry_seconds", -1), ("retry_seconds", math.nan),
        ("cache_bytes", "10XB"), ("cache_bytes", None), ("cache_bytes", True), ("cache_bytes", math.inf),
        ("cache_dir", 3), (7, "a"),
    ],
)  # fmt: skip
def test_an_own_option_of_another_kind_is_named(name, value):
    with pytest.raises(PlanError, match=rf"storage_options=\{{{name!r}: .*\}}: expected"):
        with_checked_own({name: value})


def test_the_size_of_the_cache_may_have_a_unit():
    assert with_checked_own({"cache_bytes": "10GB"}) == {"cache_bytes": 10**10}


def test_the_cache_folder_is_absolute(monkeypatch):
    monkeypatch.setenv("HOME", "/elsewhere")
    assert with_checked_own({"cache_dir": "~/c"}) == {"cache_dir": "/elsewhere/c"}
    assert with_checked_own({"cache_dir": Path("c")}) == {"cache_dir": os.path.abspath("c")}
    assert with_checked_own({"cache_dir": None, "retry_seconds": math.inf, "cache_bytes": 1e9})["cache_dir"] is None
