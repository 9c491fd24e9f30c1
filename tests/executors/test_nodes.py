"""The choice of nodes for places: stable, without a node that waits for work."""

from __future__ import annotations

from penstock.executors.nodes import Nodes


def nodes_of(**nodes):
    made = Nodes()
    made.know(nodes)
    return made


def alone(made, place):
    """The node of a place while nothing else is under way."""
    node = made.choose(place)
    made.ended(node)
    return node


def test_a_place_has_the_same_node_each_time():
    made = nodes_of(a=1, b=2, c=1)
    assert [alone(made, place) for place in range(6)] == ["a", "b", "c"] * 2
    assert [alone(nodes_of(c=1, b=2, a=1), place) for place in range(3)] == ["a", "b", "c"]


def test_a_node_with_enough_tasks_leaves_its_place_to_the_next():
    made = nodes_of(a=1, b=1)
    assert [made.choose(0) for _ in range(5)] == ["a", "a", "b", "b", None]
    made.ended("b")
    assert made.choose(0) == "b"


def test_nodes_without_room_for_any_task_are_left_out():
    assert alone(nodes_of(head=0, a=1), 0) == "a"
    assert nodes_of().choose(0) is None


def test_only_the_places_of_a_lost_node_move():
    made = nodes_of(a=1, b=1, c=1)
    made.know({"a": 1, "c": 1})
    assert [alone(made, place) for place in range(3)] == ["a", "c", "c"]
    made.know({"a": 1, "c": 1, "d": 1})
    assert [alone(made, place) for place in range(3)] == ["a", "d", "c"]


def test_a_node_that_comes_back_has_its_places_again():
    made = nodes_of(a=1, b=1)
    made.know({"a": 1})
    made.know({"a": 1, "b": 1})
    assert alone(made, 1) == "b"
