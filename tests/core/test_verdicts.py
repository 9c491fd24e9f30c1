"""A verdict is a text with parts."""

from __future__ import annotations

from penstock.core.verdicts import Verdict


def test_a_verdict_is_a_text_and_keeps_its_parts_when_reworded():
    found = Verdict("Input-bound: x.", "input", operation="map(f)", ceiling=3.0, gain=2.0)
    assert found == "Input-bound: x."
    again = found.reworded("cuda:0 waited.", "transfer")
    assert (again, again.kind, again.operation, again.ceiling, again.gain) == (
        "cuda:0 waited.",
        "transfer",
        "map(f)",
        3.0,
        2.0,
    )
    assert found.reworded("y").kind == "input"
