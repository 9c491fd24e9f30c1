from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from typing import NamedTuple

import cloudpickle
import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elements.nested.structure import LEAF, all_leaves, describe_structure, flatten, is_leaf, paths, unflatten


class Point(NamedTuple):
    x: object
    y: object


@dataclasses.dataclass(frozen=True)
class Example:
    image: object
    label: object = 3


@dataclasses.dataclass
class Checked:
    size: object

    def __post_init__(self):
        if not isinstance(self.size, int):
            raise TypeError(self.size)


@dataclasses.dataclass
class Opaque:
    __penstock_leaf__ = True
    value: object


leaves = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), st.text(), st.binary())
keys = st.one_of(st.text(max_size=3), st.integers(0, 9))
elements = st.recursive(
    st.one_of(leaves, st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Example, inner, inner),
    ),
    max_leaves=12,
)


@given(elements)
def test_unflatten_is_the_inverse_of_flatten(element):
    found, structure = flatten(element)
    again = unflatten(structure, found)
    assert repr(again) == repr(element)  # types and the order of keys, too
    assert structure.num_leaves == len(found) == len(paths(structure))
    assert all(map(is_leaf, found))


@given(elements)
def test_a_structure_survives_pickling_and_is_equal_and_hashes_equal(element):
    structure = flatten(element)[1]
    again = pickle.loads(pickle.dumps(structure))
    assert again == structure
    assert hash(again) == hash(structure)
    assert repr(again) == repr(structure)


@given(elements, st.integers(1, 4))
def test_assembling_columns_gives_the_elements(element, count):
    found, structure = flatten(element)
    assert repr(structure.assemble([[leaf] * count for leaf in found], count)) == repr([element] * count)


@pytest.mark.parametrize("element", [{1: "a", 2: "b"}, {True: "a", 2: "b"}, {2: "b", 1.0: "a"}, {"a": 1}, {b"a": 1}])
def test_keys_that_are_equal_keep_their_types(element):
    leaves, structure = flatten(element)
    rebuilt = unflatten(structure, leaves)
    assert list(map(repr, rebuilt.items())) == list(map(repr, element.items()))


def test_the_order_of_keys_is_the_users_and_does_not_change_the_structure():
    first, second = flatten({"b": 1, "a": 2}), flatten({"a": 2, "b": 1})
    assert first[1] == second[1]
    assert first[0] == second[0] == [2, 1]
    assert list(first[1].assemble([[2], [1]], 1)[0]) == ["b", "a"]
    three = flatten({"b": 1, "a": 2, "c": 3})[1]
    assert three.assemble([[2, 20], [1, 10], [3, 30]], 2) == [{"b": 1, "a": 2, "c": 3}, {"b": 10, "a": 20, "c": 30}]
    assert list(three.assemble([[2], [1], [3]], 1)[0]) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (5, [""]),
        (None, []),
        ({"image": 0}, ['["image"]']),
        ([Example(1, 2)], ["[0].image", "[0].label"]),
        (Point(1, {"a": (2,)}), [".x", '.y["a"][0]']),
        ({3: 1}, ["[3]"]),
    ],
)
def test_paths_are_expressions_that_reach_the_leaf(element, expected):
    assert paths(flatten(element)[1]) == expected


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (5, "*"),
        (None, "None"),
        ((1,), "(*,)"),
        ([1, (), {}], "[*, (), {}]"),
        ({"b": 1, "a": [2, None]}, '{"b": *, "a": [*, None]}'),
        (Point(1, Example(2, 3)), "Point(x=*, y=Example(image=*, label=*))"),
        (OrderedDict(b=1, a=2), "OrderedDict(b=*, a=*)"),
    ],
)
def test_the_repr_of_a_structure_looks_like_the_element(element, expected):
    assert repr(flatten(element)[1]) == expected


def test_described_structures_have_texts_in_the_places_of_leaves():
    assert describe_structure(flatten({"b": 1, "a": 2})[1], ["first", "second"]) == '{"b": second, "a": first}'


@pytest.mark.parametrize(
    "leaf", [1, 2.5, True, b"x", "x", np.zeros(3), np.float16(1), object(), {1, 2}, range(3), Opaque(1)]
)
def test_everything_else_is_a_leaf(leaf):
    assert is_leaf(leaf)
    assert flatten(leaf)[1] == LEAF


