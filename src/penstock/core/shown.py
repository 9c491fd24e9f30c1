"""Results that a prompt and a notebook show as text, and text that any terminal, page or file can show."""

from __future__ import annotations

import re

CREDENTIAL_NAMES = (
    "x-(amz|goog|ms|oss|cos)-.*|q-(signature|ak|sign-.*|key-time|header-list|url-param-list)|signature|sig|se|sp|sv|sr|"
    "st|ske|skoid|sks|skt|sktid|skv|expires|awsaccesskeyid|ossaccesskeyid|googleaccessid|policy|key-pair-id|"
    ".*(token|secret|passw|credential|api_?key|access-?key|auth|jwt|session|hmac).*|key|code|tok|temp_url_.*|hdnt[sle]*|"
    "hdnea|__gda__|verify|sign|wssecret|wstime|pass|pwd|pw|sas|sid|ticket"
)
"""A pattern for the names of those parts of a URL's query that are credentials: the object is the same without them."""
_HARMLESS = re.compile(
    "alt|delimiter|dl|download|ext|file|file_?name|format|from|generation|id|index|lang|limit|list-type|max-keys|name|"
    "offset|order|page|part|part-?number|path|prefix|raw|ref|rev|revision|row|seed|shard|size|sort|split|start|subset|to|"
    "type|v|version|version-?id|year",
    re.IGNORECASE,
)
"""The names of parts of a query that say which object is meant, and that no scheme of signing uses."""
_NESTED = re.compile("[?=@]|%3[df]|%40", re.IGNORECASE)  # in a value: another query or user in it
_WEB = re.compile(r"https?:/+(?:(?!&(?:quot|lt|gt|#x27|#39);)[^\s\"'<>])+", re.IGNORECASE)  # to a quote, as on a page
_USER = re.compile(r"(?<=:/)(/*)[^/?#@]*@")
_PART = re.compile(r"(&amp;|[?&;])([^&;#]+)")
_FRAGMENT = re.compile("#[^#]*[=?].*")
_OTHER_USER = re.compile(r"(?<=://)[^\s\"'<>/?#@:]*:[^\s\"'<>/?#@]*@")
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
    shown = displayable(text)  # before a cut, which could part a credential from its URL
    if len(shown) <= _LONGEST_LINE:
        return shown
    head = _LONGEST_LINE * 3 // 4
    tail = _LONGEST_LINE - head - 1
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:head]}…{line[-tail:]}" for line in shown.split("\n")
    )


def without_credentials(text: str) -> str:
    """Return a text with `…` instead of what may be a credential in the URLs in it, which may be cut, or escaped.

    That is the user of any URL with a password; and of one of the web each user, fragment with a value, and value of a
    query but those of a few names. Elements of users may be signed URLs, such as those of `list_files`.

    >>> without_credentials("cannot open 'https://me:pass@host/a.tar?id=7&X-Amz-Signature=0a1b'")
    "cannot open 'https://…@host/a.tar?id=7&X-Amz-Signature=…'"
    """
    if ":/" not in text:
        return text
    return _OTHER_USER.sub("…@", _WEB.sub(lambda url: _without_credentials(url[0]), text))


def is_shown(part: str) -> bool:
    """Return whether a part of a query is shown: a harmless name, with no other query in its value.

    >>> is_shown("id=7"), is_shown("download"), is_shown("sas=7"), is_shown("dG9rZW4"), is_shown("to=/b?sas=7")
    (True, True, False, False, False)
    """
    name, _, value = part.partition("=")
    return _HARMLESS.fullmatch(name) is not None and _NESTED.search(value) is None


def _without_credentials(url: str) -> str:
    def part(found: re.Match[str]) -> str:
        name, equals, value = found[2].partition("=")
        if is_shown(found[2]) or (value if equals else name).startswith("…"):
            return found[0]
        return f"{found[1]}{name}{equals}…" if equals else f"{found[1]}…"

    path, mark, query = _FRAGMENT.sub("#…", _USER.sub(r"\1…@", url)).partition("?")
    return path + _PART.sub(part, mark + query)


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
