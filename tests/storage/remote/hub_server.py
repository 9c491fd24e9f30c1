"""A server of a folder as a dataset repository of the Hugging Face hub: what its file system asks for, and no more."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

COMMIT = "c" * 40


class Hub(http.server.ThreadingHTTPServer):
    """The repository `datasets/me/set` with the files of a folder; only `token` may read it, if that is set."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.folder = folder
        self.token = ""
        self.status = 0  # of every answer, if set
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, name="hub", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Asked(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        hub = self.server
        hub.requests.append(f"{self.command} {path} {self.headers.get('range', '')}".strip())
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if hub.status:
            self._send(hub.status, b"", {"X-Error-Message": "no"})
        elif hub.token and self.headers.get("authorization") != f"Bearer {hub.token}":
            self._send(401, b"", {"X-Error-Message": "Invalid credentials in Authorization header"})
        elif path.startswith("/api/datasets/me/set/tree/"):
            self._listed(path.removeprefix("/api/datasets/me/set/tree/").partition("/")[2])
        elif path.startswith("/api/datasets/me/set/paths-info/"):
            names = json.loads(body)["paths"]
            self._json([self._entry(hub.folder / name) for name in names if (hub.folder / name).exists()])
        elif path.startswith("/api/datasets/me/set"):
            self._json({"id": "me/set", "sha": COMMIT, "private": False, "siblings": [], "tags": [], "downloads": 0})
        elif path.startswith("/datasets/me/set/resolve/"):
            self._content(path.removeprefix("/datasets/me/set/resolve/").partition("/")[2])
        else:
            self._send(404, b"", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})

    do_HEAD = do_POST = do_GET  # noqa: N815 - the names that the base calls

    def _listed(self, below: str) -> None:
        place = self.server.folder / below
        if not place.is_dir():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
            return
        is_deep = "recursive=true" in self.path.lower()
        found = place.rglob("*") if is_deep else place.iterdir()
        self._json([self._entry(path) for path in sorted(found, reverse=True)])

    def _entry(self, path: Path) -> dict[str, object]:
        name = path.relative_to(self.server.folder).as_posix()
        if path.is_dir():
            return {"type": "directory", "path": name, "oid": "d" * 40, "size": 0}
        return {"type": "file", "path": name, "size": path.stat().st_size, "oid": _oid(path)}

    def _content(self, name: str) -> None:
        path = self.server.folder / name
        if not path.is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
            return
        content = path.read_bytes()
        told = {"ETag": f'"{_oid(path)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        if (asked := self.headers.get("range", "")).startswith("bytes="):
            low, _, high = asked.removeprefix("bytes=").partition("-")
            begin, end = int(low), min(int(high) + 1 if high else len(content), len(content))
            told["Content-Range"] = f"bytes {begin}-{end - 1}/{len(content)}"
            self._send(206, content[begin:end], told)
        else:
            self._send(200, content, told)

    def _json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, told: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**told, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


def _oid(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
