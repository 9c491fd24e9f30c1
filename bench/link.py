"""A server behind a slow link: an answer begins after a delay, and all together have so many bytes a second.

`python -m bench.link FOLDER DELAY RATE` serves the files of a folder, whole or in ranges, on a port of 127.0.0.1, and
prints the port. It answers as a web server, and as one of Amazon's S3 whose buckets are the folders below. It ends with
its standard input. The delay is in seconds. There is no slow start and no lost packet.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from bench.environments import ROOT

PIECE = 64 << 10  # bytes that an answer sends before it is another's turn
BURST = 0.01  # seconds that the link may catch up, after it was idle or the server woke up late


class Link:
    """A line that sends `rate` bytes a second, piece by piece."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free = 0.0  # when all that was sent has passed

    async def carry(self, size: int) -> None:
        """Wait until `size` bytes have passed, after those that came before."""
        now = asyncio.get_running_loop().time()
        self._free = max(self._free, now - BURST) + size / self._rate
        if self._free > now:
            await asyncio.sleep(self._free - now)


class FileServer:
    """Answers GET and HEAD, with `Range`, for the files of `folder`, and lists the files of a bucket."""

    def __init__(self, folder: Path, delay: float, rate: float) -> None:
        self._folder = folder.resolve()
        self._delay = delay
        self._link = Link(rate)

    async def run(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                wanted = ""
                while header := (await reader.readline()).decode().strip():
                    name, _, value = header.partition(":")
                    wanted = value.strip() if name.lower() == "range" else wanted
                await asyncio.sleep(self._delay)
                await self._answer(method, path, wanted, writer)
        writer.close()

    async def _answer(self, method: str, target: str, wanted: str, writer: asyncio.StreamWriter) -> None:
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if "list-type" in query:
            content = self._listed(path.strip("/"), query.get("prefix", [""])[0])
            writer.write(head("200 OK", len(content)) + content)
            return
        try:
            descriptor = os.open(self._folder / path.lstrip("/"), os.O_RDONLY)
        except OSError:
            writer.write(head("404 Not Found", 0))
            return
        try:
            size = os.fstat(descriptor).st_size
            begin, end = span(wanted, size)
            told = {"ETag": f'"{path}"', "Accept-Ranges": "bytes"}
            if wanted:
                told["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
            writer.write(head("206 Partial Content" if wanted else "200 OK", end - begin, told))
            for at in range(begin, end if method == "GET" else begin, PIECE):
                piece = os.pread(descriptor, min(PIECE, end - at), at)
                await self._link.carry(len(piece))
                writer.write(piece)
                await writer.drain()
        finally:
            os.close(descriptor)

    def _listed(self, bucket: str, prefix: str) -> bytes:
        """Return the files of a bucket in one page of XML."""
        entries = "".join(
            f"<Contents><Key>{escape(path.name)}</Key><Size>{path.stat().st_size}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;/{escape(bucket)}/{escape(path.name)}&quot;"
            "</ETag></Contents>"
            for path in sorted((self._folder / bucket).iterdir())
            if path.name.startswith(prefix)
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()


def head(status: str, size: int, told: dict[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}"]
    lines += [f"{name}: {value}" for name, value in (told or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def span(wanted: str, size: int) -> tuple[int, int]:
    """Return where the bytes of a `Range` header begin and end in an object of `size` bytes.

    >>> span("", 10), span("bytes=2-4", 10), span("bytes=2-", 10), span("bytes=-3", 10)
    ((0, 10), (2, 5), (2, 10), (7, 10))
    """
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    if not first:
        return (size - int(last) if last else 0), size
    return int(first), min(int(last) + 1, size) if last else size


@contextmanager
def linked(folder: Path, delay: float, rate: float) -> Generator[str]:
    """Serve `folder` in a process of its own until the end of `with`; yield the URL of the folder."""
    command = [sys.executable, "-m", "bench.link", str(folder), str(delay), str(rate)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}/"
        finally:
            child.stdin.close()
            child.wait()


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    asyncio.run(FileServer(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])).run())
