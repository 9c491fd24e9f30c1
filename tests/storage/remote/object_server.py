"""A server of the files of a folder, as S3, Google, Azure and HTTP, that fails, delays and limits as it is told.

As a program it serves until its standard input ends: `python object_server.py FOLDER`, which prints its port. Each
request takes a number; `Faults` say what happens to which of them, so that a run can be repeated.
"""

# ruff: noqa: ASYNC230, ASYNC240, PLR0911 - files of a test are small
from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import md5
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class Faults:
    """What goes wrong: shares of requests for content, `latency` in seconds, and `rate` in bytes a second."""

    seed: int = 0
    latency: float = 0.0
    rate: float = 0.0
    error: float = 0.0  # 500
    slow_down: float = 0.0  # 503 SlowDown
    reset: float = 0.0  # in the middle of the content
    truncate: float = 0.0  # half the content, then an orderly end
    stall: float = 0.0  # half the content, then nothing until the client gives up
    every: int = 0  # each such request fails in turn by another of these kinds
    late: float = 0.0  # `late_seconds` before the answer
    late_seconds: float = 0.5
    status: int = 0  # of every answer, with this `code`
    code: str = ""
    only: int = 0  # the number of requests that the status is for; 0: all
    no_ranges: bool = False
    weak: bool = False  # ETags
    writable: bool = False  # objects can be put
    folders: bool = False  # listed as empty objects, as consoles make them


@dataclass
class Stats:
    """What was asked for."""

    requests: int = 0
    lists: int = 0
    heads: int = 0
    gets: int = 0
    puts: int = 0
    bytes: int = 0
    most_at_once: int = 0
    faults: int = 0
    authorizations: list[str] = field(default_factory=list)


