from __future__ import annotations

import traceback

import pytest
from penstock.engine.failures import named_failure

import penstock as ps
from penstock.core.blame import blames_of, note_blames


def test_it_says_what_was_made_and_how_to_make_it_again():
    named = named_failure(ValueError("bad"), "while making batch 3", 2, "ds[2, 3]")
    note_blames(named)
    assert named.__notes__ == ["while making batch 3 of epoch 2; make it again with ds[2, 3]"]
    (blame,) = blames_of(named_failure(ValueError("bad"), "while making batch 3", 0, None))
    assert blame.detail == "while making batch 3"


@pytest.mark.parametrize("ending", [StopIteration, StopAsyncIteration])
def test_what_would_end_the_loop_without_a_word_is_an_error(ending):
    failure = ending()
    named = named_failure(failure, "while making batch 3", 0, None)
    assert isinstance(named, RuntimeError)
    assert str(named) == f"a function of the pipeline raised {ending.__name__}"
    assert named.__cause__ is failure
    assert blames_of(named) == blames_of(failure)


def test_the_traceback_of_the_function_comes_first():
    def bad(x):
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad") as caught:
        list(ps.Dataset.range(3).map(bad))
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "bad"
    assert "_make" not in frames
