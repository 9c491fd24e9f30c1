"""Functions and classes in keys: equal in other processes and after edits that change nothing."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan.content.keys import change, in_module, key_with, make


def run(source: str, folder: Path, seed: int = 0, **modules: str) -> str:
    """Return what a new process prints that has these modules."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    program = (
        "import penstock as ps\nfrom penstock.plan.content.key import content_key\n"
        f"def key(ds): return content_key(ds._plan, operation='cache()').text\n{source}"
    )
    paths = [str(folder), *sys.path]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(paths)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PREPARE = """
import numpy as np, functools, logging
from settings import MEAN, LEVELS
import settings

log = logging.getLogger("prepare")

def scaled(x):
    return x * settings.FACTOR

class Step:
    power = 2
    def __init__(self, shift):
        self.shift = shift
    def __call__(self, x):
        return self.inner(x) ** self.power + self.shift
    def inner(self, x):
        return scaled(x) - MEAN[0]

def kind(x):
    import json
    from late import table
    return x in {"a", "b", "c"} or x in LEVELS or table[int(x)]

ds = ps.Dataset.range(4).map(Step(1)).map(kind).map(functools.partial(lambda a, x: a * x, 3))
"""


SETTINGS = "import numpy as np\nMEAN = np.arange(3.0)\nLEVELS = {'x', 'y', 'z', 3}\nFACTOR = 7\nUNUSED = 0\n"


LATE = "table = [5, 6]\n"


MODULES = {"prepare": f"import penstock as ps\n{PREPARE}", "settings": SETTINGS, "late": LATE}


PRINTED = "import prepare\nprint(key(prepare.ds))"


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> str:
    return run(PRINTED, tmp_path_factory.mktemp("usual"), **MODULES)


def test_another_process_with_another_hash_seed_and_folder_has_the_same_key(tmp_path, usual):
    assert run(PRINTED, tmp_path, seed=77, **MODULES) == usual


def test_comments_blank_lines_and_unused_names_do_not_count(tmp_path, usual):
    prepare = (
        MODULES["prepare"]
        .replace("def scaled", "# of the setting\n\n\ndef scaled")
        .replace("    return x * s", "    # a comment\n\n    return x * s")
    )
    settings = SETTINGS.replace("UNUSED = 0", "UNUSED = 1")
    assert run(PRINTED, tmp_path, **{**MODULES, "prepare": prepare, "settings": settings}) == usual


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("settings", "FACTOR = 7", "FACTOR = 8"),
        ("settings", "arange(3.0)", "arange(3.0) + 1e-9"),
        ("settings", "'z', 3", "'z', 4"),
        ("late", "[5, 6]", "[5, 7]"),
        ("prepare", "power = 2", "power = 3"),
        ("prepare", "Step(1)", "Step(2)"),
        ("prepare", "x * settings.FACTOR", "x + settings.FACTOR"),
        ("prepare", '"b", "c"', '"b", "d"'),
        ("prepare", "a * x, 3", "a * x, 4"),
    ],
)
def test_an_edit_anywhere_in_the_modules_of_the_user_counts(tmp_path, usual, module, old, new):
    assert MODULES[module].count(old) == 1
    assert run(PRINTED, tmp_path, **{**MODULES, module: MODULES[module].replace(old, new)}) != usual


def test_a_closure_value_counts_and_is_named():
    assert key_with(make(2)).text == key_with(make(2)).text
    assert change(key_with(make(2)), key_with(make(3))) == "factor (closed over by scaled) is 3 and was 2"


def test_a_default_and_a_keyword_default_count():
    def with_defaults(values):
        def scaled(x, by=values, *, more=1):
            return x * by[0] * more

        return scaled

    assert change(key_with(with_defaults([1])), key_with(with_defaults([2]))) == "a default of scaled changed"


def test_globals_count_and_are_named_with_the_function_that_reads_them():
    text = "MEAN = {}\ndef inner(x):\n    return x - MEAN\ndef normalize(x):\n    return inner(x)\n"
    before, after = (key_with(in_module(text.format(mean)).normalize) for mean in ("0.5", "0.6"))
    assert change(before, after) == "MEAN (read by inner) is 0.6 and was 0.5"


def test_a_changed_callee_is_named():
    text = "def inner(x):\n    return x {} 1\ndef normalize(x):\n    return inner(x)\n"
    before, after = (key_with(in_module(text.format(sign)).normalize) for sign in "+-")
    assert change(before, after) == "the function inner changed"


def test_functions_that_call_each_other_have_a_key():
    text = "def even(x):\n    return x == 0 or odd(x - 1)\ndef odd(x):\n    return x != 0 and even(x - {})\n"
    before, same, after = (key_with(in_module(text.format(step)).even) for step in (1, 1, 2))
    assert before.text == same.text
    assert change(before, after) == "the function odd changed"


def test_a_name_that_the_function_assigns_does_not_count():
    text = "calls = 0\ndef counted(x):\n    global calls\n    calls += 1\n    return x\n"
    module = in_module(text)
    before = key_with(module.counted)
    module.counted(1)
    assert key_with(module.counted).text == before.text

    def outer():
        count = 0

        def counted(x):
            nonlocal count
            count += 1
            return x

        return counted

    counted = outer()
    before = key_with(counted)
    counted(1)
    assert key_with(counted).text == before.text


def test_a_function_that_the_program_has_put_into_a_library_counts(monkeypatch):
    def key():
        return key_with(lambda x: math.floor(os.path.getsize(x)))

    before = key()
    monkeypatch.setattr(math, "floor", lambda x: 7)
    replaced = key()
    assert "the function lambda (2) is new" in change(before, replaced)
    monkeypatch.setattr(math, "floor", lambda x: 8)
    assert key().text not in (before.text, replaced.text)
    monkeypatch.undo()
    assert key().text == before.text
    monkeypatch.setattr(os.path, "getsize", lambda x: 7)
    assert key().text != before.text
