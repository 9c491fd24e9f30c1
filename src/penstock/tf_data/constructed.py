"""Constructors and readers, which decide whether a dataset has TensorFlow's tensors or NumPy's arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from penstock.core.checks import check_flag
from penstock.core.frames import place_of_user
from penstock.dataset.handle import Handle
from penstock.elements.nested.structure import flatten
from penstock.tf_data import tensors
from penstock.tf_data.labelled import check_name


def constructed(
    method: Callable[..., Any], made: Callable[[Any, bool], Any], prepared: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Return a constructor with the arguments `name`, a label, and `tensors`.

    `made` turns the result into the class with tensors or without. `prepared` converts the arguments of a dataset with
    tensors.
    """
    convert = prepared or _plain

    @wraps(method)
    def call(*args: Any, name: str | None = None, tensors: bool | None = None, **settings: Any) -> Any:
        check_name(name)
        with_tensors = has_tensors(method.__name__, tensors, (args, settings))
        if with_tensors:
            args = tuple(map(convert, args))
            settings = {key: convert(value) for key, value in settings.items()}
        return made(method(*args, **settings), with_tensors)

    call.__signature__ = _with_settings(inspect.signature(method))  # pyright: ignore[reportAttributeAccessIssue] - what inspect looks at
    return call


def _with_settings(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature with the keyword arguments `name` and `tensors`."""
    name = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
    flag = inspect.Parameter("tensors", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="bool | None")
    added = [each for each in (name, flag) if each.name not in signature.parameters]
    return signature.replace(parameters=[*signature.parameters.values(), *added])


def has_tensors(call: str, asked: bool | None, given: Any) -> bool:
    """Return whether a dataset is made with tensors: as `asked`, or else by its arguments and the calling module.

    A dataset has tensors if its arguments hold any of TensorFlow's values or a dataset with tensors, or if the module
    that calls has imported TensorFlow or Keras.
    """
    if asked is not None:
        if check_flag(call, "tensors", asked) and not tensors.is_loaded():
            from penstock.feed.tensorflow import tensorflow

            tensorflow(f"{call}(tensors=True)")
        return asked
    if not tensors.is_loaded():
        return False
    if tensors.imports_tensorflow(place_of_user().names) or tensors.holds_tensors(given):
        return True
    return any(isinstance(leaf, Handle) and getattr(type(leaf), "has_tensors", False) for leaf in flatten(given)[0])


def _plain(value: Any) -> Any:
    """Return a tensor as a number or an array; other arguments are unchanged."""
    made = tensors.to_numpy(value)
    return made if made is value else made.item() if getattr(made, "ndim", 1) == 0 and hasattr(made, "item") else made


def has_tensors_of(call: str, asked: bool | None, given: list[Any]) -> bool:
    """Return whether functions are called with tensors: as `asked`, or else if one of them uses TensorFlow."""
    if asked is not None:
        return has_tensors(call, asked, ())
    return tensors.is_loaded() and any(callable(each) and tensors.needs_tensors(each) for each in given)
