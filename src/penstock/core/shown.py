"""Results that a prompt and a notebook show as text, and text that any terminal, page or file can show."""

from __future__ import annotations

import re

CREDENTIAL_NAMES = (
    "x-(amz|goog|ms|oss|cos)-.*|signature|sig|se|sp|sv|sr|st|ske|skoid|sks|skt|sktid|skv|expires|awsaccesskeyid|"
    "googleaccessid|policy|key-pair-id|.*(token|secret|password|credential|api_?key|auth|jwt|session).*|key|code|tok"
)
"""A pattern for the names of those parts of a URL's query that are credentials, such as a signature."""
_WEB = r"(?i)https?://[^\s\"'<>]+"
_USER = r"(?<=://)[^/?#@]*@"
_PART = r"([?&;]([^=&;?]+)=)[^&;]+"
_LONGEST_LINE = 4000  # characters
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def displayable(text: str) -> str:
    r"""Return a text with `\x1b` and so on instead of codes that would control a terminal, and of bytes not in UTF-8.

    Names of files may be any bytes; Python holds those that are not UTF-8 as characters that cannot be written.

    >>> displayable("caf\udce9"), displayable("\x1b[31mred"), displayable("two\nlines")
    ('caf\\udce9', '\\x1b[31mred', 'two\nlines')
    """
    return without_credentials(text).translate(_CONTROLS).encode("utf-8", "backslashreplace").decode()


def as_message(text: str) -> str:
    """Return a text for a message: displayable, with the middle left out of lines that are too long to be read.

    >>> len(as_message("a" * 10**6)), as_message("x")
    (4000, 'x')
    """
    if len(text) > _LONGEST_LINE:
        head = _LONGEST_LINE * 3 // 4
        tail = _LONGEST_LINE - head - 1
        text = "\n".join(
            line if len(line) <= _LONGEST_LINE else f"{line[:head]}…{line[-tail:]}" for line in text.split("\n")
        )
    return displayable(text)


def without_credentials(text: str) -> str:
    """Return a text with `…` instead of the credentials of the URLs in it, which may be cut, or escaped for a page.

    Elements of users may be signed URLs, such as those of `list_files`.

    >>> without_credentials("cannot open 'https://me:pass@host/a.tar?id=7&X-Amz-Signature=0a1b'")
    "cannot open 'https://…@host/a.tar?id=7&X-Amz-Signature=…'"
    """
    return re.sub(_WEB, _without_credentials, text) if "://" in text else text


def _without_credentials(url: re.Match[str]) -> str:
    def part(found: re.Match[str]) -> str:
        is_credential = re.fullmatch(CREDENTIAL_NAMES, found[2], re.IGNORECASE)
        return f"{found[1]}…" if is_credential else found[0]

    return re.sub(_PART, part, re.sub(_USER, "…@", url[0]))


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
