from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import RowWork
from penstock.engine.workers.processes.plans import SharedPlan
from penstock.engine.workers.processes.ticket import Ticket
from penstock.memory.arena import Arena
from penstock.memory.shared_file import SharedFile
from penstock.plan.flow import Piece
from penstock.transport.packets import packet_of
from penstock.transport.raised import pickled_error


class Client:
    def __init__(self):
        self.plan = SharedPlan(RowWork(ps.Dataset.range(3)._plan, np.empty, Unobserved()), Unobserved())
        self.sizes = []
        self.plan.result_sizes = SimpleNamespace(room=100_000, add=self.sizes.append)

    def explained(self, error, kind):
        return RuntimeError(f"{kind}: {error}")


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 20, 1 << 20))


@pytest.fixture
def answers():
    return []


@pytest.fixture
def ticket(arena, answers):
    task = Task(0, 1, Piece(Items([]), np.arange(1)), [arena.allocate((4, 500), np.dtype("f8"))])
    return Ticket(Client(), task, arena, lambda *answer: answers.append(answer))


def test_a_result_in_the_slot_is_a_view_of_it(ticket, arena, answers):
    slot = ticket.task.slot[0]
    made = packet_of(slot[1:], arena)
    assert ticket.answer("made", made.packet, "counted", made.tobytes()) == []
    ((result, counted),) = answers
    slot[:] = 5
    assert (result == 5).all()
    assert counted == "counted"
    assert ticket.client.sizes == [made.packet.nbytes]


def test_a_result_in_the_room_is_a_view_of_that(ticket, answers):
    made = packet_of(np.arange(5000))
    made.write(ticket._sending.room)
    ticket.answer("made", made.packet, None, b"")
    assert answers[0][0].tolist() == list(range(5000))


@pytest.mark.parametrize(
    ("kind", "told"), [("failed", "no"), ("not loaded", "not loaded: no"), ("not packed", "not packed: no")]
)
def test_errors_are_explained_unless_they_are_the_functions(kind, told, ticket, answers):
    ticket.answer(kind, pickled_error(ValueError("no")), None, b"")
    assert str(answers[0][0]) == told


def test_an_object_that_cannot_be_unpickled_here_is_an_error(ticket, answers):
    class Odd:
        def __reduce__(self):
            return int, ("x",)

    made = packet_of(Odd())
    ticket.answer("made", made.packet, None, made.tobytes())
    assert str(answers[0][0]).startswith("not unpacked: invalid literal")


def test_a_dropped_ticket_tells_nobody_and_keeps_its_memory(ticket, arena, answers):
    assert ticket.cancel()
    live = arena.live_bytes
    ticket.answer("failed", pickled_error(ValueError("no")), None, b"")
    assert answers == []
    assert arena.live_bytes == live
    del ticket
