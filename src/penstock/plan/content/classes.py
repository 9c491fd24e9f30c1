"""The content of classes: the classes that they extend, methods, other attributes, and the members of enumerations."""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import types
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from penstock.core.digest import digest
from penstock.plan.content.origins import distribution_of

if TYPE_CHECKING:
    from penstock.plan.content.values import Digests

_OF_DATACLASS = frozenset(
    [f"__{name}__" for name in ("init", "repr", "eq", "lt", "le", "gt", "ge", "hash", "setattr", "delattr", "replace")]
)
_NO_SETTING = frozenset(
    [f"__{name}__" for name in ("module", "qualname", "firstlineno", "static_attributes", "slotnames", "annotations")]
)
_OF_PYDANTIC = "__pydantic_"  # changes as the class is used; its fields count by themselves
_OF_PROCESS = re.compile(r" at 0x[0-9A-Fa-f]+|\b__(mp_)?main__\.")  # differs between processes with equal classes


def text_of_class(cls: type, digests: Digests) -> str:
    """Return a text of a class of the user: the classes that it extends, its methods and its other attributes."""
    told: list[Any] = [[digests.of(base).hex() for base in cls.__bases__]]
    if distribution_of(str(type(cls).__module__)) is None:  # a metaclass of the user
        told.append(digests.of(type(cls)).hex())
    told += [(field.name, [digests.of(part).hex() for part in _parts_of_field(field)]) for field in _fields_of(cls)]
    told += [(name, [(key, digests.of(part).hex()) for key, part in field]) for name, field in _fields_of_library(cls)]
    annotations = vars(cls).get("__annotations__")
    if not isinstance(annotations, dict):  # a class in native code may have a descriptor there
        annotations = {}
    told.append([(name, type_text(annotated)) for name, annotated in annotations.items()])
    if issubclass(cls, enum.Enum):
        told += [(name, *_of_member(member, digests)) for name, member in cls.__members__.items()]
    for name, attribute in sorted(vars(cls).items()):
        if not _counts(cls, name, attribute):
            continue
        told.append((name, [digests.of(part).hex() for part in _parts_of(attribute)]))
    return digest(repr(told).encode())


def type_text(annotated: Any) -> str:
    """Return a text of an annotation that is equal in all processes.

    >>> type_text(list[int] | None), type_text("list[int] | None"), type_text(int)
    ('list[int] | None', 'list[int] | None', 'int')
    """
    shown = annotated.__qualname__ if type(annotated) is type else str(annotated)
    return _OF_PROCESS.sub("", shown)


def _counts(cls: type, name: str, attribute: Any) -> bool:
    if isinstance(attribute, types.FunctionType):
        made = dataclasses.is_dataclass(cls) and name in _OF_DATACLASS and attribute.__code__.co_filename == "<string>"
        return not made
    if isinstance(attribute, staticmethod | classmethod | property) or _is_cached(attribute):
        return True
    if isinstance(attribute, types.MemberDescriptorType | types.GetSetDescriptorType):
        return False
    if issubclass(cls, enum.Enum) and (name in cls.__members__ or _is_of_enum(name)):
        return False
    if not name.startswith("__"):
        return not name.startswith("_abc_")
    return (
        name not in _NO_SETTING
        and not name.startswith(_OF_PYDANTIC)
        and _is_data(attribute)
        and not (name == "__doc__" and _is_made_doc(cls))
    )


def _is_data(value: Any) -> bool:
    """Return True for numbers, texts, arrays, and containers of these: what libraries add to a class is mostly not."""
    if type(value) is dict:
        return all(map(_is_data, value)) and all(map(_is_data, value.values()))
    if type(value) in (tuple, list, set, frozenset):
        return all(map(_is_data, value))
    return isinstance(value, str | bytes | int | float | complex | np.ndarray | np.generic | None)


def _is_made_doc(cls: type) -> bool:
    """Return True if `dataclass` has written the docstring, which may contain addresses."""
    return dataclasses.is_dataclass(cls) and str(cls.__doc__).startswith(f"{cls.__name__}(")


def _is_of_enum(name: str) -> bool:
    """Return True for names that `enum` keeps for itself."""
    return name.startswith("_") and name.endswith("_") and not name.startswith("__")


def _of_member(member: enum.Enum, digests: Digests) -> list[str]:
    """Return the digests of the value of a member and of the attributes that it has besides."""
    made = {
        "__objclass__",
        *(name for name in vars(member) if isinstance(getattr(type(member), name, None), functools.cached_property)),
    }
    kept = [item for item in sorted(vars(member).items()) if item[0] not in made and not _is_of_enum(item[0])]
    return [digests.of(value).hex() for value in (member.value, kept)]


def _is_cached(attribute: Any) -> bool:
    """Return True if an attribute is a function with `functools.cache`."""
    return isinstance(getattr(attribute, "__wrapped__", None), types.FunctionType)


def _fields_of(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a class that is a dataclass itself: with `slots=True` their defaults are not attributes."""
    return dataclasses.fields(cls) if "__dataclass_fields__" in vars(cls) else ()


def _fields_of_library(cls: type) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return the fields that a library such as pydantic keeps in dicts of a class, with their defaults and settings."""
    kept = [
        (name, field)
        for attribute, fields in sorted(vars(cls).items())
        if type(fields) is dict and attribute.startswith("__") and attribute != "__dataclass_fields__"
        for name, field in fields.items()
        if isinstance(name, str) and hasattr(field, "default") and hasattr(field, "default_factory")
    ]
    return [
        (name, [(key, getattr(field, key, None)) for key in _settings_of(type(field)) if key != "annotation"])
        for name, field in kept
    ]


def _settings_of(cls: type) -> list[str]:
    """Return the names of a field's settings: its public slots."""
    slots = [name for base in cls.__mro__ for name in vars(base).get("__slots__", ())]
    return [name for name in slots if not name.startswith("_")] or ["default", "default_factory"]


def _parts_of_field(field: dataclasses.Field[Any]) -> list[Any]:
    """Return the default of a field, the function that makes it, and the settings of the methods that are made."""
    made = [value for value in (field.default, field.default_factory) if value is not dataclasses.MISSING]
    return [*made, [field.init, field.repr, field.hash, field.compare, bool(field.kw_only)]]


def _parts_of(attribute: Any) -> list[Any]:
    """Return the functions in a class's attribute, or its value."""
    if isinstance(attribute, staticmethod | classmethod):
        return [type(attribute).__name__, cast("Any", attribute).__func__]
    if isinstance(attribute, property):
        return ["property", attribute.fget, attribute.fset, attribute.fdel]
    if isinstance(attribute, functools.cached_property):
        return ["property", cast("Any", attribute).func]
    return [attribute]
