"""Patterns of URLs match as those of paths do."""

from __future__ import annotations

import pytest

from penstock.storage.remote.listing import _expression, find_objects


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a/*.tar", ["a/x.tar", "a/.tar"[:-4] + "y.tar"], ["a/b/x.tar", "a/.x.tar", "a/x.tar.gz"]),
        ("**/*.tar", ["x.tar", "a/b/x.tar"], [".a/x.tar", "a/.x.tar"]),
        ("a/**", ["a/x", "a/b/x"], ["a/.b/x", "b/x"]),
        ("x[0-9]?.t", ["x1a.t"], ["xaa.t", "x1.t"]),
        ("x[!0-9].t", ["xa.t"], ["x1.t", "x/.t"]),
        ("[^a]x", ["^x", "ax"], ["bx", "/x"]),
        ("[!]]x", ["ax", "[x"], ["]x"]),
        ("[]a]x", ["]x", "ax"], ["bx"]),
        ("x[b-a]", [], ["xa", "xb", "x-"]),
        (r"[\&&a]x", ["\\x", "&x", "ax"], ["bx"]),
        (".h/*", [".h/x"], ["h/x"]),
    ],
)
def test_patterns_match_like_those_of_files(pattern, matching, others):
    assert all(map(_expression(pattern).fullmatch, matching))
    assert not any(map(_expression(pattern).fullmatch, others))


@pytest.mark.parametrize(("names", "told"), [("a", "1 other object, such"), ("ab", "2 other objects, such")])
def test_a_pattern_without_a_match_tells_what_is_there(names, told):
    store = pytest.importorskip("fsspec").filesystem("memory")
    for name in names:
        store.pipe_file(f"/listed{len(names)}/{name}.txt", b"x")
    with pytest.raises(FileNotFoundError, match=f"no object matches .*, which has {told} as"):
        find_objects([f"memory://listed{len(names)}/*.tar"], None)
