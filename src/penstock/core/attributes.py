"""Attributes that an object of the user's may have."""

from __future__ import annotations

from typing import Any


def attribute_of(value: Any, name: str) -> Any:
    """Return the attribute `name`, or `None` where the object has none; what a property raises is not taken for that.

    >>> attribute_of("text", "blocks") is None, attribute_of("text", "upper")()
    (True, 'TEXT')
    >>> class Data:
    ...     @property
    ...     def blocks(self):
    ...         return self.sizes
    >>> attribute_of(Data(), "blocks")
    Traceback (most recent call last):
    AttributeError: 'Data' object has no attribute 'sizes'
    """
    try:
        return getattr(value, name)
    except AttributeError:
        if not hasattr(type(value), name) and not hasattr(type(value), "__getattr__"):
            return None
        from inspect import getattr_static  # only to tell a missing name from one that raises

        if getattr_static(value, name, None) is None:
            return None
        raise
