"""A proxy before a real HTTP server, such as one of S3, that delays, stalls, resets, cuts and refuses its answers."""

from __future__ import annotations

import http.client
import itertools
import socket
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from urllib.parse import urlsplit

FAULTS = ["latency", "stall", "reset", "truncate", "refuse"]
PAUSE = 0.2  # seconds
OF_ONE_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


class Proxy(ThreadingHTTPServer):
    """The proxy; every `every`th request for content meets the next of the faults."""

    daemon_threads = True

    def __init__(self, upstream: str, every: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        parts = urlsplit(upstream)
        self.upstream = parts.hostname, parts.port
        self.every = every
        self.gets, self.kinds = itertools.count(1), itertools.cycle(FAULTS)
        self.met: list[str] = []

    def fault_of_next_get(self) -> str | None:
        if next(self.gets) % self.every:
            return None
        self.met.append(next(self.kinds))
        return self.met[-1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *_) -> None:
        pass

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection(*self.server.upstream)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        is_listing = "list-type" in self.path
        fault = self.server.fault_of_next_get() if self.command == "GET" and not is_listing else None
        if fault == "latency":
            sleep(PAUSE)
        if fault == "refuse":
            self.send_error(503)
            return
        self.send_response(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in OF_ONE_HOP:
                self.send_header(name, value)
        size = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", str(size or 0))
        self.end_headers()
        half = len(content) // 2
        self.wfile.write(content[:half])
        if fault in ("reset", "truncate"):
            self.close_connection = True
            if fault == "reset":  # instead of an orderly end
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            return
        if fault == "stall":
            self.wfile.flush()
            sleep(PAUSE)
        self.wfile.write(content[half:])

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815


@contextmanager
def fault_proxy(upstream: str, every: int):
    """Run a proxy before `upstream`, the URL of a server; give the proxy and its URL."""
    with Proxy(upstream, every) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, name="fault-proxy")
        thread.start()
        try:
            yield proxy, f"http://127.0.0.1:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
            thread.join()
