"""From Python 3.12 on, one build of the native module serves every version: its bindings keep to the stable ABI."""

from __future__ import annotations

import re
from pathlib import Path

BINDINGS = Path(__file__).parents[2] / "native" / "bindings"

STABLE = """
PyBool_Check PyBool_Type PyBuffer_FillInfo PyBuffer_Release PyBytes_AsString PyBytes_AsStringAndSize PyBytes_Check
PyBytes_CheckExact PyBytes_FromStringAndSize PyBytes_Size PyBytes_Type PyComplex_CheckExact PyDict_CheckExact
PyDict_Copy PyDict_GetItemWithError PyDict_New PyDict_Next PyDict_SetItem PyDict_Size PyErr_Clear
PyErr_ExceptionMatches PyErr_NoMemory PyErr_Occurred PyErr_SetString PyExc_BufferError PyExc_Exception
PyExc_UnicodeDecodeError PyFloat_AsDouble PyFloat_CheckExact PyFloat_FromDouble PyFloat_Type PyIter_Next
PyList_AsTuple PyList_Check PyList_CheckExact PyList_GetItem PyList_GetSlice PyList_New PyList_SetItem PyList_Size
PyLong_AsLongLongAndOverflow PyLong_CheckExact PyLong_FromLongLong PyLong_Type PyMemoryView_Check
PyObject_CallFunctionObjArgs PyObject_CallMethod PyObject_GetBuffer PyObject_IsInstance PyObject_SelfIter
PyObject_Vectorcall PyRange_Type PySequence_List PyTuple_CheckExact PyTuple_GetItem PyTuple_New PyTuple_SetItem
PyTuple_Size PyType_Check PyType_GetFlags PyType_GetSlot PyType_Slot PyUnicode_AsUTF8AndSize PyUnicode_Check
PyUnicode_CheckExact PyUnicode_Decode PyUnicode_DecodeUTF8 PyUnicode_EncodeFSDefault PyUnicode_GetLength
PyUnicode_InternInPlace PyUnicode_Type
"""
"""The names of the stable ABI of Python 3.12 that bindings use: `Misc/stable_abi.toml` of CPython lists them all."""

NAME = re.compile(r"\bPy(?!Array_|BUF_)[A-Z][A-Za-z]*_\w+")


def lines_of_all_builds(text: str) -> list[str]:
    """Return the lines that are compiled for the stable ABI too."""
    lines: list[str] = []
    skipped: list[bool] = []  # of each #if around a line, whether this branch is; then of its #else
    others: list[bool] = []
    for line in text.splitlines():
        if line.startswith("#if"):
            skipped.append("ifndef Py_LIMITED_API" in line or "!defined(Py_LIMITED_API)" in line)
            others.append("Py_LIMITED_API" in line and not skipped[-1])
        elif line.startswith("#else"):
            skipped[-1] = others[-1]
        elif line.startswith("#endif"):
            skipped.pop()
            others.pop()
        elif not any(skipped):
            lines.append(line.partition("//")[0])
    return lines


def test_bindings_call_only_functions_of_the_stable_abi():
    used = {
        name: f"{path.name}: {line.strip()}"
        for path in sorted(BINDINGS.iterdir())
        for line in lines_of_all_builds(path.read_text(encoding="utf-8"))
        for name in NAME.findall(line)
    }
    assert len(used) > 50
    assert not {name: where for name, where in used.items() if name not in STABLE.split()}
