from __future__ import annotations

import subprocess
import sys

import penstock.cli.demo.demo as story
from penstock.cli.demo.reading import check_lines


def test_the_quick_demo_holds():
    command = [sys.executable, "-m", "penstock", "demo", "--quick", "--seconds", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Everything held." in done.stdout
    assert "15 of 15 remaining batches are bit-equal" in done.stdout
    assert "1,797 of 1,797 are as written" in " ".join(done.stdout.split())
    assert "fuse_image_chain" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout


def test_a_failed_demo_reports_it(monkeypatch, capsys):
    from penstock.cli.terminal import Terminal

    monkeypatch.setattr(story, "EPOCHS", 1)
    monkeypatch.setattr(story, "ENOUGH", 0.9999)
    monkeypatch.setattr(story, "resumed_elsewhere", lambda folder, cursor, workers: ["another"])
    monkeypatch.setattr(story, "check_lines", lambda folder: check_lines(folder)._replace(equal=1))
    assert not story.demo(Terminal(), quick=True, seconds=0.1)
    told = capsys.readouterr().out
    assert "A check failed." in told
    assert told.count("FAILED") == 3
