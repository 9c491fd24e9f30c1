"""Changes in places of a program that are easily overlooked: methods without `self`, metaclasses, wrappers, imports."""

import sys

import pytest

from tests.plan.content.keys import in_module, key_with

# A class that takes the defaults of its fields out of its attributes, as those of pydantic do.
MODEL = """
class Field:
  __slots__ = ("annotation", "default", "default_factory", "_seen")
  def __init__(self, default):
    self.annotation, self.default, self.default_factory, self._seen = int, default, None, object()
class Meta(type):
  def __new__(cls, name, bases, names):
    fields = {key: Field(names.pop(key)) for key in names.get("__annotations__", {})}
    return super().__new__(cls, name, bases, {**names, "__pydantic_fields__": fields, "__pydantic_state__": id(fields)})
  def __call__(cls):
    made = super().__call__()
    vars(made).update({name: field.default for name, field in cls.__pydantic_fields__.items()})
    return made
class C(metaclass=Meta):
"""

EDITS = {
    "__new__": "class P:\n  def __new__(cls, x): return x + 7\ndef f(x): return P(x)",
    "__init_subclass__": (
        "class B:\n  def __init_subclass__(cls): cls.k = 7\ndef f(x): return type('D', (B,), {}).k + x"
    ),
    "__class_getitem__": "class B:\n  def __class_getitem__(cls, x): return x + 7\ndef f(x): return B[x]",
    "static __call__": "class B:\n  @staticmethod\n  def __call__(x): return x + 7\nf = B()",
    "cached __call__": "class B:\n  @functools.cache\n  def __call__(self, x): return x + 7\nf = B()",
    "_missing_": (
        "class E(enum.Enum):\n  A = 3\n  B = 4\n  @classmethod\n  def _missing_(cls, x): return [cls.A, cls.B][7 % 2]\n"
        "def f(x): return E(x + 9).value"
    ),
    "metaclass": (
        "class M(type):\n  def __len__(cls): return 7\nclass C(metaclass=M): pass\ndef f(x): return x + len(C)"
    ),
    "default_factory": (
        "@dataclasses.dataclass\nclass D:\n  k: list = dataclasses.field(default_factory=lambda: [7])\n"
        "def f(x): return D().k[0] + x"
    ),
    "default of a slot": "@dataclasses.dataclass(slots=True)\nclass D:\n  k: int = 7\ndef f(x): return D().k + x",
    "update_wrapper": (
        "class T:\n  def __init__(self, g, k): functools.update_wrapper(self, g).k = k\n"
        "  def __call__(self, x): return self.__wrapped__(x) * self.k\nf = T(lambda x: x + 1, 7)"
    ),
    "__wrapped__": (
        "def bare(g):\n  @functools.wraps(g)\n  def w(x): return w.__wrapped__(x)\n  return w\n"
        "@bare\ndef f(x): return x + 7"
    ),
    "array": "class A(np.ndarray): pass\na = np.zeros(1).view(A)\na.k = 7\ndef f(x): return a.k + x",
    "defaultdict": "class D(collections.defaultdict): pass\nd = D(int)\nd.k = 7\ndef f(x): return d.k + x",
    "partial": "class P(functools.partial):\n  def __call__(self, x): return x + 7\nf = P(int)",
    "attribute of a partial": "class P(functools.partial): pass\np = P(int)\np.k = 7\ndef f(x): return p.k + x",
    "singledispatch": (
        "@functools.singledispatch\ndef g(x): return 0\n@g.register\ndef of_int(x: int): return x + 7\n"
        "def f(x): return g(x)"
    ),
    "singledispatchmethod": (
        "class C:\n  @functools.singledispatchmethod\n  def g(self, x): return x + 7\nc = C()\ndef f(x): return c.g(x)"
    ),
    "dunder": "class C:\n  __factor__ = 7\ndef f(x): return x + C.__factor__",
    "dunder table": "class C:\n  __table__ = {'a': [1, 7]}\ndef f(x): return x + C.__table__['a'][1]",
    "docstring": "class C:\n  \"prompt 7\"\ndef f(x): return f'{C.__doc__} {x}'",
    "annotations": "class C:\n  k: 'float7'\ndef f(x): return C.__annotations__['k'], x",
    "annotated types": (
        "class C:\n  k: np.float32\n  l: list[np.float32] | None\nif 7 == 8: C.__annotations__['k'] = np.float64\n"
        "def f(x): return repr(C.__annotations__['k'](x))"
    ),
    "attribute of a member": "class E(enum.Enum):\n  A = 1\nE.A.k = 7\ndef f(x): return E.A.k + x",
    "private name of a member": (
        "class E(enum.Enum):\n  A = 1\n  __k = 7\n  def g(self): return self.__k\ndef f(x): return E.A.g() + x"
    ),
    "default that a library takes out of the class": MODEL + "  size: int = 7\ndef f(x): return x + C().size",
    "factory that a library takes out of the class": (
        MODEL + "  size: object = lambda: 7\ndef f(x): return x + C().size()"
    ),
    "dunder of an enum": "class E(enum.Enum):\n  A = 1\n  __k__ = 7\ndef f(x): return E.__k__ + x",
    "alias": "class E(enum.Enum):\n  A = 3 + 4\n  B = 8\n  C = 7\ndef f(x): return E.C.name, x",
    "flags that are one": (
        "class P(enum.Flag):\n  R = 1\n  W = 2\n  X = 4\n  RW = 7 - 1 & 3\ndef f(x): return P.RW.value + x"
    ),
}
IMPORTS = "import collections, dataclasses, enum, functools\nimport numpy as np\n"


@pytest.mark.parametrize("text", EDITS.values(), ids=EDITS.keys())
def test_an_edit_counts_and_the_same_program_has_the_same_key(text):
    before, again, after = (in_module(f"{IMPORTS}{each}").f for each in (text, text, text.replace("7", "8")))
    assert before(0) == again(0) != after(0)
    assert key_with(before).text == key_with(again).text != key_with(after).text


@pytest.mark.parametrize("line", ["import parcel.part as part", "from parcel import part"])
def test_a_module_in_a_package_that_a_function_imports_counts(tmp_path, monkeypatch, line):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "parcel").mkdir()
    (tmp_path / "parcel" / "__init__.py").touch()
    keys = []
    for number in (1, 1, 2):
        (tmp_path / "parcel" / "part.py").write_text(f"def g(x): return x + {number}\n")
        for name in ("parcel", "parcel.part"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        keys.append(key_with(in_module(f"def f(x):\n  {line}\n  return part.g(x)").f).text)
    assert keys[0] == keys[1] != keys[2]
