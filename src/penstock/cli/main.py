"""The `penstock` command: its arguments and its exit statuses."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from penstock import __version__
from penstock.cli.failure import for_commands
from penstock.cli.loading import TargetError
from penstock.cli.terminal import Terminal
from penstock.core.errors import DataError, ElementError, MissingDependencyError, PlanError

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
TARGET = "a Dataset in a Python file or module, or a function without arguments that returns one: train.py:ds"
STATUSES = "exit status: 0 success; 1 failure; 2 wrong arguments; 130 stopped by Ctrl-C"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: the shell's) and return its exit status.

    >>> main(["run", "nowhere.py:ds"])
    2
    """
    asked = _parser().parse_args(arguments)
    status = _status(asked)
    if status == INTERRUPTED:
        # The interpreter keeps an interrupt during the `exec` of text, as for a dataclass, caught or not, until the
        # next `exec`: the process would end by the signal, and not with the status.
        eval("0")  # noqa: S307
    return status


def _status(asked: argparse.Namespace) -> int:
    try:
        return asked.do(asked)
    except (TargetError, MissingDependencyError) as error:
        print(f"penstock: {for_commands(error)}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:  # the reader of the output is gone; the interpreter would report it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("penstock: stopped by Ctrl-C", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock", description="The input pipeline for training runs.", epilog=STATUSES
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_demo(commands.add_parser("demo", help="train from images, resume, read records, measure", epilog=STATUSES))
    _add_run(commands.add_parser("run", help="iterate a dataset and show what limits it", epilog=STATUSES))
    _add_top(commands.add_parser("top", help="show and change what runs on this machine", epilog=STATUSES))
    _add_check(commands.add_parser("check", help="try a dataset and show likely mistakes", epilog=STATUSES))
    _add_diagnose(commands.add_parser("diagnose", help="measure each operation of a dataset", epilog=STATUSES))
    _add_index(commands.add_parser("index", help="index data files in advance", epilog=STATUSES))
    _add_inspect(
        commands.add_parser("inspect", help="describe the contents of data files, and check them", epilog=STATUSES)
    )
    _add_peek(commands.add_parser("peek", help="show some elements of data files", epilog=STATUSES))
    _add_convert(commands.add_parser("convert", help="convert data files to another format", epilog=STATUSES))
    _add_cache(commands.add_parser("cache", help="list, verify, remove and export caches on disk", epilog=STATUSES))
    return parser


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train a classifier on real images through Penstock, interrupt it in mid-epoch, resume it in a new process, "
        "then run an ImageNet-style pipeline at full speed and compare it with its ceiling. All in a temporary folder."
    )
    parser.add_argument("--quick", action="store_true", help="fewer photos and seconds: less precise figures")
    parser.add_argument("--seconds", type=_positive(float), help="seconds to measure speed, in all (default: 12)")
    parser.set_defaults(do=_demo)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Iterate a dataset with live figures, and end with the time of each operation and the verdict on the limit."
    )
    parser.add_argument("target", metavar="FILE:NAME", help=TARGET)
    parser.add_argument("--items", type=_positive(int), metavar="N", help="stop after N batches (or elements)")
    parser.add_argument("--seconds", type=_positive(float), metavar="S", help="stop after S seconds")
    parser.add_argument("--epochs", type=_positive(int), metavar="E", default=1, help="number of passes (default: 1)")
    parser.add_argument(
        "--workers", type=_positive(int), metavar="N", help="number of tasks at a time (default: measured)"
    )
    parser.add_argument("--explain", action="store_true", help="first show the plan, as written and as run")
    parser.set_defaults(do=_run)


def _add_top(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the passes of all your processes on this machine, once they have lasted for a second. On a terminal the "
        "figures move until q is pressed."
    )
    parser.add_argument("pid", type=int, nargs="?", metavar="PID", help="a process, whose passes are shown in detail")
    parser.add_argument("--once", action="store_true", help="print the passes once, as in a file or pipe")
    parser.add_argument("--workers", type=_positive(int), metavar="N", help="continue with N tasks at a time")
    parser.add_argument(
        "--memory-budget", type=_bytes, metavar="SIZE", help="make no more ahead than fits into these bytes: 2GB"
    )
    paused = parser.add_mutually_exclusive_group()
    paused.add_argument("--pause", action="store_const", const=1, help="begin no task, and let the loops wait")
    paused.add_argument("--resume", action="store_const", const=1, help="go on")
    parser.add_argument("--pass", dest="number", type=int, metavar="NUMBER", help="change one pass of the process only")
    parser.set_defaults(do=_top, refuse=parser.error)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make one element of a dataset, and show the result of each operation, likely mistakes and what to write "
        "instead. The command fails if an operation fails, or if there is a finding that iterating would warn of, and "
        "that --fix has not fixed."
    )
    parser.add_argument("target", metavar="FILE:NAME", help=TARGET)
    parser.add_argument("--rows", type=_positive(int), metavar="N", default=1, help="make N elements (default: 1)")
    parser.add_argument("--fix", action="store_true", help="write the changes that keep the elements (docs/lint.md)")
    parser.add_argument("--diff", action="store_true", help="show these changes as a diff")
    parser.set_defaults(do=_check)


