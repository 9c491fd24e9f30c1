"""A debugger in a function of the pipeline, which runs inline with the same elements and states as with workers."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, os, sys
import penstock as ps

def square(x):
    if x == 5 and sys.argv[2] == "stops":
        breakpoint()
    return x * x

if __name__ == "__main__":
    options = ps.Options(seed=3, executor=sys.argv[1], workers=None if sys.argv[1] == "inline" else 2)
    it = iter(ps.Dataset.range(12).shuffle().map(square, vectorized=False).batch(4).with_options(options))
    got = [[next(it).tolist(), it.state_dict()] for _ in range(3)]
    print(json.dumps(got, default=str))
"""


def run(path, *arguments, typed=""):
    command = [sys.executable, str(path), *arguments]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, check=True, timeout=100)
    return done.stdout


def test_pdb_works_inline_with_the_same_elements_and_states(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    out = run(path, "inline", "stops", typed="p ('here', int(x))\nwhere\ncontinue\n")
    assert "('here', 5)" in out
    assert "square" in out
    expected = json.loads(run(path, "processes", "goes"))
    assert json.loads(out[out.index("[[[") :]) == expected
    assert sorted(x for batch, _ in expected for x in batch) == [x * x for x in range(12)]
