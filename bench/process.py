"""The parent's end of a contender: start its process, request runs, end it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.environments import ROOT, python_of
from bench.job import Contender, Job

RUN_TIMEOUT_S = 300.0


class ContenderError(Exception):
    """A contender could not be built or run; the table says so."""


class Process:
    """A contender that stays alive between runs, so each run starts warm."""

    def __init__(self, contender: Contender, job: Job, log: Path) -> None:
        self.contender = contender
        python, root = python_of(contender.side, contender.root), contender.root or ROOT
        if python is None:
            raise ContenderError("missing")
        module = f"bench.contenders.{contender.side}.{contender.module}"
        self._log = log.open("a")
        self._child = subprocess.Popen(
            [python, "-m", "bench.contender", module],
            cwd=root,
            env=environment(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        try:
            self.version: str = self._ask({"build": {**job.options, **contender.options}})["version"]
        except ContenderError:
            self.close()
            raise

    def run(self, number: int, thorough: bool) -> dict[str, Any]:
        """Run once over the data; the answer has `seconds`, `rows`, `checks` and `extra`."""
        return self._ask({"run": number, "thorough": thorough})

    def close(self) -> None:
        """End the child and all processes that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._log.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise ContenderError(f"its process ended with {self._child.wait()}; see {self._log.name}") from None
        ready, _, _ = select.select([stdout], [], [], RUN_TIMEOUT_S)
        if not ready:
            raise ContenderError(f"no answer within {RUN_TIMEOUT_S:.0f} s")
        line = stdout.readline()
        if not line:
            raise ContenderError(f"its process ended with {self._child.wait()}; see {self._log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise ContenderError(answer["error"])
        return answer


class Script:
    """A contender measured from process start to its first line of output; each run is a new process."""

    def __init__(self, contender: Contender, job: Job, log: Path) -> None:
        self.contender = contender
        python, root = python_of(contender.side, contender.root), contender.root or ROOT
        if python is None:
            raise ContenderError("missing")
        self._log = log
        self._root = root
        script = root / "bench" / "contenders" / contender.side / f"{contender.module}.py"
        self._command = [str(python), str(script), json.dumps({**job.options, **contender.options})]
        self.version = str(self.run(0, thorough=True)["checks"].pop("version"))

    def run(self, number: int, thorough: bool) -> dict[str, Any]:
        with self._log.open("a") as log:
            started = time.perf_counter()
            child = subprocess.Popen(
                self._command,
                cwd=self._root,
                env=environment(self._root),
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
            assert child.stdout is not None
            line = child.stdout.readline()
            seconds = time.perf_counter() - started
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if not line:
            raise ContenderError(f"no first batch; see {self._log}")
        return {"seconds": seconds, "rows": 1, "checks": json.loads(line), "extra": {}}

    def close(self) -> None:
        """Do nothing: no process is left between runs."""


def environment(root: Path) -> dict[str, str]:
    """Return the environment of every contender: quiet, without a GPU, and with compiled files as after an install."""
    quiet = {
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    return {**os.environ, **quiet, "PYTHONPATH": str(root)}
