"""Results shown as text."""

from __future__ import annotations

from penstock.core.shown import ShownAsText, displayable


class Told(ShownAsText, str):
    __slots__ = ()


def test_a_prompt_shows_the_text_and_a_notebook_escapes_it():
    told = Told("a < b\nc & d")
    assert repr(told) == told
    assert told._repr_html_() == "<pre>a &lt; b\nc &amp; d</pre>"


def test_every_text_can_be_written_and_controls_no_terminal():
    text = displayable("".join(map(chr, range(0xE000))))
    assert text.encode().decode() == text
    assert [each for each in text if not each.isprintable() and ord(each) < 160] == ["\t", "\n"]
    assert displayable("naïve 日本 👩‍🚀") == "naïve 日本 👩‍🚀"
