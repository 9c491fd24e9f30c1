"""The change of the user's source that a finding asks for, if it is certain what the changed pipeline makes."""

from __future__ import annotations

import inspect
import tokenize
from types import CodeType

from penstock.core.frames import Place
from penstock.core.frozen import frozen
from penstock.lint.moves import MoveCall
from penstock.lint.source_edits import EditError, with_argument_multiplied, with_call_moved
from penstock.plan.content.origins import distribution_of
from penstock.plan.node import Node
from penstock.plan.places import place_noted


@frozen()
class Fix:
    """A call to move in one file: `effect` says what stays the same and what changes.

    With `times`, the first argument of the moved call is multiplied by that of the target's.

    >>> ds = Dataset.range(9).repeat(2).cache()
    >>> print(ds.check().findings[0].fix.effect)
    all elements are the same
    """

    effect: str
    moved: Place
    target: Place
    before: bool
    methods: tuple[str, str]
    times: bool = False

    @property
    def file(self) -> str:
        """Return the name of the file, as its code tells it."""
        return self.moved.code.co_filename

    def applied(self, text: str) -> str:
        """Return the changed source, given that of the file; an `EditError` says why it cannot be changed."""
        module = str(self.moved.names.get("__name__"))
        if distribution_of(module) is not None:
            raise EditError(f"{module} belongs to an installed package")
        if self.moved.code is not self.target.code:
            raise EditError("the calls are in different functions or files")
        if _makes_others(self.moved.code):
            raise EditError("the calls are in a function with parameters, by which they make other datasets too")
        ends = self.moved.end, self.target.end
        if ends[0] is None or ends[1] is None:
            raise EditError("the interpreter does not record the columns of calls")
        if not _has_code(text, self.moved.code):
            raise EditError("the file has changed since it was loaded")
        moved, target = ends[0], ends[1]
        if self.times:
            text, moved = with_argument_multiplied(text, moved, target)
        return with_call_moved(text, moved, target, before=self.before, methods=self.methods)

    @property
    def is_possible(self) -> bool:
        """Return whether the file, as it is now, can be changed."""
        try:
            with tokenize.open(self.file) as file:
                self.applied(file.read())
        except (EditError, OSError, SyntaxError, UnicodeError):
            return False
        return True


_NO_FIX = "which change is right is not in the code: see its section in docs/lint.md"
_UNKNOWN_CODE = "the code that wrote it is not known"


def reason_of(move: MoveCall | str) -> str:
    """Return why there is no fix."""
    return (move or _NO_FIX) if isinstance(move, str) else _UNKNOWN_CODE


def fix_of(move: MoveCall | str, plan: Node) -> Fix | None:
    """Return the fix that a move in a plan is; `None` if it is a reason, or if the code that wrote it is not known."""
    if isinstance(move, str):
        return None
    moved, target = (place_noted(plan, node) for node in (move.moved, move.target))
    methods = move.moved.name, move.target.name
    return (
        None if moved is None or target is None else Fix(move.effect, moved, target, move.before, methods, move.times)
    )


def _makes_others(code: CodeType) -> bool:
    """Return True if the result of a function depends on how it is called, or on what surrounds it."""
    takes = (
        code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    )
    return bool(takes or code.co_freevars)


def _has_code(text: str, code: CodeType) -> bool:
    """Return True if a source compiles to a module with this code, at the same places."""
    try:
        coming = [compile(text, code.co_filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while coming:
        made = coming.pop()
        if made == code and list(made.co_positions()) == list(code.co_positions()):
            return True
        coming += [constant for constant in made.co_consts if isinstance(constant, CodeType)]
    return False
