"""Every Python example in README and docs/ runs: those with prompts as doctests, others as programs."""

from __future__ import annotations

import doctest
import re
import traceback
from functools import partial
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"feeds.md": ("torch", "jax"), "remote.md": ("fsspec",)}  # frameworks that a page is about
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """The folder `photos` that the examples read: 80 small JPEGs of two classes."""
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (80, 48, 64, 3), np.uint8)
    for number, image in enumerate(pixels):
        file = tmp_path / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_examples_run(document, monkeypatch):
    for framework in NEEDS.get(document.name, ()):
        pytest.importorskip(framework)
    last_line = partial(_last_line, traceback.format_exception_only)
    monkeypatch.setattr(traceback, "format_exception_only", last_line)
    text = document.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        if ">>> " in block[1]:
            test = doctest.DocTestParser().get_doctest(block[1], names, document.name, str(document), line)
            runner.run(test, clear_globs=False)
            names = test.globs
        else:
            exec(compile("\n" * line + block[1], str(document), "exec"), names)
    assert runner.failures == 0


def _last_line(format_exception_only, *error):
    """Return the last line, which doctest compared before Python 3.11.4 for an error with notes."""
    return format_exception_only(*error)[-1:]


def test_the_quickstart_examples_run():
    assert ROOT / "docs" / "quickstart.md" in DOCUMENTS
    assert len(BLOCK.findall((ROOT / "docs" / "quickstart.md").read_text("utf-8"))) > 5
