"""`penstock check --fix`: what it writes, what it leaves alone, and what the fixed pipelines make."""

from __future__ import annotations

import ast
import io
import os
import py_compile
import shutil
import stat
import sys
import warnings
from collections import Counter
from importlib.util import cache_from_source

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.cli.check import check
from penstock.cli.loading import load
from penstock.cli.main import main
from penstock.cli.terminal import Terminal
from tests.draws import draws

HEAD = "import penstock as ps\n\ndef noisy(x, *, rng):\n    return x + rng.normal()\n\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def forget():
    for name in [name for name in sys.modules if name.startswith("fixed_of_test")]:
        del sys.modules[name]


def checked(text, name="ds", **settings):
    """Return the status, the output, and the file after a check of a dataset in it."""
    with open("fixed_of_test.py", "w", newline="") as file:
        file.write(text)
    forget()
    stream = io.StringIO()
    ok = check(f"fixed_of_test.py:{name}", Terminal(stream), **settings)
    with open("fixed_of_test.py", newline="") as file:
        return ok, stream.getvalue(), file.read()


def fixed(text):
    return checked(text, write=True)


def test_a_fix_is_written_and_the_check_passes():
    ok, told, text = fixed(f"{HEAD}ds = ps.Dataset.range(9).repeat(2).cache()\n")
    assert ok
    assert text == f"{HEAD}ds = ps.Dataset.range(9).cache().repeat(2)\n"
    assert "fixed PS303 at fixed_of_test.py:6" in told
    again = fixed(text)
    assert (again[0], again[2]) == (True, text)
    assert "no finding has a safe fix" in again[1]


