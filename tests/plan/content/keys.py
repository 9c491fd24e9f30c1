"""Keys of small plans, for the tests of their parts."""

import types

import penstock as ps
from penstock.plan.content.key import ContentKey, content_key


def key_of(ds: ps.Dataset, **settings) -> ContentKey:
    return content_key(ds._plan, operation="cache('kept')", **settings)


def key_with(function) -> ContentKey:
    return key_of(ps.Dataset.range(4).map(function))


def change(before: ContentKey, after: ContentKey) -> str:
    assert before.text != after.text
    return after.difference([before.parts]) or ""


def make(factor, offset=0):
    def scaled(x):
        return x * factor + offset

    return scaled


def in_module(text: str) -> types.ModuleType:
    module = types.ModuleType("of_the_user")
    exec(text, vars(module))  # a module as edited by a user
    return module