def _add_diagnose(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Measure what limits a dataset: as it is, and up to each operation with several numbers of workers. A step of "
        "training is not part of it: call ps.diagnose(ds, step=) for that."
    )
    parser.add_argument("target", metavar="FILE:NAME", help=TARGET)
    parser.add_argument("--seconds", type=_positive(float), metavar="S", default=30.0, help="in all (default: 30)")
    parser.set_defaults(do=_diagnose)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files, patterns such as 'train-*.tfrecord', or folders"
    )
    parser.add_argument("--format", help="the format of all files (default: detected by name and content)")


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Find the position of each record, for random access, and keep the index next to the file (or in the cache "
        "folder, if the file's folder is read-only). Reading a file for the first time does the same."
    )
    _add_files(parser)
    parser.add_argument("--force", action="store_true", help="also rebuild indexes that are still valid")
    parser.set_defaults(do=_index)


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show the format of files, and the number, sizes and kind of their records."
    _add_files(parser)
    parser.add_argument("--elements", type=_positive(int), metavar="N", default=1, help="show N of them (default: 1)")
    parser.add_argument("--verify", action="store_true", help="read everything, and name every record that is damaged")
    parser.set_defaults(do=_inspect)


def _add_peek(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print some elements of files, and draw the images in them on one sheet, a PNG file."
    _add_files(parser)
    parser.add_argument(
        "--elements", type=_positive(int), metavar="N", default=5, help="number of elements (default: 5)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="S", help="elements drawn at random by this seed, instead of the first"
    )
    parser.add_argument(
        "--sheet", metavar="FILE.png", help="where to draw images (default: peek.png, if there are any)"
    )
    parser.set_defaults(do=_peek)


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write the contents of files into a file of another format (TFRecord, tar or Parquet, by its extension), or "
        "shards of that format, several at a time. Keys, file names and labels of class folders are kept; a sample "
        "that the format cannot hold is an error that leaves nothing. Each file is read again and compared. After an "
        "interruption, the same command continues."
    )
    _add_files(parser)
    parser.add_argument("to", metavar="TO", help="the file to write: train.tar, or train-00000-of-00012.tar and so on")
    parser.add_argument(
        "--max-bytes", type=_bytes, metavar="SIZE", help="approximate size of a shard, uncompressed: 256MB"
    )
    parser.add_argument(
        "--compression",
        choices=("gzip", "zlib", "zstd", "snappy", "lz4"),
        help="of the files (default: by their name, as train.tfrecord.zst); TFRecord in zstd keeps random access",
    )
    parser.add_argument(
        "--workers", type=_positive(int), metavar="N", help="number of processes (default: one per processor)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing files, or start over")
    parser.add_argument(
        "--float32", dest="rounding", action="store_true", help="round numbers that a TFRecord cannot hold exactly"
    )
    parser.set_defaults(do=_convert)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Look after the folders that ds.cache(path) and ds.save(path) keep elements in. A folder of a cache may hold "
        "several keys."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    told = {
        "ls": "list the keys in a folder, with rows and sizes",
        "info": "describe one key: the parts it was made of, its rows and elements",
        "verify": "compare the checksum of every row",
        "clear": "remove all keys, or some; of a saved dataset at a URL, what saves have left there that did not end",
        "export": "write the elements of one key to a Parquet or Arrow file",
    }
    for name, text in told.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=STATUSES)
        command.add_argument(
            "folder", metavar="FOLDER", help="the path or URL given to ds.cache(path) or ds.save(path)"
        )
        if name != "ls":
            command.add_argument(
                "--key", metavar="KEY", help="the key, or its beginning (default: the only one, or all)"
            )
        if name == "clear":
            command.add_argument(
                "--keep-latest", action="store_true", help="remove all keys of a cache but the one begun last"
            )
        if name == "export":
            command.add_argument("to", metavar="TO", help="the file to write: out.parquet, out.arrow or out.feather")
            command.add_argument("--overwrite", action="store_true", help="replace an existing file")
        command.set_defaults(do=_cache, command=name)


