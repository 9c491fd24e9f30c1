"""`python -m bench`: list the workloads, run one (or `all`), `setup` the peers, write the `report`."""

from __future__ import annotations

import argparse

from bench import environments, report, table
from bench.harness import run_job
from bench.workloads import WORKLOADS, find_jobs


def main() -> None:
    arguments = parse()
    if arguments.command is None:
        list_workloads()
    elif arguments.command == "setup":
        environments.setup(arguments.peers)
    elif arguments.command == "report":
        report.write()
    else:
        against = None if arguments.against is None else set(arguments.against.split(","))
        unknown = sorted((against or set()) - set(environments.PEERS))
        if unknown:
            raise SystemExit(f"unknown peers {', '.join(unknown)}; there are: {', '.join(environments.PEERS)}")
        jobs = find_jobs(arguments.command, vars(arguments).get("variants", []))
        for job in jobs:
            print(table.terminal(job, run_job(job, against, arguments.rounds)), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="WORKLOAD")
    setup = commands.add_parser("setup", help="make the peers' environments under .venvs/")
    setup.add_argument("peers", nargs="*", help=f"which (all by default): {', '.join(environments.PEERS)}")
    commands.add_parser("report", help="write the last results into docs/benchmarks.md and its plot")
    every = commands.add_parser("all", help="run every workload with every peer")
    measured = [every]
    for name, workload in WORKLOADS.items():
        command = commands.add_parser(name, help=workload.__doc__)
        for variant in workload.VARIANTS:
            command.add_argument(f"--{variant}", dest="variants", action="append_const", const=variant, default=[])
        measured.append(command)
    for command in measured:
        command.add_argument("--against", metavar="PEERS", help="comma-separated peers (all that are installed)")
        command.add_argument("--rounds", type=int, help="rounds after the warm-up (the job's own number, at least 5)")
    return parser.parse_args()


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
