"""Results that a prompt and a notebook show as text, and text that any terminal, page or file can show."""

from __future__ import annotations

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def displayable(text: str) -> str:
    r"""Return a text with `\x1b` and so on instead of codes that would control a terminal, and of bytes not in UTF-8.

    Names of files may be any bytes; Python holds those that are not UTF-8 as characters that cannot be written.

    >>> displayable("caf\udce9"), displayable("\x1b[31mred"), displayable("two\nlines")
    ('caf\\udce9', '\\x1b[31mred', 'two\nlines')
    """
    return text.translate(_CONTROLS).encode("utf-8", "backslashreplace").decode()


class ShownAsText:
    """A result whose text is also what a prompt shows, and, with its lines kept, a notebook.

    >>> class Answer(ShownAsText):
    ...     def __str__(self) -> str:
    ...         return "1 < 2"
    >>> Answer(), Answer()._repr_html_()
    (1 < 2, '<pre>1 &lt; 2</pre>')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape  # its table of entities takes a millisecond to load

        return f"<pre>{escape(str(self))}</pre>"