def _bytes(text: str) -> int:
    from penstock.core.sizes import parse_size

    try:
        count = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return int(_positive(int)(str(count)))


def _positive(kind: type[int | float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        number = kind(text)
        if not number > 0:
            raise argparse.ArgumentTypeError(f"expected a number above 0, not {text}")
        return number

    parse.__name__ = kind.__name__
    return parse


def _demo(asked: argparse.Namespace) -> int:
    from penstock.cli.demo.demo import demo

    return 0 if demo(Terminal(), quick=asked.quick, seconds=asked.seconds) else FAILED


def _run(asked: argparse.Namespace) -> int:
    from penstock.cli.run import Limits, run

    limits = Limits(asked.items, asked.seconds, asked.epochs)
    ended = run(asked.target, limits, Terminal(), workers=asked.workers, explain=asked.explain)
    return {"failed": FAILED, "interrupted": INTERRUPTED}.get(ended, 0)


def _top(asked: argparse.Namespace) -> int:
    from penstock.cli import top

    settings = ("workers", "memory_budget", "pause", "resume")
    changes = {name: value for name in settings if (value := getattr(asked, name)) is not None}
    if asked.pid is None and (changes or asked.number is not None):
        asked.refuse("name the process to change: penstock top PID --workers 4")
    if asked.number is not None and not changes:
        asked.refuse("--pass says which pass to change: add --workers, --memory-budget, --pause or --resume")
    terminal = Terminal()
    if asked.pid is not None and changes:
        return 0 if top.change_passes(terminal, asked.pid, changes, asked.number) else FAILED
    if asked.once or asked.pid is not None or not (terminal.moving and sys.stdin.isatty()):
        return 0 if top.show_passes(terminal, asked.pid) else FAILED
    from penstock.cli.top_screen import watch_passes

    watch_passes(terminal)
    return 0


def _check(asked: argparse.Namespace) -> int:
    from penstock.cli.check import check

    return 0 if check(asked.target, Terminal(), rows=asked.rows, write=asked.fix, diff=asked.diff) else FAILED


def _diagnose(asked: argparse.Namespace) -> int:
    from penstock.cli.diagnose import print_diagnosis

    return 0 if print_diagnosis(asked.target, Terminal(), seconds=asked.seconds) else FAILED


def _index(asked: argparse.Namespace) -> int:
    from penstock.cli.files.index import index

    return _with_files(lambda: index(asked.paths, Terminal(), name=asked.format, force=asked.force))


def _inspect(asked: argparse.Namespace) -> int:
    from penstock.cli.files.inspect import inspect

    settings = {"name": asked.format, "elements": asked.elements, "verify": asked.verify}
    return _with_files(lambda: inspect(asked.paths, Terminal(), **settings))


def _peek(asked: argparse.Namespace) -> int:
    from penstock.cli.files.peek import peek

    settings = {"name": asked.format, "count": asked.elements, "seed": asked.seed, "sheet": asked.sheet}
    return _with_files(lambda: peek(asked.paths, Terminal(), **settings))


def _convert(asked: argparse.Namespace) -> int:
    from penstock.cli.files.convert import convert

    settings = {name: getattr(asked, name) for name in ("max_bytes", "workers", "overwrite", "compression", "rounding")}
    return _with_files(lambda: convert(asked.paths, asked.to, Terminal(), name=asked.format, **settings))


def _cache(asked: argparse.Namespace) -> int:
    from penstock.cli import cache, saved
    from penstock.core.checks import without_file_scheme

    of_cache: dict[str, Callable[..., bool]] = {
        "ls": cache.list_keys,
        "info": cache.describe_key,
        "verify": cache.verify,
        "clear": cache.clear,
        "export": cache.export,
    }
    of_saved: dict[str, Callable[..., bool]] = {
        "ls": saved.list_saved,
        "info": saved.describe_saved,
        "verify": saved.verify_saved,
        "clear": saved.clear_saved,
        "export": saved.export_saved,
    }
    folder = without_file_scheme(asked.folder)
    do = (of_saved if saved.is_saved(folder) else of_cache)[asked.command]
    given = {name: value for name, value in vars(asked).items() if name in ("to", "key", "keep_latest", "overwrite")}
    return _with_files(lambda: do(folder, terminal=Terminal(), **given))


def _with_files(do: Callable[[], bool]) -> int:
    """Run a command on files, and print its errors as a sentence."""
    try:
        return 0 if do() else FAILED
    except (DataError, ElementError, PlanError, OSError) as error:
        print(f"penstock: {for_commands(error)}", file=sys.stderr)
        return FAILED
