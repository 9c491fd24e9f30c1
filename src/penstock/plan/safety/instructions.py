"""Follow the instructions of a function with the objects that its names stand for, to find its reads and writes.

Nothing is run. Values are followed through names, attributes and the stack as far as they are objects that exist before
the call; everything else is unknown and ignored. Branches are read one after another.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol

from penstock.elements.nested.plain import PLAIN_TYPES

ENDS = frozenset(
    [
        *("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"),
        *("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
    ]
)
PUSHES_NOTHING = ("POP_", "STORE_", "DELETE_", "JUMP_", "RETURN_", "PRECALL", "KW_NAMES", "NOP", "RESUME", "CACHE")
LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")

CALLS = {
    "BINARY_SUBSCR": (2, "__getitem__"),
    "BINARY_SLICE": (3, "__getitem__"),
    "CONTAINS_OP": (1, "__contains__"),
    "GET_ITER": (1, "__iter__"),
    "BEFORE_WITH": (1, "__enter__"),
}
"""Instructions that call a method of an object: its position on the stack, and the method."""


_USES = (
    *("STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"),
    *("PRECALL", "CALL", "KW_NAMES", "CALL_KW"),
)
"""Other instructions that use objects on the stack."""
NO_EFFECT = ("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "PRECALL")
ABSENT = object()
"""Stands for a value that does not exist."""


class Known(NamedTuple):
    """An object that exists before the call, and its name in the code."""

    thing: Any
    name: str


MOST_LOOKED_AT = 32
"""Items of a collection that are looked at where the key is not known."""
AUGMENTED = Known(None, "")
"""The result of an in-place operation, such as `+=`, on its way back to its operand's origin."""


class InstructionKind(Enum):
    """The way in which an instruction handles objects: one of several kinds, each read in its own way."""

    MOVES = auto()  # only changes the height of the stack
    LOADS = auto()  # pushes an object
    TAKES_ATTRIBUTE = auto()
    STORES_NAME = auto()
    USES = auto()  # calls a method, calls an object, or writes into one


class Instruction(NamedTuple):
    """An instruction: its name and argument, its effect on the stack's height, its position and its jump target.

    It leaves `result` on top of the stack, or what was there if it `keeps_top`.
    """

    op: str
    arg: int
    value: Any
    effect: int
    offset: int
    target: int | None
    kind: InstructionKind
    keeps_top: bool
    result: Known | None


class Listener(Protocol):
    """The receiver of the findings."""

    def global_of(self, name: str) -> Known | None: ...
    def reaches(self, known: Known) -> None: ...
    def attribute(self, known: Known, name: str) -> Known | None: ...
    def parent_method(self, known: Known, name: str) -> None: ...
    def writes(self, known: Known, what: str) -> None: ...
    def writes_item(self, known: Known, *, again: bool, constant: bool) -> None: ...
    def writes_name(self, name: str) -> None: ...
    def called(self, function: Known, given: list[Known | None], named: dict[str, Known]) -> Known | None: ...


def follow(code: types.CodeType, names: Mapping[str, Known], told: Listener, outer: frozenset[str]) -> None:
    """Report how the code uses the objects of `names`; names of `outer` are variables of an enclosing function."""
    reading = _Reading(code, dict(names), told, outer)
    reading.follow()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names_within = ((name, reading.names.get(name)) for name in constant.co_freevars)
            follow(constant, {name: known for name, known in names_within if known is not None}, told, outer)


@lru_cache(maxsize=1024)
def instructions_of(code: types.CodeType) -> tuple[Instruction, ...]:
    """Return the instructions of some code, in order."""
    steps: list[Instruction] = []
    for each in dis.get_instructions(code):
        effect = dis.stack_effect(each.opcode, each.arg, jump=False)
        jumps = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
        target = each.argval if jumps else None
        value = each.argrepr if each.opname == "BINARY_OP" else each.argval
        op, augments = each.opname, each.opname == "BINARY_OP" and value.endswith("=")
        keeps_top, result = op.startswith(PUSHES_NOTHING) and not augments, AUGMENTED if augments else None
        kind = _kind_of(op, value)
        steps.append(Instruction(op, each.arg or 0, value, effect, each.offset, target, kind, keeps_top, result))
    return tuple(steps)


