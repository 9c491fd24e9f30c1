"""Key-value stores that all ranks of a job share, one class for each kind."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote
from uuid import uuid4

from penstock.core.errors import RankError


class RankStore(Protocol):
    """Texts by key, seen by all ranks; a key is written once."""

    def put(self, key: str, text: str) -> None:
        """Publish a text."""
        ...

    def peek(self, keys: Sequence[str]) -> list[str] | None:
        """Return the texts of all keys; `None` if one was not published yet."""
        ...

    def drop(self, key: str) -> None:
        """Remove a key that no rank will read again."""
        ...

    def count(self, name: str) -> int:
        """Return how many times this name was counted, this time included."""
        ...


class TorchStore:
    """The store of `torch.distributed`, on a connection of its own where PyTorch gives one."""

    def __init__(self, store: Any, prefix: str) -> None:
        self._store = store.clone() if hasattr(store, "clone") else store
        self._prefix = prefix

    def put(self, key: str, text: str) -> None:
        self._store.set(self._prefix + key, text)

    def peek(self, keys: Sequence[str]) -> list[str] | None:
        names = [self._prefix + key for key in keys]
        if not self._store.check(names):
            return None
        return [self._store.get(name).decode() for name in names]

    def drop(self, key: str) -> None:
        self._store.delete_key(self._prefix + key)

    def count(self, name: str) -> int:
        return self._store.add(self._prefix + name, 1)


class JaxStore:
    """The key-value service of JAX's coordinator."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, key: str, text: str) -> None:
        self._client.key_value_set(f"penstock/{key}", text)

    def peek(self, keys: Sequence[str]) -> list[str] | None:
        texts: list[str] = []
        for key in keys:
            try:
                texts.append(self._client.key_value_try_get(f"penstock/{key}"))
            except RuntimeError as error:
                if "NOT_FOUND" in str(error):
                    return None
                raise
        return texts

    def drop(self, key: str) -> None:
        self._client.key_value_delete(f"penstock/{key}")

    def count(self, name: str) -> int:
        return self._client.key_value_increment(f"penstock/{name}", 1)


class FolderStore:
    """A folder that all ranks can write to, new for each start of the job."""

    process = uuid4().hex

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, text: str) -> None:
        handle, name = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(self._path(key))  # a reader sees all of the text or none

    def peek(self, keys: Sequence[str]) -> list[str] | None:
        try:
            return [self._path(key).read_text(encoding="utf-8") for key in keys]
        except FileNotFoundError:
            return None

    def drop(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def count(self, name: str) -> int:
        path = self._path(name)
        before, process = path.read_text(encoding="utf-8").split() if path.exists() else ("0", self.process)
        if process != self.process:
            raise RankError(
                f"group={str(self._folder)!r}: an earlier start of the job has used this folder, and its messages "
                "would be taken for those of this one; give each start an empty folder, such as one named after its "
                "job id"
            )
        number = int(before) + 1
        path.write_text(f"{number} {process}", encoding="utf-8")
        return number

    def _path(self, key: str) -> Path:
        return self._folder / quote(key, safe="")


class ThreadStore:
    """A store for ranks that are threads of one process, as in tests."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def put(self, key: str, text: str) -> None:
        self._texts[key] = text

    def peek(self, keys: Sequence[str]) -> list[str] | None:
        texts = [self._texts.get(key) for key in keys]
        return None if None in texts else [text for text in texts if text is not None]

    def drop(self, key: str) -> None:
        self._texts.pop(key, None)

    def count(self, name: str) -> int:
        with self._lock:
            self._counts[name] += 1
            return self._counts[name]
