"""The classification of failures, by errors as stores and their libraries raise them."""

from __future__ import annotations

import pytest

from penstock.core.errors import DataError, PlanError
from penstock.storage.remote.failures import (
    ChangedError,
    ForkedError,
    NoRangesError,
    Reason,
    ShortError,
    classify,
    failed,
)

XML = "Generic S3 error: Server returned non-2xx status code: {status} X: <Error><Code>{code}</Code></Error>"


def chained(outer, inner):
    """Return an error raised because of another."""
    try:
        try:
            raise inner
        except Exception as error:
            raise outer from error
    except Exception as error:  # noqa: BLE001 - what was raised
        return error


ERRORS = {
    "code": (OSError(XML.format(status=403, code="SignatureDoesNotMatch")), Reason.WRONG_KEYS),
    "code before type": (FileNotFoundError(XML.format(status=404, code="NoSuchBucket")), Reason.NO_CONTAINER),
    "slow down": (OSError(XML.format(status=503, code="SlowDown")), Reason.SLOW_DOWN),
    "expired": (OSError(XML.format(status=400, code="ExpiredToken")), Reason.EXPIRED),
    "status": (OSError("Server returned non-2xx status code: 500 X"), Reason.SERVER),
    "method": (FileNotFoundError("Object not found: status code: 405 X"), Reason.METHOD),
    "no secret": (OSError("Generic S3 error: source: MissingSecretAccessKey"), Reason.NO_KEYS),
    "429": (OSError("status code: 429 X"), Reason.SLOW_DOWN),
    "boto": (
        OSError("An error occurred (InvalidAccessKeyId) when calling the GetObject operation"),
        Reason.WRONG_KEYS,
    ),
    "type": (PermissionError("no"), Reason.DENIED),
    "inner": (chained(OSError("failed"), TimeoutError("slow")), Reason.TIMEOUT),
    "refused": (
        OSError("HTTP error: error sending request. retry_timeout: 180s kind: Connect"),
        Reason.CONNECTION,
    ),
    "body": (OSError("error decoding response body"), Reason.CONNECTION),
    "name of a key": (FileNotFoundError("Object at location timeout-503.jpg not found"), Reason.MISSING),
    "no metadata": (OSError("PUT http://169.254.169.254/latest/api/token kind: Connect"), Reason.METADATA),
    "numbers": (OSError("GET http://h/404.jpg elapsed: 503.1ms, kind: Request"), Reason.CONNECTION),
    "changed": (ChangedError(), Reason.CHANGED),
    "short": (ShortError(), Reason.SHORT),
    "ranges": (NoRangesError(), Reason.NO_RANGES),
    "forked": (ForkedError(), Reason.FORKED),
    "unknown": (ValueError("odd"), Reason.OTHER),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_reason_of_a_failure(name):
    error, kind = ERRORS[name]
    assert classify(error).kind is kind


@pytest.mark.parametrize("kind", Reason)
def test_each_kind_has_a_sentence_and_a_type(kind):
    error = failed(classify(ValueError("s3cr3t"))._replace(kind=kind), "s3://data/k", 3, 2.0)
    assert isinstance(error, OSError | DataError | PlanError)
    assert "s3://data/k" in str(error)
    assert "s3cr3t" not in str(error)
    assert "{" not in str(error) or kind is Reason.REGION


def test_the_text_of_an_error_is_never_quoted():
    error = classify(OSError("GET https://h/k?X-Amz-Signature=5ec key=5ec"))
    assert "5ec" not in error.details
