from __future__ import annotations

import penstock as ps


def test_an_event_as_text_is_its_words():
    assert str(ps.RunEvent(0.0, "broken", "map(f)", (0, 3), "a worker died")) == "a worker died"
