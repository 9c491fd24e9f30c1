"""Find the dataset that `FILE:NAME` names."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from types import ModuleType
from typing import Any

from penstock.dataset.dataset import Dataset


class TargetError(Exception):
    """A target on the command line that names no dataset; shown to the user without a traceback."""


def load(target: str) -> Dataset[Any]:
    """Return the dataset named by `FILE:NAME`, after running the file; errors of the file keep their type.

    FILE is a path or the name of a module. NAME is a `Dataset`, or a function without arguments that returns one.
    """
    file, colon, name = target.rpartition(":")
    if not colon or not file:
        raise TargetError(f"expected FILE:NAME, such as train.py:ds, not {target!r}")
    try:
        module = _module(file)
    except SystemExit as error:
        raise TargetError(
            f"{file} exits, with SystemExit({'' if error.code is None else repr(error.code)}), when it is loaded; "
            'let it do so only where __name__ == "__main__"'
        ) from None
    if not hasattr(module, name):
        raise TargetError(f"there is no {name!r} in {file}; {_datasets_in(module)}")
    found = getattr(module, name)
    if isinstance(found, Dataset):
        return found
    if not callable(found):
        kind = type(found).__name__
        raise TargetError(f"{name} in {file} is not a Dataset: it is of type {kind}; {_datasets_in(module)}")
    return _called(found, name)


def _called(function: Any, name: str) -> Dataset[Any]:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise TargetError(
            f"{name}() cannot be called without arguments: {error}; write a function without arguments"
        ) from None
    except ValueError:  # a builtin without a signature
        pass
    made = function()
    if not isinstance(made, Dataset):
        raise TargetError(f"{name}() returned {type(made).__name__}, not a Dataset")
    return made


def _module(file: str) -> ModuleType:
    if file.endswith(".py") or os.sep in file:
        return _module_at(file)
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(file)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{file}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports does not
        raise TargetError(f"there is no module {file!r}; the path of a file ends in .py") from None


def _module_at(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise TargetError(f"there is no file {path} in {os.getcwd()}")
    # As for a script, its folder comes first; workers in other processes find its functions there, too.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.basename(path).removesuffix(".py")
    name = f"{name}_file" if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is not a Python file: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _datasets_in(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Dataset)]
    makers = [f"{name}()" for name, value in vars(module).items() if _returns_dataset(value)]
    if not names and not makers:
        return "no dataset is defined there"
    return f"datasets there: {', '.join(names + makers)}"


def _returns_dataset(value: Any) -> bool:
    return inspect.isfunction(value) and "Dataset" in str(value.__annotations__.get("return", ""))