def test_no_module_compiled_before_a_fix_is_imported_after_it(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    text = f"{HEAD}ds = ps.Dataset.range(9).batch(2).shuffle(seed=1)\n"
    with open("fixed_of_test.py", "w") as file:
        file.write(text)
    stored = [cache_from_source("fixed_of_test.py", optimization=level) for level in ("", 1)]
    for level, name in enumerate(stored):
        py_compile.compile("fixed_of_test.py", cfile=name, optimize=level)
    others = cache_from_source("fixed_of_test_too.py")
    shutil.copy(stored[0], others)
    before = os.stat("fixed_of_test.py")
    assert fixed(text)[0]
    assert os.path.getsize("fixed_of_test.py") == before.st_size
    assert [os.path.exists(name) for name in (*stored, others)] == [False, False, True]


def test_a_diff_is_shown_and_nothing_is_written():
    text = f"{HEAD}ds = ps.Dataset.range(9).repeat(2).cache()\n"
    ok, told, after = checked(text, diff=True)
    assert not ok
    assert after == text
    lines = told.splitlines()
    assert "--- a/fixed_of_test.py" in lines
    assert "-ds = ps.Dataset.range(9).repeat(2).cache()" in lines
    assert "+ds = ps.Dataset.range(9).cache().repeat(2)" in lines
    assert "fixed PS303" not in told


def test_a_finding_without_a_fix_still_fails_the_check():
    ok, told, text = fixed("import penstock as ps\nds = ps.Dataset.range(9).batch(2).map(abs).shuffle(seed=1)\n")
    assert not ok
    assert "no finding has a safe fix" in told
    assert ".batch(2).map(abs).shuffle(seed=1)" in text


def test_a_buffer_of_batches_becomes_one_of_as_many_elements():
    _, told, text = fixed(f"{HEAD}ds = ps.Dataset.range(25).batch(\n    batch_size=10).shuffle(2, seed=0)\n")
    assert text == f"{HEAD}ds = ps.Dataset.range(25).shuffle(20, seed=0).batch(\n    batch_size=10)\n"
    assert "the buffer counts elements instead of batches" in " ".join(told.split())


@pytest.mark.parametrize(
    ("calls", "reasons"),
    [
        ("batch(10).map(abs).shuffle(seed=0)", ["PS101 at fixed_of_test.py:6: map(abs) stands between"]),
        ("batch(10).take(5).shuffle(seed=0)", ["PS101 at fixed_of_test.py:6: take(5) stands between"]),
        ("batch(10).enumerate().shuffle(seed=0)", ["PS101 at fixed_of_test.py:6: enumerate() stands between"]),
        ("batch(10, drop_remainder=True).shuffle(seed=0)", ["would leave out other elements"]),
        ("batch(5 + 5).shuffle(2, seed=0)", ["the size of batch() is not written as a number"]),
        ("filter(bool).map(noisy).cache()", ["PS301 at fixed_of_test.py:6: draws in a stream"]),
        ("filter(bool).shuffle(5, seed=0).cache()", ["PS302 at fixed_of_test.py:6: the cache keeps a stream"]),
        ("shuffle().filter(bool).shard(2, 0)", ["PS103 at fixed_of_test.py:6: "]),
        (
            "map(noisy).repeat(2).cache()",
            ["PS301 at fixed_of_test.py:6: repeat(2) stands between", "PS303 at fixed_of_test.py:6: map(noisy) makes"],
        ),
        ("shuffle(5, seed=1)", ["PS105 at fixed_of_test.py:6: which change is right is not in the code"]),
    ],
)
def test_every_finding_that_is_not_fixed_has_a_reason(calls, reasons):
    text = f"{HEAD}ds = ps.Dataset.range(25).{calls}\n"
    _, told, after = fixed(text)
    assert after == text
    told = " ".join(told.split())
    assert all(reason in told for reason in reasons), told
    assert "writes it" not in told
    assert "no finding has a safe fix" in told


@pytest.mark.parametrize(
    ("code", "calls", "others"),
    [
        ("PS101", "batch(4).map(lambda b: b, vectorized=False).shuffle(seed=0)", "batch(4).shuffle(seed=0)"),
        ("PS101", "batch(4).shuffle(seed=0)", "batch(4).shuffle(seed=0)"),
        ("PS102", "repeat(2).shuffle(seed=0)", "repeat(2).shuffle(seed=0)"),
        ("PS301", "map(noisy).cache()", "map(noisy).cache()"),
        ("PS302", "shuffle(seed=0).cache()", "shuffle(seed=0).cache()"),
    ],
)
def test_no_branch_of_a_zip_is_fixed_and_each_is_told(code, calls, others):
    text = (
        f"{HEAD}images = ps.Dataset.range(20).{calls}\n"
        f"labels = ps.Dataset.range(20).{others}\n"
        "ds = ps.Dataset.zip(images, labels)\n"
    )
    ok, told, after = fixed(text)
    assert not ok
    assert after == text
    told = " ".join(told.split())
    assert all(f"not fixed: {code} at fixed_of_test.py:{line}: " in told for line in (6, 7)), told
    assert "zip(2 datasets) pairs what it reads by position" in told


def test_of_findings_that_read_alike_each_is_fixed_or_left():
    chain = "ps.Dataset.range(20).batch(4).shuffle(seed=0)"
    text = f"{HEAD}def made(n):\n    return ps.Dataset.range(n).batch(4).shuffle(seed=0)\n\n"
    ok, told, after = fixed(f"{text}ds = {chain}.concatenate(made(20))\n")
    assert not ok
    assert after.endswith("ds = ps.Dataset.range(20).shuffle(seed=0).batch(4).concatenate(made(20))\n")
    assert "not fixed: PS101 at fixed_of_test.py:7: " in " ".join(told.split())


def test_fixes_of_one_chain_are_written_in_several_runs():
    text = f"{HEAD}ds = ps.Dataset.range(9).map(noisy).cache().repeat(2).shuffle(seed=1)\n"
    runs = 0
    ok = False
    while not ok and runs < 5:
        ok, _, text = fixed(text)
        runs += 1
    assert ok
    assert text.splitlines()[-1].endswith(".cache().map(noisy).shuffle(seed=1).repeat(2)")


def test_the_mode_the_line_ends_the_encoding_and_links_stay():
    text = "# coding: latin-1\r\nimport penstock as ps\r\nname = 'é'\r\nds = ps.Dataset.range(9).repeat(2).cache()"
    with open("real.py", "wb") as file:
        file.write(text.encode("latin-1"))
    os.chmod("real.py", 0o750)
    os.symlink("real.py", "fixed_of_test.py")
    forget()
    assert check("fixed_of_test.py:ds", Terminal(io.StringIO()), write=True)
    assert os.path.islink("fixed_of_test.py")
    assert stat.S_IMODE(os.stat("real.py").st_mode) == 0o750
    with open("real.py", "rb") as file:
        assert file.read().decode("latin-1") == text.replace(".repeat(2).cache()", ".cache().repeat(2)")
    assert sorted(os.listdir()) == ["fixed_of_test.py", "real.py"]


def test_a_file_that_cannot_be_written_is_said_in_a_line(folder, capsys, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "fixed_of_test.py")

    monkeypatch.setattr("os.replace", refuse)
    text = f"{HEAD}ds = ps.Dataset.range(9).repeat(2).cache()\n"
    ok, _, after = fixed(text)
    assert not ok
    assert after == text
    error = capsys.readouterr().err
    assert error.startswith("penstock: a file cannot be fixed: [Errno 13] Permission denied")
    assert error.count("\n") == 1


def test_a_write_that_fails_leaves_the_file_and_nothing_else(monkeypatch, capsys):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    text = f"{HEAD}ds = ps.Dataset.range(9).repeat(2).cache()\n"
    ok, _, after = fixed(text)
    assert (ok, after) == (False, text)
    assert os.listdir() == ["fixed_of_test.py"]


def test_a_file_that_changes_itself_is_left_alone():
    begin = "from pathlib import Path\nimport penstock as ps\nds = ps.Dataset.range(9).repeat(2).cache()\n"
    ok, told, text = fixed(f"{begin}Path(__file__).write_text('x = 1')\n")
    assert not ok
    assert "has changed since it was loaded" in " ".join(told.split())
    assert text == "x = 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ds = ps.Dataset.range(9).batch(size := 3).shuffle(seed=size)\n", "assigns a variable"),
        ("def made(n):\n    return ps.Dataset.range(n).repeat(2).cache()\n\nds = made(9)\n", "with parameters"),
    ],
)
def test_calls_that_others_may_depend_on_are_left_alone(text, reason):
    ok, told, after = fixed(HEAD + text)
    assert not ok
    assert reason in " ".join(told.split())
    assert after == HEAD + text


