"""Results shown as text."""

from __future__ import annotations

from penstock.core.shown import ShownAsText


class Told(ShownAsText, str):
    __slots__ = ()


def test_a_prompt_shows_the_text_and_a_notebook_escapes_it():
    told = Told("a < b\nc & d")
    assert repr(told) == told
    assert told._repr_html_() == "<pre>a &lt; b\nc &amp; d</pre>"
