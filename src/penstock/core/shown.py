"""Results that a prompt and a notebook show as text."""

from __future__ import annotations

from html import escape


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
        return f"<pre>{escape(str(self))}</pre>"