class ObjectServer:
    """The server; `faults` may be replaced at any time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.faults = Faults()
        self.stats = Stats()
        self.port = 0
        self._random = random.Random(0)
        self._now = 0
        self._sent_until = 0.0
        self._sums: dict[tuple[str, int, int], str] = {}

    def told(self, **faults) -> None:
        """Begin to fail like this, and count from zero."""
        self.faults, self.stats = Faults(**faults), Stats()
        self._random = random.Random(self.faults.seed)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 16)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close all connections."""
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next turn of the loop

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while line := await reader.readline():
                method, target, _ = line.decode().split(" ", 2)
                headers: dict[str, str] = {}
                while (text := (await reader.readline()).decode().strip()) != "":
                    name, _, value = text.partition(":")
                    headers[name.lower()] = value.strip()
                if not await self._answer(method, target, headers, reader, writer):
                    break
        with suppress(Exception):
            writer.close()

    async def _answer(self, method, target, headers, reader, writer) -> bool:
        parts = urlsplit(target)
        path, query = unquote(parts.path).lstrip("/"), parse_qs(parts.query)
        if path == "_faults":
            body = await reader.readexactly(int(headers["content-length"]))
            self.told(**json.loads(body))
            return await self._send(writer, 200, b"")
        if path == "_stats":
            return await self._send(writer, 200, json.dumps(asdict(self.stats)).encode())
        self.stats.requests += 1
        if "authorization" in headers:
            self.stats.authorizations = [*self.stats.authorizations[-9:], headers["authorization"]]
        faults = self.faults
        if faults.status and (not faults.only or self.stats.requests <= faults.only):
            self.stats.faults += 1
            text = f"<Error><Code>{faults.code}</Code><Message>no</Message></Error>" if faults.code else ""
            return await self._send(writer, faults.status, b"" if method == "HEAD" else text.encode())
        if "list-type" in query or query.get("comp") == ["list"]:
            self.stats.lists += 1
            listed = self._listed if "list-type" in query else self._listed_by_azure
            return await self._send(writer, *listed(path.rstrip("/"), query.get("prefix", [""])[0]))
        place = os.path.join(self.folder, path)
        if method == "PUT":
            self.stats.puts += 1
            return await self._put(writer, place, headers, await reader.readexactly(int(headers["content-length"])))
        if not os.path.isfile(place):
            text = b"" if method == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>"
            return await self._send(writer, 404, text)
        size = os.path.getsize(place)
        tag = ("W/" if faults.weak else "") + f'"{self._sum(place)}"'
        told = {"ETag": tag, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if not faults.no_ranges:
            told["Accept-Ranges"] = "bytes"
        if "if-match" in headers and headers["if-match"] != tag:
            return await self._send(writer, 412, b"<Error><Code>PreconditionFailed</Code></Error>", told)
        if method == "HEAD":
            self.stats.heads += 1
            return await self._send(writer, 200, b"", {**told, "Content-Length": str(size)})
        return await self._get(writer, place, size, headers, told)

    async def _put(self, writer, place, headers, content) -> bool:
        if not self.faults.writable:
            return await self._send(writer, 403, b"<Error><Code>AccessDenied</Code></Error>")
        if os.path.exists(place) and headers.get("if-none-match") == "*":
            return await self._send(writer, 412, b"<Error><Code>PreconditionFailed</Code></Error>")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)
        return await self._send(writer, 200, b"", {"ETag": f'"{self._sum(place)}"'})

    async def _get(self, writer, place, size, headers, told) -> bool:
        faults, stats = self.faults, self.stats
        stats.gets += 1
        number = stats.gets
        draw = self._random.random()
        is_late = self._random.random() < faults.late
        self._now += 1
        stats.most_at_once = max(stats.most_at_once, self._now)
        try:
            await asyncio.sleep(faults.latency + (faults.late_seconds if is_late else 0.0))
            status, begin, end = 200, 0, size
            if "range" in headers and not faults.no_ranges:
                low, _, high = headers["range"].removeprefix("bytes=").partition("-")
                if not low:
                    low, high = size - int(high), ""
                begin, end = int(low), min(int(high) + 1 if high else size, size)
                if begin >= size:
                    return await self._send(writer, 416, b"<Error><Code>InvalidRange</Code></Error>")
                told = {**told, "Content-Range": f"bytes {begin}-{end - 1}/{size}"}
                status = 206
            with open(place, "rb") as file:
                content = os.pread(file.fileno(), end - begin, begin)
            stats.bytes += len(content)
            kinds = ("error", "reset", "truncate", "slow_down", "stall")
            if faults.every and number % faults.every == 0:
                stats.faults += 1
                return await self._fail(kinds[stats.faults % 4], writer, status, content, told)
            for kind in kinds:
                draw -= getattr(faults, kind)
                if draw < 0:
                    stats.faults += 1
                    return await self._fail(kind, writer, status, content, told)
            await self._pass(len(content))
            return await self._send(writer, status, content, told)
        finally:
            self._now -= 1

    async def _pass(self, size: int) -> None:
        """Wait for a turn on a line with a limited rate."""
        if self.faults.rate:
            loop = asyncio.get_running_loop()
            self._sent_until = max(self._sent_until, loop.time()) + size / self.faults.rate
            await asyncio.sleep(max(self._sent_until - loop.time(), 0))

    async def _fail(self, kind, writer, status, content, told) -> bool:
        if kind == "error":
            return await self._send(writer, 500, b"<Error><Code>InternalError</Code></Error>")
        if kind == "slow_down":
            return await self._send(writer, 503, b"<Error><Code>SlowDown</Code></Error>")
        await self._send(writer, status, content[: len(content) // 2], {**told, "Content-Length": str(len(content))})
        if kind == "stall":
            await asyncio.sleep(3600)
        elif kind == "reset":
            writer.transport.abort()
        return False

    async def _send(self, writer, status, body, headers=()) -> bool:
        told = {"Content-Length": str(len(body)), **dict(headers)}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in told.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        await writer.drain()
        return True

    def _listed(self, bucket: str, prefix: str) -> tuple[int, bytes]:
        root = os.path.join(self.folder, bucket)
        if not os.path.isdir(root):
            return 404, b"<Error><Code>NoSuchBucket</Code></Error>"
        keys = [os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names]
        made = (
            [os.path.relpath(at, root) + "/" for at, _, _ in os.walk(root) if at != root] if self.faults.folders else []
        )
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>0</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><StorageClass>STANDARD</StorageClass></Contents>"
            for key in made
            if key.startswith(prefix)
        )
        entries += "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{os.path.getsize(os.path.join(root, key))}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;{self._sum(os.path.join(root, key))}&quot;</ETag>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key in sorted(keys, reverse=True)  # stores promise no order
            if key.startswith(prefix)
        )
        return 200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>".encode()

    def _listed_by_azure(self, container: str, prefix: str) -> tuple[int, bytes]:
        root = os.path.join(self.folder, container)
        if not os.path.isdir(root):
            return 404, b"<Error><Code>ContainerNotFound</Code></Error>"
        keys = [os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names]
        entries = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>"
            f"<Content-Length>{os.path.getsize(os.path.join(root, key))}</Content-Length>"
            f"<Content-Type>application/octet-stream</Content-Type>"
            f"<Etag>{self._sum(os.path.join(root, key))}</Etag></Properties></Blob>"
            for key in sorted(keys, reverse=True)
            if key.startswith(prefix)
        )
        text = f"<EnumerationResults><Blobs>{entries}</Blobs><NextMarker /></EnumerationResults>"
        return 200, f'<?xml version="1.0" encoding="utf-8"?>{text}'.encode()

    def _sum(self, place: str) -> str:
        status = os.stat(place)
        key = place, status.st_mtime_ns, status.st_size
        if key not in self._sums:
            with open(place, "rb") as file:
                self._sums[key] = md5(file.read()).hexdigest()
        return self._sums[key]


class Running:
    """A server in a thread of this process, until the end of `with`."""

    def __init__(self, folder: str) -> None:
        self.server = ObjectServer(folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="object-server")
        self._started = threading.Event()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.server.start())
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self.server.stop())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def __enter__(self) -> ObjectServer:
        self._thread.start()
        self._started.wait()
        return self.server

    def __exit__(self, *_) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


if __name__ == "__main__":
    with Running(sys.argv[1]) as running:
        print(running.port, flush=True)
        sys.stdin.read()
