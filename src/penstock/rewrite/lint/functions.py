"""Functions that likely do not do what was meant."""

from __future__ import annotations

import dis
import random
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from penstock.plan.graph import post_order
from penstock.rewrite.lint.written import Found, Written

OF_TORCH = ("bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm")


def global_generator_in_a_function(written: Written) -> Iterator[Found]:
    """A function draws from the generator that a whole process shares.

    What it draws depends on the order in which workers come to it, so it differs from run to run, also with a seed, and
    processes that begin alike draw alike. A parameter `rng` gets a NumPy generator that belongs to the element's row
    and epoch: the same for any number of workers, and after a restore.
    """
    for node in post_order(written.plan):
        for function in vars(node).values():
            drawn = _drawn_by(function, function.__code__) if isinstance(function, FunctionType) else None
            if drawn is not None:
                yield Found(
                    node,
                    f"{node.label()} calls {drawn}(), which draws from a generator of the whole process; give the "
                    "function a parameter `rng` and draw from that",
                )


def _drawn_by(function: FunctionType, code: CodeType) -> str | None:
    """What draws from a shared generator in the code of the function, or of one inside it."""
    value: Any = None
    path: list[str] = []
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_GLOBAL":
            value, path = function.__globals__.get(each.argval), [str(each.argval)]
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
            value, path = getattr(value, str(each.argval), None), [*path, str(each.argval)]
        elif each.opname not in ("CACHE", "PRECALL", "PUSH_NULL"):
            value = None
        if value is not None and _is_shared(value):
            return ".".join(path)
    nested = (_drawn_by(function, constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return next((found for found in nested if found is not None), None)


def _is_shared(value: Any) -> bool:
    """Whether this is a function that draws from the generator of Python, NumPy or PyTorch."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.random.RandomState) or owner is getattr(random.random, "__self__", random):
        return True
    torch = sys.modules.get("torch")
    return torch is not None and any(value is getattr(torch, name, None) for name in OF_TORCH)
