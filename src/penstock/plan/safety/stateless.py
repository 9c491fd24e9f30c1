"""Names of what any process may call with the same result, and of what may change a container."""

from __future__ import annotations

import numpy as np

STATELESS = frozenset(
    [
        *("math", "cmath", "operator", "_operator", "itertools", "json", "json.decoder", "json.encoder", "re", "_sre"),
        *("string", "textwrap", "struct", "_struct", "binascii", "base64", "hashlib", "_hashlib", "zlib", "bz2"),
        *("lzma", "unicodedata", "collections", "_collections", "dataclasses", "typing", "enum", "statistics"),
        *("heapq", "_heapq", "bisect", "_bisect", "fractions", "html", "urllib.parse", "colorsys", "difflib", "copy"),
        *("numbers", "datetime", "_datetime", "time", "posixpath", "builtins", "numpy", "numpy.fft"),
        *("numpy.char", "numpy.strings", "numpy.ma"),
    ]
)
"""Modules whose functions depend on their arguments alone, apart from the names below."""
STATEFUL = frozenset(
    [
        *("exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "getattr", "open", "input"),
        *("__import__", "breakpoint", "id", "hash", "memoryview", "seterr", "seterrcall", "setbufsize", "memmap"),
        *("load", "save", "savez", "savetxt", "loadtxt", "genfromtxt", "fromfile", "abspath", "realpath", "exists"),
        *("__dict__", "__globals__", "__closure__", "__defaults__", "__code__", "__builtins__", "__setattr__"),
        *("__delattr__", "gi_frame", "cache_info", "cache_clear"),
        *("__init__", "__new__", "__init_subclass__", "methodcaller", "attrgetter", "set_printoptions"),
        *("isfile", "isdir", "getsize", "expanduser", "expandvars", "relpath", "read_text", "read_bytes", "resolve"),
        *("write_text", "write_bytes", "unlink", "mkdir", "touch", "cwd", "stat", "iterdir", "glob", "rglob"),
        # sums in BLAS depend on its number of threads, which is one in workers
        *("dot", "vdot", "inner", "matmul", "tensordot", "einsum", "convolve", "correlate", "cov", "corrcoef"),
        *("polyfit", "linalg"),
    ]
)
"""Names of functions and attributes that reach more than their arguments show."""
SHOWING = frozenset(
    ["repr", "str", "format", "ascii", "print", "format_map", "array2string", "array_repr", "array_str"]
)
"""Names of functions and methods that turn objects into text."""
MAY_CHANGE: dict[type, frozenset[str]] = {
    list: frozenset(
        [
            *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "__setitem__", "__iadd__"),
            *("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right"),
            *("setitem", "delitem", "iadd", "imul", "iconcat"),
        ]
    ),
    dict: frozenset(["update", "pop", "popitem", "clear", "setdefault", "setitem", "delitem", "__setitem__", "ior"]),
    np.ndarray: frozenset(
        [
            *("fill", "sort", "put", "resize", "partition", "setfield", "byteswap", "setflags", "itemset", "at"),
            *("copyto", "place", "putmask", "fill_diagonal", "put_along_axis", "pack_into", "shape", "dtype", "data"),
            *("setitem", "iadd", "isub", "imul", "itruediv", "readinto", "view", "reshape", "ravel", "strides"),
        ]
    ),
}
"""Names with which code may change a container that it reads."""
