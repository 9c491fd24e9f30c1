"""The house test: what docs/architecture.md and CONTRIBUTING.md claim of the code as a whole, held by machine."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

import penstock

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "penstock"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = sorted(SRC.rglob("*.py"))
NATIVE = sorted(chain((ROOT / "native").rglob("*.cc"), (ROOT / "native").rglob("*.h")))

LONGEST_FILE = 400  # lines
FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "handler", "impl", "v2"}
MACHINE_PATH = re.compile(r"(?<![\w./:~-])/(?:work|tmp|home|root|Users|opt)/")

# Modules whose test is elsewhere, each with the reason.
TESTED_ELSEWHERE: dict[str, str] = {
    "__init__.py": "the public names: test_house.py itself",
    "engine/workers/handed_in/call.py": "by tests/engine/workers/handed_in/test_replaceable.py",
    "isolation/host.py": "in the process of tests/isolation/test_elsewhere.py",
    "engine/workers/kept.py": "by tests/engine/workers/test_outside.py",
    "transport/serving.py": "in the processes of tests/engine/workers/processes/test_worker.py",
    "transport/dumped_plan.py": "by tests/engine/workers/handed_in/test_remote.py",
    "storage/records.py": "as remote and as local files by tests/storage/remote/test_reading.py",
    "storage/remote/indexes.py": "by tests/storage/remote/test_reading.py",
    "storage/remote/records.py": "by tests/storage/remote/test_reading.py",
    "watch/fetches.py": "by tests/storage/remote/test_reading.py",
    "isolation/facts.py": "in the process of tests/isolation/test_elsewhere.py",
}

# Names that two files define because users know both by them, each with the reason.
SAME_ON_PURPOSE: dict[str, str] = {
    **dict.fromkeys(("decode", "Decode"), "`ps.image.decode` and `ps.audio.decode`"),
    **dict.fromkeys(("center_crop", "CenterCrop"), "`ps.image.center_crop` and `ps.audio.center_crop`"),
    **dict.fromkeys(("random_crop", "RandomCrop"), "`ps.image.random_crop` and `ps.audio.random_crop`"),
    "serve": "the beginning of every program of a process",
    "CHECKS": "the conformance suites of `penstock.testing`, one for each protocol",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def texts() -> list[Path]:
    """Every text file that is, or would be, in the repository."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    files = [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    return [path for path in files if b"\0" not in path.read_bytes()[:8192] and "hostile" not in path.parts]


