from __future__ import annotations

import numpy as np

from penstock import UNKNOWN
from penstock.elements.chunks.chunk import Items
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece


def test_given_elements_may_have_any_spec():
    node = Given()
    assert not node.indexed
    assert node.elementwise
    assert node.length == UNKNOWN
    assert node.spec() is None
    assert node.inputs == ()


def test_the_piece_is_passed_on_unchanged():
    piece = Piece(Items(["a"]), np.array([7]))
    assert Given().spread(np.empty)(piece) is piece
