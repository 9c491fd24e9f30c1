"""Files of SQLite: local ones and copies of those at URLs, with their logs and journals."""

from __future__ import annotations

import gc
import pickle
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from penstock import Options
from penstock.core.errors import CacheWarning, DataError, PlanError
from penstock.dataset.readers.tables import read_sql

COUNT = 230


@pytest.fixture
def path(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("CREATE TABLE dense (id INTEGER PRIMARY KEY, x REAL)")
        db.executemany("INSERT INTO dense VALUES (?, ?)", [(i, i / 4) for i in range(COUNT)])
    return tmp_path / "a.db"


def source_of(ds):
    return ds._plan.source


@pytest.fixture
def url(path, tmp_path, monkeypatch):
    """The database in a store in memory; a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe_file("/databases/a.db", path.read_bytes())
    return "memory://databases/a.db"


def test_a_file_at_a_url_is_copied_for_as_long_as_it_is_read(path, url, tmp_path):
    def copies():
        return len(list(tmp_path.glob("cache/penstock/penstock-copy-*/copy")))

    given = {"storage_options": {"cache_bytes": 0}}
    ds = read_sql(url, "dense", key="id", rows_per_block=9, **given)
    assert ds.fingerprint() == read_sql(path, "dense", key="id", rows_per_block=9).fingerprint()
    assert len(list(ds.shuffle(seed=1).with_options(Options(executor="threads", workers=3)))) == COUNT
    assert copies() == 1
    again = pickle.loads(pickle.dumps(source_of(ds)))
    assert again.read_many(np.array([3])).elements()[0]["id"] == 3
    assert copies() == 2  # of another process, usually
    del ds, again
    gc.collect()
    assert copies() == 0


def test_a_cache_notices_another_database_at_the_url(url, tmp_path):
    given = {"storage_options": {"cache_bytes": 0}}

    def total():
        ds = read_sql(url, "dense", key="id", columns=["x"], **given).map(lambda row: row["x"])
        return sum(ds.cache(tmp_path / "kept"))

    first = total()
    store = __import__("fsspec").filesystem("memory")
    (tmp_path / "new.db").write_bytes(store.cat_file("/databases/a.db"))
    with sqlite3.connect(tmp_path / "new.db") as db:
        db.execute("UPDATE dense SET x = x + 1")
    db.close()
    store.pipe_file("/databases/a.db", (tmp_path / "new.db").read_bytes())
    with pytest.warns(CacheWarning, match="memory://databases/a.db"):
        assert total() == first + COUNT


def test_the_log_of_a_database_in_wal_mode_is_read_with_it(path, url, tmp_path):
    store = __import__("fsspec").filesystem("memory")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        with db:
            db.execute("UPDATE dense SET x = x + 1")
        store.pipe_file("/databases/a.db", path.read_bytes())
        store.pipe_file("/databases/a.db-wal", (path.parent / f"{path.name}-wal").read_bytes())
        expected = list(read_sql(path, "dense", key="id"))
    given = {"storage_options": {"cache_bytes": 0}}
    ds = read_sql(url, "dense", key="id", **given)
    assert list(map(repr, ds)) == list(map(repr, expected))
    assert list(map(repr, pickle.loads(pickle.dumps(source_of(ds))).read_many(np.arange(3)).elements())) == list(
        map(repr, expected[:3])
    )
    store.rm("/databases/a.db-wal")
    with pytest.raises(sqlite3.OperationalError) as caught:
        read_sql(url, "nothing", key="id", **given)
    assert caught.value.__notes__[-1].endswith("it is in WAL mode, and there is no memory://databases/a.db-wal")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.pipe_file("/databases/a.db", path.read_bytes())
    assert list(map(repr, read_sql(url, "dense", key="id", **given))) == list(map(repr, expected))


@pytest.fixture
def unfinished(path, tmp_path):
    """A copy of the database in the middle of a transaction, with its journal."""
    copy = tmp_path / "copied" / "a.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size=1")  # so that pages are written before the end
        db.execute("BEGIN")
        db.execute("UPDATE dense SET x = -1")
        db.executemany("INSERT INTO dense VALUES (?, -1)", [(i,) for i in range(COUNT, 9000)])
        for ending in ("", "-journal"):
            shutil.copy(f"{path}{ending}", f"{copy}{ending}")
        db.execute("ROLLBACK")
    return copy


def test_a_transaction_that_did_not_end_is_refused_until_it_is_rolled_back(unfinished):
    with pytest.raises(DataError, match=rf"{unfinished}-journal has .* `sqlite3 {unfinished} 'pragma quick_check'`"):
        read_sql(unfinished, "dense", key="id")
    with closing(sqlite3.connect(unfinished)) as db:
        db.execute("PRAGMA quick_check").fetchall()
    assert len(read_sql(unfinished, "dense", key="id")) == COUNT


def test_a_transaction_that_lasts_is_not_read(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM dense")
        assert path.with_name("a.db-journal").exists()
        assert len(read_sql(path, "dense", key="id")) == COUNT


def test_a_transaction_that_did_not_end_is_refused_at_a_url(unfinished, url):
    given = {"storage_options": {"cache_bytes": 0}}
    store = __import__("fsspec").filesystem("memory")
    store.pipe_file("/databases/a.db", unfinished.read_bytes())
    journal = unfinished.with_name("a.db-journal").read_bytes()
    store.pipe_file("/databases/a.db-journal", journal)
    with pytest.raises(DataError, match=r"memory://databases/a\.db-journal has what is to be rolled back"):
        read_sql(url, "dense", key="id", **given)
    with closing(sqlite3.connect(unfinished)) as db:
        db.execute("PRAGMA quick_check").fetchall()
    store.pipe_file("/databases/a.db", unfinished.read_bytes())
    for ended in (b"", bytes(28) + journal[28:]):  # as the modes TRUNCATE and PERSIST leave it
        store.pipe_file("/databases/a.db-journal", ended)
        assert len(read_sql(url, "dense", key="id", **given)) == COUNT
    store.rm("/databases/a.db-journal")


@pytest.mark.parametrize("at", ["folder", "url"])
def test_a_pattern_is_for_one_database(at, path, url, tmp_path):
    shutil.copy(path, tmp_path / "b.db")
    store = __import__("fsspec").filesystem("memory")
    store.pipe_file("/databases/b.db", path.read_bytes())
    pattern = str(tmp_path / "*.db") if at == "folder" else "memory://databases/*.db"
    with pytest.raises(PlanError, match=r"matches 2 files \(.*a\.db, .*b\.db\); give one database"):
        read_sql(pattern, "dense", key="id")
    store.rm("/databases/b.db")
    (tmp_path / "b.db").unlink()
    assert len(read_sql(pattern, "dense", key="id")) == COUNT
