"""Digests of content."""

from __future__ import annotations

from penstock.core.digest import digest, hashed, hasher


def test_a_digest_does_not_depend_on_the_memory_layout():
    state = hasher()
    state.update(b"pen")
    state.update(b"stock")
    assert state.hexdigest() == digest(b"penstock")
    assert digest(b"penstock") != digest(b"penstocks")
    assert len(digest(b"", size=6)) == 12


def test_keys_of_other_types_or_seeds_have_other_hashes():
    assert len({hashed(value, seed) for value in (1, "1", b"1", "i1") for seed in (0, 1)}) == 8
