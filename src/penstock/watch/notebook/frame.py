"""The frame of everything shown in a notebook: its style, which follows the theme, and what is shown after an error."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from penstock.core.shown import displayable
from penstock.watch.page import style

# Of the notebook's own text color, so that any theme is followed without knowing which it is.
NOTEBOOK_STYLE = f"""
.penstock{{--ink:currentColor;--soft:color-mix(in srgb,currentColor 65%,transparent);
  --card:color-mix(in srgb,currentColor 7%,transparent);--line:color-mix(in srgb,currentColor 20%,transparent);
  --blue:#4a86e8;--red:#e2584a;--green:#35a56d;--violet:#9b6fe0;--amber:#d09320;
  max-width:820px;font:14px/1.45 system-ui,sans-serif}}
{style.rules(".penstock")}
.penstock p{{margin:4px 0}}
.penstock h4{{font-size:.85rem;margin:12px 0 4px}}
.penstock table{{width:auto;margin:4px 0}}
.penstock .scroll{{overflow-x:auto}}
.penstock .verdict{{border-left:3px solid var(--blue);background:var(--card);padding:6px 10px}}
.penstock .pipe td{{white-space:normal;overflow-wrap:anywhere;text-align:left}}
.penstock .pipe td:nth-child(2){{text-align:right;white-space:nowrap}}
.penstock .facts tr :nth-child(2){{text-align:left}}
.penstock .share{{display:inline-block;height:8px;border-radius:2px;background:var(--blue);vertical-align:middle}}
.penstock .share.wait{{background:var(--red)}}
.penstock .cards{{display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start;margin:6px 0}}
.penstock .card{{background:var(--card);border-radius:6px;padding:6px;max-width:340px;font-size:12px}}
.penstock .card svg{{border-radius:3px;margin:0 auto}}
.penstock .card code{{display:inline}}
.penstock .name{{color:var(--soft);font-size:11px}}
.penstock .token{{display:inline-block;font:11px ui-monospace,monospace;border-radius:3px;padding:0 4px;margin:1px;
  background:color-mix(in srgb,var(--blue) 22%,transparent);white-space:pre}}
.penstock .token:nth-child(even){{background:color-mix(in srgb,var(--amber) 25%,transparent)}}
""".strip()


def in_frame(*parts: str) -> str:
    """Return pieces of HTML with their style, which holds only inside of them."""
    return displayable(f'<div class="penstock"><style>{NOTEBOOK_STYLE}</style>{"".join(parts)}</div>')


def never_failing(make: Callable[[], str], otherwise: Callable[[], str]) -> str:
    r"""Return the HTML that `make` returns, or if it raises, the text that `otherwise` returns and the error.

    A `SystemExit` of a user's function is an error too; an interrupt from the keyboard ends the display.

    >>> never_failing(lambda: "<b>3</b>", lambda: "three"), never_failing(lambda: str(1 / 0), lambda: "<three>")
    ('<b>3</b>', '<pre>&lt;three&gt;\n(not drawn: ZeroDivisionError: division by zero)</pre>')
    """
    try:
        return make()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - of data or functions of any kind: the display shows it
        wrong = told(error)
    try:
        text = otherwise()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the same
        text = told(error)
    return displayable(f"<pre>{escape(f'{text}{chr(10)}(not drawn: {wrong})')}</pre>")


def told(error: BaseException, most: int = 300) -> str:
    """Return the type and the message of an error in at most about `most` characters.

    >>> told(KeyError("x"))
    "KeyError: 'x'"
    """
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - of any exception of the user's
        message = ""
    return f"{type(error).__name__}: {message[:most]}" if message else type(error).__name__
