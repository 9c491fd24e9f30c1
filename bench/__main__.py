"""`python -m bench`: list the workloads, run one (or `all`), `setup` and `tune` the peers, write the `report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import environments, report, table
from bench.harness import run_job
from bench.tune import tune
from bench.workloads import WORKLOADS, find_jobs, images


def main() -> None:
    arguments = parse()
    if arguments.command is None:
        list_workloads()
    elif arguments.command == "setup":
        environments.setup(arguments.peers)
    elif arguments.command == "report":
        report.write()
    elif arguments.command == "tune":
        for job in find_jobs(arguments.workload, arguments.variants):
            tune(job, sides(arguments.against))
    else:
        given = vars(arguments)
        for job in find_jobs(arguments.command, given.get("variants", []), given.get("only", [])):
            results = run_job(job, sides(arguments.against), arguments.rounds, arguments.before)
            print(table.terminal(job, results), flush=True)


def sides(names: str | None) -> set[str] | None:
    """Read `--against`; None means every peer that is installed, an empty text none."""
    if names is None:
        return None
    named = {name for name in names.split(",") if name}
    unknown = sorted(named - set(environments.PEERS))
    if unknown:
        raise SystemExit(f"unknown peers {', '.join(unknown)}; there are: {', '.join(environments.PEERS)}")
    return named


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="WORKLOAD")
    setup = commands.add_parser("setup", help="install the peers into environments under .venvs/")
    setup.add_argument("peers", nargs="*", help=f"the peers to install (default: all): {', '.join(environments.PEERS)}")
    commands.add_parser("report", help="write the last results into docs/benchmarks.md and its plot")
    tuning = commands.add_parser("tune", help="find each peer's best configuration by trying candidates")
    tuning.add_argument("workload", choices=[*WORKLOADS, "all"])
    for variant in images.VARIANTS:
        add_variant(tuning, variant)
    every = commands.add_parser("all", help="run every workload with every peer")
    measured = [every]
    for name, workload in WORKLOADS.items():
        command = commands.add_parser(name, help=(workload.__doc__ or "").strip())
        for variant in workload.VARIANTS:
            add_variant(command, variant)
        if not workload.VARIANTS:
            command.add_argument("only", nargs="*", metavar="JOB", help="only these, such as `cpu` of `autotune cpu`")
        measured.append(command)
    for command in [*measured, tuning]:
        command.add_argument("--against", metavar="PEERS", help="comma-separated peers (default: all installed ones)")
    for command in measured:
        command.add_argument("--rounds", type=int, help="rounds after the warm-up (default: set by the job)")
        command.add_argument(
            "--before", type=Path, help="a checkout of another build, with its .venv, to measure in turn with this one"
        )
    return parser.parse_args()


def add_variant(parser: argparse.ArgumentParser, variant: str) -> None:
    parser.add_argument(f"--{variant}", dest="variants", action="append_const", const=variant, default=[])


def list_workloads() -> None:
    for name, workload in WORKLOADS.items():
        print(f"{name:10} {workload.__doc__}")
        for job in workload.jobs():
            sides = dict.fromkeys(contender.side for contender in job.contenders)
            print(f"  {job.name:22} against {', '.join(side for side in sides if side != 'penstock')}")
    missing = [side for side in environments.PEERS if environments.python_of(side) is None]
    if missing:
        print(f"missing peers: {', '.join(missing)} (python -m bench setup)")


if __name__ == "__main__":
    main()