def test_the_command_takes_both_options(capsys):
    with open("fixed_of_test.py", "w") as file:
        file.write(f"{HEAD}ds = ps.Dataset.range(9).repeat(2).cache()\n")
    forget()
    assert main(["check", "fixed_of_test.py:ds", "--diff"]) == 1
    forget()
    assert main(["check", "fixed_of_test.py:ds", "--fix", "--diff"]) == 0
    forget()
    assert main(["check", "fixed_of_test.py:ds"]) == 0
    assert "+ds = ps.Dataset.range(9).cache().repeat(2)" in capsys.readouterr().out


STEPS = {
    "map": ".map(lambda x: x * 2)",
    "noisy": ".map(noisy)",
    "repeat": ".repeat(2)",
    "shuffle": ".shuffle(seed=3)",
    "cache": ".cache()",
    "batch": ".batch(3)",
    "dropping": ".batch(4, drop_remainder=True)",
    "prefetch": ".prefetch(1)",
    "options": ".with_options(ps.Options(seed=7))",
    "take": ".take(5)",
    "enumerated": ".enumerate().map(lambda number, x: x + number)",
}


BY_ORDER = (".map(noisy)", ".take(", ".enumerate(", "drop_remainder")  # whose results depend on the order before them


def programs():
    """Return a strategy for programs that write chains of calls in several layouts."""

    def program(names, layout, comments):
        calls = [STEPS[name] + f"  # {name}" * comment for name, comment in zip(names, comments, strict=False)]
        if layout == "line":
            return f"{HEAD}ds = ps.Dataset.range(12){''.join(STEPS[name] for name in names)}\n"
        if layout == "lines":
            return f"{HEAD}ds = (\n    ps.Dataset.range(12)\n" + "".join(f"    {call}\n" for call in calls) + ")\n"
        return f"{HEAD}ds = ps.Dataset.range(12)\n" + "".join(f"ds = ds{call}\n" for call in calls)

    return st.lists(st.sampled_from(sorted(STEPS)), max_size=6).flatmap(
        lambda names: st.builds(
            program,
            st.just(names),
            st.sampled_from(["line", "lines", "statements"]),
            st.lists(st.booleans(), min_size=len(names), max_size=len(names)),
        )
    )


def dataset():
    forget()
    return load("fixed_of_test.py:ds").with_options(ps.Options(seed=7, ignore_lint="all"))


def flat(ds, epoch):
    return [x for element in ds.iterator(epoch=epoch) for x in np.ravel(element).tolist()]


@given(programs())
@settings(max_examples=draws(120), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_fixed_pipeline_gives_the_elements_that_its_fix_says(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, told, after = fixed(text)
        ast.parse(after)
        if after == text:
            return
        assert "".join(sorted(after)) == "".join(sorted(text))
        with open("fixed_of_test.py", "w") as file:
            file.write(text)
        try:
            before, second = flat(dataset(), 0), flat(dataset(), 1)
        except ps.errors.ElementError:  # batches of batches of different sizes
            return
        with open("fixed_of_test.py", "w") as file:
            file.write(after)
        made, later = flat(dataset(), 0), flat(dataset(), 1)
    codes = {code for code in ("PS101", "PS102", "PS301", "PS302", "PS303") if f"fixed {code}" in told}
    assert codes
    if codes == {"PS303"} or (codes <= {"PS301", "PS302", "PS303"} and ".repeat" not in text):
        assert made == before
    elif not any(call in text for call in BY_ORDER):
        assert Counter(made) == Counter(before)
    if codes == {"PS303"}:
        assert later == second