@cache
def text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=str(path))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Let go of the trees, which every garbage collection of later tests would walk through."""
    yield
    tree_of.cache_clear()


def has_code(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree_of(path).body)


# Imports


def test_no_package_imports_the_top_package() -> None:
    rooms = {path.name for path in SRC.iterdir() if path.is_dir()}
    top = {"cli", "testing", "tf_data.py", "__main__.py", "__init__.py"}
    offenders = []
    for path in MODULES:
        if path.relative_to(SRC).parts[0] in top:
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import) and any(alias.name == "penstock" for alias in node.names):
                offenders.append(f"{name_of(path)}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and node.module == "penstock":
                offenders += [f"{name_of(path)}:{node.lineno}" for alias in node.names if alias.name not in rooms]
    assert offenders == []


def test_only_kernels_import_the_native_module() -> None:
    offenders = [
        name_of(path)
        for path in MODULES
        if path.relative_to(SRC).parts[0] != "kernels" and re.search(r"\b_native\b", text(path))
    ]
    assert offenders == []


def imports_of(path: Path) -> list[str]:
    nodes = list(ast.walk(tree_of(path)))
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]


def test_numpy_twins_import_no_native_kernel() -> None:
    allowed = ("penstock.core", "penstock.kernels.reference")
    twins = sorted((SRC / "kernels" / "reference").rglob("*.py"))
    strays = [(path, name) for path in twins for name in imports_of(path) if name.startswith("penstock")]
    assert [f"{name_of(path)}: {name}" for path, name in strays if not name.startswith(allowed)] == []


def test_native_kernels_do_not_include_python_headers() -> None:
    python = re.compile(r'^\s*#\s*include\s*[<"](?:Python\.h|nanobind/|pybind11/|bindings/)', re.MULTILINE)
    offenders = [name_of(p) for p in NATIVE if "bindings" not in p.parts and python.search(text(p))]
    assert offenders == []


def test_every_optional_library_is_banned_from_module_level() -> None:
    banned = set(PYPROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"])
    imported_as = {
        "pillow": "PIL",
        "scikit-learn": "sklearn",
        "nvidia-nvimgcodec-cu13": "nvidia",
        "cupy-cuda13x": "cupy",
        "opentelemetry-api": "opentelemetry",
    }
    extras = PYPROJECT["project"]["optional-dependencies"]
    wanted = chain.from_iterable(lines for extra, lines in extras.items() if extra != "dev")
    names = {re.split(r"[\[<>=~! ;]", line)[0] for line in wanted} - {"penstock"}
    assert {imported_as.get(name, name) for name in names} <= banned


# Files


def test_no_file_exceeds_the_limit_of_lines() -> None:
    lengths = {name_of(path): len(text(path).splitlines()) for path in [*MODULES, *NATIVE]}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_file_names_avoid_vague_words() -> None:
    code = [path for path in texts() if path.suffix in {".py", ".cc", ".h", ".sh"}]
    vague = [p for p in code if FORBIDDEN_NAMES & set(p.stem.lower().split("_")) or p.stem in {"base", "_base"}]
    assert [name_of(path) for path in vague] == []


def test_cached_properties_take_no_lock():
    own = SRC / "core" / "cached.py"
    locking = re.compile(r"^from functools import .*\bcached_property\b|@functools\.cached_property", re.MULTILINE)
    assert [name_of(path) for path in MODULES if path != own and locking.search(path.read_text())] == []


def test_no_file_mentions_a_machine() -> None:
    found = []
    for path in texts():
        for number, line in enumerate(text(path).splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{name_of(path)}:{number}: {line.strip()}")
    assert found == []


def test_no_file_has_marks_of_a_merge() -> None:
    assert [name_of(path) for path in texts() if re.search(r"^(<{7}|>{7}) ", text(path), re.MULTILINE)] == []


def places_of_test(inside: Path) -> list[Path]:
    """Return the allowed paths for the test of a module: next to its folder in tests/, or in that of its package."""
    folder, stem = inside.parent, inside.stem
    if stem == "__init__":
        folder, stem = folder.parent, folder.name or "penstock"
    return sorted({ROOT / "tests" / place / f"test_{stem}.py" for place in (folder, *folder.parts[:1])})


def test_the_version_is_that_of_the_distribution() -> None:
    assert penstock.__version__ == PYPROJECT["project"]["version"]


def test_tests_mirror_the_source() -> None:
    inside = [path.relative_to(SRC) for path in MODULES if has_code(path)]
    missing = {
        path.as_posix(): [name_of(place) for place in places_of_test(path)]
        for path in inside
        if path.as_posix() not in TESTED_ELSEWHERE and not any(place.exists() for place in places_of_test(path))
    }
    assert missing == {}


def test_listed_test_places_exist() -> None:
    assert [name for name in TESTED_ELSEWHERE if not (SRC / name).exists()] == []


def defined(path: Path) -> set[str]:
    """The public names that a file gives a meaning at its top level; imports and type variables are none."""
    names = set[str]()
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not is_type_variable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def is_type_variable(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) in {"TypeVar", "ParamSpec"}


def test_a_public_name_means_one_thing() -> None:
    kernels = set[str]().union(*map(defined, (SRC / "kernels").glob("*.py")))
    files_of = defaultdict[str, list[str]](list)
    for path in MODULES:
        inside = path.relative_to(SRC)
        twins = kernels if inside.parts[:2] == ("kernels", "reference") else set[str]()  # have their kernels' names
        for name in defined(path) - twins:
            if inside.parts[0] != "tf_data":  # has the names of TensorFlow
                files_of[name].append(inside.as_posix())
    several = {name: files for name, files in files_of.items() if len(files) > 1}
    assert {name: files for name, files in several.items() if name not in SAME_ON_PURPOSE} == {}
    assert several.keys() == SAME_ON_PURPOSE.keys()


# The public surface


def order(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions and modules: the order ruff keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=lambda p: name_of(p.parent))
def test_exports_are_listed_and_sorted(path: Path) -> None:
    tree = tree_of(path)
    listed = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
    ]
    # `from ... import name as name` says by itself that a room passes a name on.
    passed = [n for n in tree.body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("penstock.")]
    brings = [alias.name for node in passed for alias in node.names if alias.asname != alias.name]
    if not listed:
        assert brings == [], "names gathered from its files, and not listed in __all__"
        return
    names = list(listed[0])
    assert names == sorted(set(names), key=order)
    module = __import__(".".join(path.parent.relative_to(ROOT / "src").parts), fromlist=["*"])
    assert [name for name in names if not hasattr(module, name)] == []


def public() -> list[str]:
    return [name for name in getattr(penstock, "__all__", ()) if not name.startswith("_")]


def test_the_public_interface_is_not_empty() -> None:
    assert {"Dataset", "Options", "image", "read_image_folder"} <= set(public())


def test_public_names_are_listed_before_they_are_imported() -> None:
    asks = "import penstock; print(*set(penstock.__all__) - set(dir(penstock)), 'read_csv' in vars(penstock))"
    printed = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["False"]


def test_names_on_demand_match_the_imports_for_type_checkers() -> None:
    seen = chain.from_iterable(node.body for node in tree_of(SRC / "__init__.py").body if isinstance(node, ast.If))
    imports = [node for node in seen if isinstance(node, ast.ImportFrom)]
    told = {alias.name: node.module for node in imports for alias in node.names}
    rooms = {name: f"penstock.{name}" for name, module in told.items() if module == "penstock"}
    above = {name: f"penstock.{name}" for name in ("testing", "tf_data")}  # which the command's room may not import
    assert {**told, **rooms, **above} == penstock._PLACES


@pytest.mark.parametrize("name", public())
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    value = getattr(penstock, name)
    if isinstance(value, int | str):  # AUTOTUNE, INFINITE, UNKNOWN: told where they are defined
        return
    document = inspect.getdoc(value) or ""
    assert document
    # An error is raised, not called; a module's examples are those of its parts.
    if not isinstance(value, ModuleType) and not (inspect.isclass(value) and issubclass(value, Exception)):
        assert ">>>" in document


def test_every_method_of_dataset_is_documented_with_an_example() -> None:
    dataset = penstock.Dataset
    methods = [name for name in dir(dataset) if not name.startswith("_") and name not in dir(object)]
    documents = {name: inspect.getdoc(inspect.getattr_static(dataset, name)) or "" for name in methods}
    assert methods
    assert [name for name, document in documents.items() if ">>>" not in document] == []


# The tooling


def test_the_changelog_has_an_unreleased_section_with_something_in_it() -> None:
    log = text(ROOT / "CHANGELOG.md")
    section = re.search(r"^## \[?Unreleased\]?\s*$(.*?)(?=^## |\Z)", log, re.MULTILINE | re.DOTALL)
    assert section
    assert re.search(r"^- \S", section[1], re.MULTILINE)


def test_ci_and_pre_commit_run_what_make_runs() -> None:
    makefile, hooks = text(ROOT / "Makefile"), text(ROOT / ".pre-commit-config.yaml")
    for tool in ("ruff check", "ruff format", "clang-format", "pyright", "lint-imports"):
        assert tool in makefile
        assert tool in hooks
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert text(script).rstrip().endswith("make test")


def test_links_between_documents_are_valid() -> None:
    documents = [path for path in texts() if path.suffix == ".md"]
    links = [(path, link) for path in documents for link in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text(path))]
    assert [f"{name_of(path)}: {link}" for path, link in links if not (path.parent / link).exists()] == []
