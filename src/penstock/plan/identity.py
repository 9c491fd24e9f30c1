"""Plain data that represents a value in a fingerprint: the same in every process, free of addresses."""

from __future__ import annotations

import copyreg
import enum
import functools
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from operator import itemgetter
from typing import Any, cast

import numpy as np

from penstock.core.attributes import dict_of
from penstock.core.cached import cached_property
from penstock.core.digest import digest, digest_array
from penstock.elements.nested.structure import Structure
from penstock.elements.spec import is_array_like

_DEEPEST = 8  # maximum depth of objects within objects

_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_TEXTS = (str, bytes)
_CONSTANT_TYPES = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    frozenset,
    np.ndarray,
    np.generic,
    np.dtype,
    re.Pattern,
)
CALLABLE_TYPES = (functools.partial, type(functools.lru_cache(len)))
DESCRIPTORS = types.MethodDescriptorType | types.WrapperDescriptorType | types.ClassMethodDescriptorType
EXPENSIVE = 1 << 20  # bytes of an array that takes a millisecond to read, and more from a disk; also of text and bytes
_BOUND = types.BuiltinFunctionType | types.MethodWrapperType
FOLDERS = re.compile(r"^penstock\.(dataset|elements)\.(?:arguments|chunks|leaves|methods|nested|readers)\.")
"""Folders that fingerprints leave out: `penstock.dataset.readers.records` counts as `penstock.dataset.records`."""


class Content:
    """The digest of an array, computed on first use."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @cached_property
    def digest(self) -> str:
        """The digest of the array's bytes, or of the items' texts for an array of objects."""
        array = self.array
        return digest(repr(array.tolist()).encode()) if array.dtype.hasobject else digest_array(array)

    def __repr__(self) -> str:
        return repr(self.digest)


class _Told(str):
    """Plain data as its text: a table of a million values would become a million lists for the garbage collector."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


def identity(value: Any, depth: int = _DEEPEST) -> Iterator[Any]:
    """Yield plain data that differs for values with which a pipeline would yield other elements.

    A function counts by its code, constants, defaults and closure; by the functions of its own module that it calls; by
    the globals it reads that are immutable, or are named as constants (`MEAN`). An object counts by its type, its
    attributes (except those that begin with an underscore, caches by convention) and, if called, by the code of its
    `__call__`. Arrays beyond 64 MiB count in part, so that a memory map is not read as a whole; a large array is read
    only when the data is converted to text (`repr`).
    """
    if type(value) in (str, bytes, bytearray) and len(value) > EXPENSIVE:
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        yield (type(value).__qualname__, len(value), digest(content))
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic | np.dtype | Structure
    ):
        yield repr(value)
    elif isinstance(value, np.ndarray):
        array = cast("np.ndarray", value)
        content = Content(array)
        yield ("array", array.shape, str(array.dtype), content if array.nbytes > EXPENSIVE else content.digest)
    elif isinstance(value, type):
        yield _full_name(value)
    elif depth == 0:
        yield type(value).__qualname__
    elif callable(getattr(type(value), "fingerprint", None)):
        yield from identity(value.fingerprint(), depth - 1)
    elif callable(value):
        yield from _callable(value, depth)
    else:
        yield from _composite(value, depth)


def _composite(value: Any, depth: int) -> Iterator[Any]:
    described = _one_deeper(depth)
    if isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, enum.Enum):
        yield f"{type(value).__qualname__}.{value.name}"
    elif type(value) is dict and _are_small([*value, *value.values()]):  # such as a vocabulary
        keys, items = (map("[{}]".format, map(repr, map(repr, each))) for each in (value, value.values()))
        pairs = sorted(zip(keys, items, strict=True), key=itemgetter(0))
        yield _Told(f"('dict', [{', '.join(map('(%s, %s)'.__mod__, pairs))}])")
    elif issubclass(type(value), Mapping):
        items = [(described(key), described(item)) for key, item in cast("Mapping[Any, Any]", value).items()]
        yield (type(value).__qualname__, sorted(items, key=lambda item: repr(item[0])))
    elif isinstance(value, list | tuple):
        yield (type(value).__qualname__, [described(item) for item in cast("list[Any]", value)])
    elif isinstance(value, set | frozenset):
        yield ("set", sorted((described(item) for item in cast("set[Any]", value)), key=repr))
    else:
        yield from _object(value, depth)


def _object(value: Any, depth: int) -> Iterator[Any]:
    described = _one_deeper(depth)
    yield _full_name(type(value))
    if is_array_like(value):
        with suppress(Exception):  # a tensor on another device, for example, cannot become an array
            yield described(np.asarray(value))
            return
    if is_dataclass(value):
        yield [(field.name, described(getattr(value, field.name))) for field in fields(value)]
    elif hasattr(value, "__dict__"):
        yield described({name: item for name, item in dict_of(value).items() if not name.startswith("_")})
    else:
        yield described(_reduced(value))


