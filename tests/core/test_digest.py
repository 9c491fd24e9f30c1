"""Digests of content."""

from __future__ import annotations

from penstock.core.digest import digest, hasher


def test_a_digest_is_that_of_the_whole_content_however_it_comes():
    state = hasher()
    state.update(b"pen")
    state.update(b"stock")
    assert state.hexdigest() == digest(b"penstock")
    assert digest(b"penstock") != digest(b"penstocks")
    assert len(digest(b"", size=6)) == 12
