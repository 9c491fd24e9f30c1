"""Named parts of a key."""

from penstock.plan.content.parts import KeyParts


def test_two_things_of_one_name_are_numbered_and_one_thing_is_described_once():
    parts, described = KeyParts(), []
    one, other = object(), object()
    names = [parts.refer(thing, "lambda", described.append) for thing in (one, other, one)]
    assert names == ["lambda", "lambda (2)", "lambda"]
    parts.complete()
    assert sorted(described) == ["lambda", "lambda (2)"]


def test_describing_one_thing_may_find_others():
    parts = KeyParts()

    def describe(name):
        parts.refer(parts, "inner", lambda inner: parts.put(inner, "2"))
        parts.put(name, "1")

    parts.refer(describe, "outer", describe)
    parts.complete()
    assert parts.texts == {"outer": "1", "inner": "2"}
