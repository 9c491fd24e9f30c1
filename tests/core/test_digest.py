"""Digests of content."""

from __future__ import annotations

from penstock.core.digest import digest, hashed, hasher


def test_a_digest_is_that_of_the_whole_content_however_it_comes():
    state = hasher()
    state.update(b"pen")
    state.update(b"stock")
    assert state.hexdigest() == digest(b"penstock")
    assert digest(b"penstock") != digest(b"penstocks")
    assert len(digest(b"", size=6)) == 12


def test_keys_of_other_types_or_seeds_hash_apart():
    assert len({hashed(value, seed) for value in (1, "1", b"1", "i1") for seed in (0, 1)}) == 8
