"""A debugger in a function of an inline pipeline: it runs in the consumer's thread, and changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import penstock as ps

def halve(x):
    if x == 5:
        breakpoint()
    return x / 2

ds = ps.Dataset.range(12).shuffle(seed=1).map(halve).batch(3).with_options(ps.Options(executor="inline"))
it = ds.iterator()
received = []
for batch in it:
    received += batch.tolist()
    print("state", it.state_dict()["row"])
print("received", received)
"""


def ran(typed, *options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *options, "-c", PROGRAM]
    done = subprocess.run(
        command, input=typed, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    return done.stdout, done.stderr, done.returncode


def lines(out):
    return [line.replace("(Pdb) ", "") for line in out.splitlines() if "state" in line or "received" in line]


def test_a_breakpoint_in_a_function_stops_there_and_the_stream_and_the_states_are_the_same(monkeypatch):
    out, err, code = ran("p x\nwhere\nup\nnext\ncontinue\n")
    assert code == 0, err
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    without, _, _ = ran("")
    assert "(Pdb) 5" in out
    assert "halve" in out
    assert lines(out) == lines(without)
    assert len(lines(out)) == 5


def test_quitting_the_debugger_ends_the_program():
    out, err, code = ran("quit\n")
    assert code == 1
    assert "bdb.BdbQuit" in err
    assert "received" not in lines(out)
