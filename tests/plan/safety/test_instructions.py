from __future__ import annotations

import numpy as np

from penstock.plan.safety.instructions import Known, follow


class Told:
    """A listener that records its notifications."""

    def __init__(self, **names):
        self.names, self.heard = names, []

    def global_of(self, name):
        return Known(self.names[name], name) if name in self.names else None

    def reaches(self, known):
        self.heard.append(("reaches", known.name))

    def attribute(self, known, name):
        return Known(getattr(known.thing, name), f"{known.name}.{name}") if hasattr(known.thing, name) else None

    def parent_method(self, known, name):
        self.heard.append(("parent", name))

    def writes(self, known, what):
        self.heard.append(("writes", what))

    def writes_item(self, known, *, again, constant):
        self.heard.append(("item", known.name, again, constant))

    def writes_name(self, name):
        self.heard.append(("name", name))


class Holder:
    rows = {}  # noqa: RUF012
    made = None


def heard(function, **known):
    told = Told(**known)
    outer = frozenset(function.__code__.co_freevars)
    follow(function.__code__, {name: Known(thing, name) for name, thing in known.items()}, told, outer)
    return [each for each in told.heard if each[0] != "reaches"]


def test_attributes_and_items_are_followed_through_variables():
    def function(held, x):
        rows = held.rows
        rows[x] += 1
        rows["key"] = x
        rows[x + 1] = x
        held.made = x if x > 3 else rows
        del held.made

    assert heard(function, held=Holder()) == [
        *[("item", "held.rows", True, False), ("item", "held.rows", False, True), ("item", "held.rows", False, False)],
        *[("writes", "held.made"), ("writes", "held.made")],
    ]


def test_objects_made_inside_the_function_are_ignored():
    def function(x):
        made = Holder()
        made.value = x
        made.rows[0] = x
        rows = [x, x]
        rows[0] += 1
        return rows if x else made

    assert heard(function) == []


def test_out_arguments_count_as_writes():
    buffer = np.zeros(3)

    def function(x):
        return np.add(x, 1, where=True, out=buffer)

    assert heard(function, buffer=buffer) == [("item", "buffer", True, False)]


def test_inner_functions_see_the_same_names():
    def function(held):
        return [(lambda y: setattr(y, "a", 1), held.rows.update)[0] for _ in range(3)], (lambda: _written(held))

    def _written(held):
        held.made = 1

    assert heard(function, held=Holder()) == []  # what is called is for others to follow

    def direct(held):
        def inner(x):
            held.made = x

        return inner

    assert heard(direct, held=Holder()) == [("writes", "held.made")]