@pytest.mark.parametrize("node", [None, [], (), {}, [1], Point(1, 2), Example(1)])
def test_containers_are_no_leaves(node):
    assert not is_leaf(node)
    assert not all_leaves([1, node])


def test_dataclasses_are_rebuilt_without_init():
    found, structure = flatten(Checked(3))
    assert found == [3]
    assert unflatten(structure, ["a batch"]).size == "a batch"


def test_a_dataclass_met_first_by_many_threads_at_once_is_registered_once():
    cls = dataclasses.make_dataclass("New", ["a", "b"])
    barrier, results = threading.Barrier(8), []

    def meet():
        barrier.wait()
        results.append(flatten({"x": cls(1, 2)}))

    threads = [threading.Thread(target=meet) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found for found, _ in results] == [[1, 2]] * 8
    assert len({structure for _, structure in results}) == 1


def test_a_structure_of_a_local_dataclass_can_be_pickled(tmp_path):
    cls = dataclasses.make_dataclass("Local", ["a", "b"])
    cls.__module__ = "__main__"  # as in a script: cloudpickle ships the class itself
    structure = flatten([cls(1, (2, 3))])[1]
    file = tmp_path / "structure.pickle"
    file.write_bytes(cloudpickle.dumps(structure))
    program = (
        "import pickle, sys\n"
        "structure = pickle.load(open(sys.argv[1], 'rb'))\n"
        "from penstock.elements.nested.structure import flatten, unflatten\n"
        "element = unflatten(structure, [1, 2, 3])\n"
        "assert flatten(element)[1] == structure\n"
        "print(structure, element[0].b)"
    )
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[Local(a=*, b=(*, *))] (2, 3)"


def test_kept_nodes_are_leaves():
    found, structure = flatten({"x": [1, 2]}, keep=lambda node: isinstance(node, list))
    assert found == [[1, 2]]
    assert repr(structure) == '{"x": *}'


SOLE = [
    *("object()", "range(3)", "{1, 2}", "np.float32(2)", "ArraySpec((), np.dtype('i4'))"),
    *("None", "[]", "{}", "OrderedDict(b=1, a=2)", "deque([1, 2])", "time.gmtime(0)", "Pair(1, (2,))", "Data(1, [2])"),
]


@pytest.mark.parametrize("first", SOLE)
def test_elements_are_flattened_the_same_before_and_after_the_import_of_optree(first):
    program = (
        "import sys, time, numpy as np\n"
        "from collections import OrderedDict, deque, namedtuple\n"
        "from dataclasses import make_dataclass\n"
        "from penstock.elements.spec import ArraySpec\n"
        "from penstock.elements.nested.structure import LEAF, flatten, is_leaf, unflatten\n"
        "Pair, Data = namedtuple('Pair', 'a b'), make_dataclass('Data', ['a', 'b'])\n"
        f"element = {first}\n"
        "before = is_leaf(element), *flatten(element)\n"
        "without = 'optree' not in sys.modules\n"
        "import optree\n"
        "assert before == (is_leaf(element), *flatten(element)), before\n"
        "assert unflatten(before[2], before[1]) == element\n"
        "print(without == (before[2] == LEAF))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_class_that_the_user_registered_is_a_node():
    class Registered:
        def __init__(self, value):
            self.value = value

    optree.register_pytree_node(
        Registered, lambda node: ((node.value,), None), lambda _, leaves: Registered(*leaves), namespace="penstock"
    )
    assert flatten(Registered(5))[0] == [5]
    assert not is_leaf(Registered(5))


class Row(dict):
    """A subclass whose construction is not known."""


@pytest.mark.parametrize("element", [OrderedDict(x=1, y=(2,)), defaultdict(int, x=1, y=2), deque([1, 2])])
def test_ordered_and_default_dicts_and_deques_are_nodes(element):
    leaves, structure = flatten(element)
    assert leaves == [1, 2]
    made = unflatten(structure, [3, 4])
    assert type(made) is type(element)
    assert flatten(made)[0] == [3, 4]


@pytest.mark.parametrize("element", [Row(x=1), Counter("ab"), UserDict(x=1), type("Items", (list,), {})([1])])
def test_other_subclasses_and_mappings_are_leaves(element):
    leaves, structure = flatten(element)
    assert leaves[0] is element
    assert structure is LEAF
