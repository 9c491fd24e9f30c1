from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.cli.failure import print_error


def refuse(x):
    raise ValueError("I dislike it")


def test_an_error_is_shown_with_notes_and_only_the_users_frames(capsys):
    with pytest.raises(ValueError, match="dislike") as raised:
        list(Dataset.range(3).map(refuse))
    print_error(raised.value)
    told = capsys.readouterr().err
    assert 'raise ValueError("I dislike it")' in told
    assert "in map(refuse), at row 0" in told
    assert "penstock/ops" not in told


def test_the_cause_of_an_error_is_shown(capsys):
    try:
        try:
            refuse(1)
        except ValueError as cause:
            raise RuntimeError("because") from cause
    except RuntimeError as error:
        print_error(error)
    told = capsys.readouterr().err
    assert told.index("I dislike it") < told.index("because")
