"""The style of drawings and sample elements, on pages of their own and in notebooks."""

from __future__ import annotations

STYLE_RULES = (
    "*{box-sizing:border-box}",
    "h3{font-size:.9rem;margin:14px 0 6px;font-family:ui-monospace,monospace}",
    "small{color:var(--soft);font-weight:400}",
    ".soft{color:var(--soft);font-weight:400}",
    "svg{width:100%;height:auto;display:block}",
    "table{border-collapse:collapse;width:100%;font-size:.85rem}",
    "td{padding:5px 8px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}",
    "th{padding:5px 8px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}",
    "td:first-child{text-align:left;min-width:110px;white-space:normal;overflow-wrap:anywhere}",
    "th:first-child{text-align:left;min-width:110px;white-space:normal;overflow-wrap:anywhere}",
    "code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}",
    ".row{display:flex;flex-wrap:wrap;gap:8px}",
    "figure{margin:0}",
    "figure code{display:block}",
    "img{display:block;max-width:96px;border-radius:4px;image-rendering:pixelated}",
    ".wave{width:160px;height:40px;background:var(--card)}",
    ".wave line{stroke:var(--blue)}",
    "text{fill:var(--ink);font:12px system-ui,sans-serif}",
    "text.soft{fill:var(--soft);font-size:11px}",
    "text.strong{font-weight:600;font-size:13px}",
    "rect.work{fill:var(--blue)}",
    "rect.task{fill:var(--blue)}",
    "rect.wait{fill:var(--red)}",
    "rect.step{fill:var(--green)}",
    "rect.pipe{fill:var(--line)}",
    "rect.lane{fill:var(--card)}",
    ".dot{fill:var(--blue)}",
    ".curve{fill:none;stroke-width:1.6}",
    *(
        rule.format(number, color)
        for number, color in enumerate(("blue", "red", "green", "violet", "amber"))
        for rule in (".c{}{{stroke:var(--{})}}", ".key.c{}{{fill:var(--{})}}")
    ),
)
"""Rules of CSS with one selector each; the colors are variables."""


def rules(within: str = "") -> str:
    """Return the rules as a style sheet, for all elements or for those inside of a selector.

    >>> rules(".penstock").splitlines()[2]
    '.penstock small{color:var(--soft);font-weight:400}'
    """
    return "\n".join(f"{within} {rule}".strip() for rule in STYLE_RULES)