def _kind_of(op: str, value: Any) -> InstructionKind:
    if op.startswith(LOADS) or op in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_CONST", "LOAD_SMALL_INT", "COPY", "SWAP"):
        return InstructionKind.LOADS
    if op in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
        return InstructionKind.TAKES_ATTRIBUTE
    if op.startswith("STORE_FAST") or op in ("STORE_DEREF", "DELETE_DEREF", "STORE_GLOBAL", "DELETE_GLOBAL"):
        return InstructionKind.STORES_NAME
    if op == "BINARY_OP":
        return InstructionKind.USES if value == "[]" or value.endswith("=") else InstructionKind.MOVES
    return InstructionKind.USES if op in CALLS or op in _USES else InstructionKind.MOVES


def has_code_within(code: types.CodeType) -> bool:
    """Return whether some code defines functions of its own."""
    return any(isinstance(constant, types.CodeType) for constant in code.co_consts)


def steps_in(code: types.CodeType) -> list[Instruction]:
    """Return the instructions of some code, in order, without those that do nothing."""
    return [step for step in instructions_of(code) if step.op not in NO_EFFECT]


def in_cell(cell: types.CellType) -> Any:
    """Return the value of a variable of an enclosing function; `ABSENT` while it is not bound."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def item_of(container: Known, key: Known | None) -> Known | None:
    """Return an item of a list, tuple or dict: that of a known key, else the first one that calls may change."""
    thing: Any = container.thing
    if type(thing) not in (list, tuple, dict):
        return None
    name = f"{container.name}[{'...' if key is None else key.name}]"
    if key is None:
        items = islice(list(thing.values() if isinstance(thing, dict) else thing), MOST_LOOKED_AT)
        return next((Known(each, name) for each in items if type(each) not in PLAIN_TYPES), None)
    try:
        return Known(thing[key.thing], name)
    except (LookupError, TypeError):
        return None


class _Reading:
    """One reading of one code object."""

    def __init__(
        self, code: types.CodeType, names: dict[str, Known | None], told: Listener, outer: frozenset[str]
    ) -> None:
        self.names = names
        self._code = code
        self._told = told
        self._outer = outer
        self._stack: list[Known | None] = []
        self._constant: Any = None  # the value of the constant loaded last
        self._called: Known | None = None  # the result of the call that was prepared last
        self._prepared = False
        self._names: tuple[str, ...] = ()  # of the last arguments of the next call

    def follow(self) -> None:
        """Process all instructions once."""
        coming: dict[int, list[Known | None]] = {}  # the stack at jump targets
        goes_on = True
        for step in instructions_of(self._code):
            if not goes_on:
                self._stack = list(coming.get(step.offset, ()))
            self._take(step)
            if step.target is not None:
                coming.setdefault(step.target, list(self._stack))
            goes_on = step.op not in ENDS

    def _take(self, step: Instruction) -> None:
        kind = step.kind
        if kind is InstructionKind.MOVES:
            self._move(step)
        elif kind is InstructionKind.LOADS:
            self._load(step)
        elif kind is InstructionKind.TAKES_ATTRIBUTE:
            self._attribute(step)
        elif kind is InstructionKind.STORES_NAME:
            self._store_name(step)
        else:
            self._use(step)

    def _use(self, step: Instruction) -> None:
        if step.op in CALLS or step.value == "[]":
            place, method = CALLS.get(step.op, CALLS["BINARY_SUBSCR"])
            if (known := self._at(place)) is not None and known is not AUGMENTED:
                self._told.attribute(known, method)
        self._change(step)
        result = self._result(step)
        self._move(step)
        if result is not None and self._stack:
            self._stack[-1] = result

    def _at(self, place: int) -> Known | None:
        return self._stack[-place] if len(self._stack) >= place else None

    def _push(self, known: Known | None, effect: int = 1) -> None:
        self._stack += [None] * (effect - 1) + [known]
        if known is not None:
            self._told.reaches(known)

    def _result(self, step: Instruction) -> Known | None:
        """Return the object that the instruction leaves on the stack, if it exists before the call."""
        if step.op == "BINARY_SUBSCR" or (step.op == "BINARY_OP" and step.value == "[]"):
            container, key = self._at(2), self._at(1)
            item = None if container is None or container is AUGMENTED else item_of(container, key)
            if item is not None:
                self._told.reaches(item)
            return item
        if step.op == "BEFORE_WITH":
            return None if (known := self._at(1)) is AUGMENTED else known  # as a rule, `__enter__` returns its object
        if step.op == "CALL" and self._prepared:
            self._prepared, result = False, self._called
            return result
        if step.op in ("PRECALL", "CALL"):  # Python 3.11 takes the arguments off the stack before the call
            self._prepared = step.op == "PRECALL"
            self._called = self._result_of_call(step.arg)
            return None if self._prepared else self._called
        if step.op == "CALL_KW":
            self._names = self._constant if isinstance(self._constant, tuple) else ()
            return self._result_of_call(step.arg, above=1)
        if step.op == "KW_NAMES":
            self._names = self._code.co_consts[step.arg]
        return None

    def _result_of_call(self, arguments: int, *, above: int = 0) -> Known | None:
        """Report a call and return its result if known. Its arguments are below the top `above` values of the stack."""
        names, self._names = self._names, ()
        places = [self._at(place + above) for place in range(arguments + 2, 0, -1)]
        beside, called, *given = places
        called = called or beside  # beside it is nothing, or it is a method and its object is in its place
        named = dict(zip(names, given[len(given) - len(names) :], strict=False))
        known = {name: value for name, value in named.items() if value is not None}
        given = given[: len(given) - len(names)]
        return None if called is None or called is AUGMENTED else self._told.called(called, given, known)

    def _move(self, step: Instruction) -> None:
        """Adjust the stack's height to that after the instruction; results are unknown."""
        if step.effect > 0:
            self._stack += [None] * step.effect
            return
        if step.effect < 0:
            del self._stack[step.effect :]
        if self._stack and not step.keeps_top:
            self._stack[-1] = step.result

    def _load(self, step: Instruction) -> None:
        if step.op == "COPY":
            self._stack.append(self._at(step.arg))
        elif step.op == "SWAP":
            self._stack[:0] = [None] * (step.arg - len(self._stack))
            self._stack[-1], self._stack[-step.arg] = self._stack[-step.arg], self._stack[-1]
        elif step.op in ("LOAD_GLOBAL", "LOAD_NAME"):
            self._push(self._told.global_of(step.value), step.effect)
        elif step.op in ("LOAD_CONST", "LOAD_SMALL_INT"):
            self._constant = step.value
            is_code = isinstance(step.value, types.CodeType)
            self._stack.append(None if is_code else Known(step.value, repr(step.value)))
        else:
            for name in step.value if isinstance(step.value, tuple) else (step.value,):
                self._push(self.names.get(name))

    def _attribute(self, step: Instruction) -> None:
        if step.op == "LOAD_SUPER_ATTR":
            if (known := self._at(1)) is not None:
                self._told.parent_method(known, step.value)
            self._move(step)
            return
        known = self._at(1)
        found = None if known is None or known is AUGMENTED else self._told.attribute(known, step.value)
        if self._stack:
            self._stack.pop()
        self._push(found)
        self._stack += [None] * step.effect

    def _store_name(self, step: Instruction) -> None:
        if step.op.endswith("GLOBAL") or (step.op.endswith("DEREF") and step.value in self._outer):
            self._told.writes_name(step.value)
            self._move(step)
            return
        stored: tuple[str, ...] = step.value if isinstance(step.value, tuple) else (step.value,)
        loaded = stored[1:] if step.op == "STORE_FAST_LOAD_FAST" else ()
        for place, name in enumerate(stored[: len(stored) - len(loaded)], 1):
            self.names[name] = self._at(place)
        self._move(step._replace(effect=step.effect - len(loaded)))
        for name in loaded:
            self._push(self.names.get(name))

    def _change(self, step: Instruction) -> None:
        """Report the object that the instruction writes into."""
        op, told = step.op, self._told
        if op in ("STORE_ATTR", "DELETE_ATTR") and (known := self._at(1)) is not None:
            told.writes(known, f"{known.name}.{step.value}")
        elif op in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            place = {"STORE_SUBSCR": 2, "DELETE_SUBSCR": 2, "STORE_SLICE": 3}[op]
            if (known := self._at(place)) is not None:
                again = op == "STORE_SUBSCR" and self._at(3) is AUGMENTED
                one_place = op == "DELETE_SUBSCR" or (self._at(1) is not None and not again)
                told.writes_item(known, again=again, constant=one_place)
        elif op == "BINARY_OP" and step.value.endswith("="):
            if (known := self._at(2)) is not None and known is not AUGMENTED and type(known.thing) not in PLAIN_TYPES:
                told.writes_item(known, again=True, constant=False)
        elif op in ("KW_NAMES", "CALL_KW"):
            names: Any = self._code.co_consts[step.arg] if op == "KW_NAMES" else self._constant
            names = names if isinstance(names, tuple) else ()
            first = len(names) + (op == "CALL_KW")
            for place, name in enumerate(names):
                if name == "out" and (known := self._at(first - place)) is not None:
                    told.writes_item(known, again=True, constant=False)
