"""`storage_options=` in the spellings of pandas, fsspec, polars and obstore."""

from __future__ import annotations

import pytest

from penstock.core.errors import PlanError
from penstock.storage.remote.options import translated


def test_options_of_both_spellings():
    assert translated("s3", {"aws_access_key_id": "a", "AWS_REGION": "r"})[0] == {"access_key_id": "a", "region": "r"}
    assert translated("s3", {"anon": True, "use_ssl": False}) == ({"skip_signature": True}, {"allow_http": True})
    assert translated("gs", {"token": "anon"})[0] == {"skip_signature": True}
    assert translated("az", {"account_name": "n", "sas_token": "t"})[0] == {"account_name": "n", "sas_token": "t"}
    assert translated("http", {"headers": {"A": "b"}})[1] == {"default_headers": {"A": "b"}}
    with pytest.raises(PlanError, match="'kee'"):
        translated("s3", {"kee": 1})


def test_a_line_end_after_a_credential_is_named():
    with pytest.raises(PlanError, match=r"'token': \.\.\.\}: it has a line end") as caught:
        translated("s3", {"token": "s3cr3t\n"})
    assert "s3cr3t" not in str(caught.value)
    translated("gs", {"service_account_key": '{"a":\n1}'})