def _full_name(thing: type | types.FunctionType) -> str:
    """Return the module and the name of a class or a function, as used in fingerprints."""
    module = FOLDERS.sub(r"penstock.\1.", str(thing.__module__))
    return f"{module}.{thing.__qualname__}"


def _reduced(value: Any) -> Any:
    """Return the state that pickle would save of an object without a `__dict__`."""
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        reduced = reduce(value) if reduce is not None else value.__reduce_ex__(2)
    except Exception:  # noqa: BLE001 - a lock, a file: objects that cannot be distinguished
        return None
    return reduced if isinstance(reduced, str) else reduced[1:3]


def _callable(value: Any, depth: int) -> Iterator[Any]:
    described = _one_deeper(depth)
    if isinstance(value, types.FunctionType):
        yield from _function(value, depth)
    elif isinstance(value, types.MethodType):
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        yield ("method", described(value.__self__), *_methods(owner, value.__func__.__name__, depth))
    elif isinstance(value, np.ufunc):
        yield value.__name__
    elif isinstance(value, DESCRIPTORS):
        yield value.__qualname__
    elif isinstance(value, _BOUND):
        owner = value.__self__
        yield f"{getattr(value, '__module__', '')}.{value.__qualname__}"
        if owner is not None and not isinstance(owner, types.ModuleType):
            yield described(owner)
    elif isinstance(value, functools.partial):
        partial = cast("functools.partial[Any]", value)
        yield ("partial", described(partial.func), described(partial.args), described(partial.keywords))
    elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):  # functools.cache
        yield (type(value).__qualname__, described(value.__wrapped__))
    else:
        yield from _object(value, depth)
        yield from _methods(type(value), "__call__", depth)


def _methods(owner: type, first: str, depth: int) -> Iterator[Any]:
    """Yield a method's code, and that of the methods of the same module that it names."""
    if owner.__module__.startswith("penstock."):
        return  # our own operations count by their names and fields
    names, seen = [first], set[str]()
    while names:
        name = names.pop()
        holder = next((vars(cls) for cls in owner.__mro__ if name in vars(cls)), {})
        method = getattr(holder.get(name), "__func__", holder.get(name))  # out of a static or class method
        if not isinstance(method, types.FunctionType) or name in seen:
            continue
        if name == first or method.__module__ == owner.__module__:
            seen.add(name)
            names += sorted(_names(method.__code__), reverse=True)
            yield (name, _one_deeper(depth)(method))


def _function(function: Callable[..., Any], depth: int) -> Iterator[Any]:
    plain = cast("types.FunctionType", function)
    described = _one_deeper(depth)
    cells = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    yield ("function", list(_code(plain.__code__, depth)))
    yield ("defaults", described(plain.__defaults__), described(plain.__kwdefaults__))
    yield ("closure", [described(cell) for cell in cells if cell is not function])
    for name in sorted(_names(plain.__code__)):
        used = plain.__globals__.get(name)
        if isinstance(used, types.FunctionType):
            same_module = used.__module__ == plain.__module__ and used is not function
            yield (name, described(used) if same_module else _full_name(used))
        elif _is_constant(name, used):
            yield (name, described(used))


def _is_constant(name: str, used: Any) -> bool:
    if isinstance(used, _CONSTANT_TYPES + CALLABLE_TYPES):
        return True
    # lists, dicts and objects are as often caches or logs as settings; the name shows which
    return used is not None and name.isupper() and not name.startswith("_") and not isinstance(used, types.ModuleType)


def _are_small(values: Collection[Any]) -> bool:
    """Return whether all values are numbers or short texts, which are written out in the fingerprint."""
    kinds = set(map(type, values))
    if not kinds <= _SCALARS:
        return False
    return kinds.isdisjoint(_TEXTS) or all(len(value) <= EXPENSIVE for value in values if type(value) in _TEXTS)


def _one_deeper(depth: int) -> Callable[[Any], Any]:
    def described(value: Any) -> Any:
        kind = type(value)
        if kind in _SCALARS and (kind not in _TEXTS or len(value) <= EXPENSIVE):
            return _Told(repr([repr(value)]))
        if (kind is tuple or kind is list) and depth > 1 and _are_small(value):
            items = "], [".join(map(repr, map(repr, value)))  # as lists in a list, which take eight times as long
            return _Told(f"[({kind.__qualname__!r}, [{f'[{items}]' if value else ''}])]")
        return list(identity(value, depth - 1))

    return described


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:  # a name that is not bound yet
        return False


def _names(code: types.CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*nested)


def _code(code: types.CodeType, depth: int) -> Iterator[Any]:
    yield (digest(code.co_code), code.co_names, code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant, depth)
        else:
            yield from identity(constant, depth - 1)
