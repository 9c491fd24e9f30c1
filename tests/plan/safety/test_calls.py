from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.plan.safety.calls import Calls, alone, turns_of

D = ps.Dataset


class Lazy:
    """Opens what it reads at the first call."""

    def __init__(self, path):
        self.path = path
        self.__dict__["file"] = None

    def __call__(self, x):
        if self.file is None:
            self.__dict__.update(file=open(self.path, "rb"))  # noqa: SIM115
        return x


def test_the_first_call_shows_what_the_code_does_not(tmp_path):
    buffer = np.zeros(3)
    copy_into = np.copyto  # by another name

    def writes(x):
        copy_into(buffer, x)
        return buffer.sum()

    calls = Calls(writes, None)
    assert not calls.settled
    assert calls(2) == 6
    assert calls.settled
    assert calls.turns is not None
    assert turns_of(writes) is not None  # as long as somebody calls it
    free = Calls(lambda x: buffer * x, None)
    free(1)
    assert free.settled


def test_what_the_first_call_opens_is_seen(tmp_path):
    (tmp_path / "rows").write_bytes(b"rows")
    lazy = Lazy(tmp_path / "rows")
    calls = Calls(lazy, None)
    assert calls.turns is None
    calls(1)
    assert calls.turns is not None
    lazy.file.close()


def test_operations_of_our_own_are_safe():
    for node in (
        D.range(3).map(ps.image.normalize(0.5, 0.5))._plan,
        D.from_tensor_slices(np.zeros(3))._plan,
        D.from_source([1, 2])._plan,
    ):
        assert alone(node) is None


def test_a_source_of_which_nothing_is_known_is_read_by_one_thread():
    class Guessing:
        def __len__(self):
            return 9

        def __getitem__(self, i):
            return getattr(self, "rows")[i]  # noqa: B009

    class Plain(Guessing):
        rows = tuple(range(9))

        def __getitem__(self, i):
            return self.rows[i]

    assert "nothing says that several threads may read a Guessing" in alone(D.from_source(Guessing())._plan).why
    assert alone(D.from_source(Guessing(), thread_safe=True)._plan) is None
    assert alone(D.from_source(Plain())._plan) is None
    assert alone(D.from_source(Plain(), thread_safe=False)._plan) is not None
