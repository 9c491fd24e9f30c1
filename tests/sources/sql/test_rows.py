"""Rows of a database, selected by ranges of a key, with every driver."""

from __future__ import annotations

import gc
import sqlite3
import sys
import threading
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Options
from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_sql
from penstock.sources.sql.rows import Connections, SqlDialect
from penstock.testing.laws import verify_determinism
from penstock.testing.sources import verify_source

COUNT = 230


@pytest.fixture
def path(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("CREATE TABLE dense (id INTEGER PRIMARY KEY, x REAL, name TEXT, raw BLOB)")
        rows = [(i, i / 4, f"n{i}'\"é", bytes([i])) for i in range(COUNT)]
        db.executemany("INSERT INTO dense VALUES (?, ?, ?, ?)", rows)
        db.execute('CREATE TABLE "odd ""table""" ("the key%" TEXT, "{} select" INT)')
        odd = [(f"k{i * i:06}", i) for i in range(COUNT)]
        db.executemany('INSERT INTO "odd ""table""" VALUES (?, ?)', odd[::-1])
        db.execute("CREATE TABLE holes (id INT, x INT)")
        db.executemany("INSERT INTO holes VALUES (?, ?)", [(1, 5), (2, None), (3, 7)])
    db.close()
    return tmp_path / "a.db"


def source_of(ds):
    return ds._plan.source


@pytest.mark.parametrize("relation", ["dense", "SELECT * FROM dense WHERE id % 3 <> 1;"])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_tables_and_queries_pass_the_conformance_checks(path, relation, rows):
    ds = read_sql(path, relation, key="id", rows_per_block=rows)
    if rows == 7:
        verify_source(source_of(ds))
    ids = [i for i in range(COUNT) if relation == "dense" or i % 3 != 1]
    assert [(row["id"], row["x"], row["name"], row["raw"]) for row in ds] == [
        (i, i / 4, f"n{i}'\"é", bytes([i])) for i in ids
    ]


def test_names_with_any_characters_are_quoted_and_keys_may_be_text(path):
    query = 'SELECT * FROM "odd ""table"""'
    ds = read_sql(f"sqlite:///{path}", query, key="the key%", columns=["{} select"], rows_per_block=9)
    assert [row["{} select"] for row in ds] == list(range(COUNT))
    assert source_of(ds).store.edges[1] == "k000081"


@given(keys=st.sets(st.integers(-1000, 1000), max_size=60), rows=st.integers(1, 70), data=st.data())
def test_rows_are_in_the_order_of_the_key(tmp_path_factory, keys, rows, data):
    path = tmp_path_factory.mktemp("sql") / "a.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (k INT)")
        db.executemany("INSERT INTO t VALUES (?)", [(key,) for key in keys])
    db.close()
    ds = read_sql(path, "t", key="k", rows_per_block=rows)
    assert [row["k"] for row in ds] == sorted(keys)
    if keys:
        wanted = np.array(data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=20)), np.int64)
        made = source_of(ds).read_many(wanted).elements()
        assert [row["k"] for row in made] == [sorted(keys)[row] for row in wanted]


class Formatted:
    """A driver that wants `%(p1)s`, over SQLite."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, check_same_thread=False)
        self.seen = []

    def cursor(self):
        return FormattedCursor(self.db.cursor(), self.seen)

    def rollback(self):
        self.db.rollback()

    def close(self):
        self.db.close()


class FormattedCursor:
    def __init__(self, cursor, seen):
        self.cursor, self.seen = cursor, seen

    def execute(self, statement, values=None):
        self.seen.append((statement, values))
        if values is None:
            return self.cursor.execute(statement)
        return self.cursor.execute(statement % {name: f":{name}" for name in values}, values)

    def __getattr__(self, name):
        return getattr(self.cursor, name)


def test_drivers_that_format_get_escaped_percent_signs(path, monkeypatch):
    module = ModuleType("driver")
    module.paramstyle = "pyformat"
    monkeypatch.setitem(sys.modules, "driver", module)
    monkeypatch.setattr(Formatted, "__module__", "driver.connections")
    made = []

    def connect():
        made.append(Formatted(path))
        return made[-1]

    ds = read_sql(connect, "SELECT * FROM dense WHERE id % 3 <> 1 AND name LIKE 'n%'", key="id", rows_per_block=50)
    assert [row["id"] for row in ds] == [i for i in range(COUNT) if i % 3 != 1]
    statement, values = made[0].seen[-1] if made[0].seen[-1][1] else made[-1].seen[-1]
    assert "%(p1)s" in statement
    assert "LIKE 'n%%'" in statement
    assert set(values) == {"p1", "p2"}
    for connection in made:
        connection.close()


@pytest.mark.parametrize(
    ("style", "where", "values"),
    [
        ("qmark", '"k" >= ? AND "k" <= ?', (1, 2)),
        ("numeric", '"k" >= :1 AND "k" <= :2', (1, 2)),
        ("named", '"k" >= :p1 AND "k" <= :p2', {"p1": 1, "p2": 2}),
        ("format", '"k" >= %s AND "k" <= %s', (1, 2)),
        ("pyformat", '"k" >= %(p1)s AND "k" <= %(p2)s', {"p1": 1, "p2": 2}),
    ],
)
def test_every_paramstyle_is_supported(style, where, values):
    made, passed = SqlDialect('"', style).between("SELECT", '"k"', [1, 2], closed=True)
    assert made == f'SELECT WHERE {where} ORDER BY "k"'
    assert passed == values


def test_each_thread_has_a_connection_that_is_closed_at_the_end(path):
    opened, closed, lock = [], [], threading.Lock()

    class Watched(sqlite3.Connection):
        def close(self):
            closed.append(self)
            super().close()

    def connect():
        with lock:
            opened.append(sqlite3.connect(path, factory=Watched, check_same_thread=False))
            return opened[-1]

    def use(connections):
        threads = [threading.Thread(target=lambda: list(connections.fetched("SELECT 1"))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(connections.fetched("SELECT 2")) == [[(2,)]]
        assert len(set(map(id, opened))) == 4

    use(Connections(connect))
    gc.collect()
    assert set(map(id, closed)) == set(map(id, opened))


def test_shuffled_batches_are_the_same_by_threads(path):
    ds = read_sql(path, "dense", key="id", rows_per_block=16, cache_bytes=5000).shuffle(seed=1)
    assert "blocks of about 15 rows" in ds.explain()
    verify_determinism(ds.batch(8))
    batches = ds.batch(8).with_options(Options(executor="threads", workers=3))
    assert sorted(i for batch in batches for i in batch["id"].tolist()) == list(range(COUNT))


def test_invalid_keys_are_refused(path):
    with pytest.raises(PlanError, match="no column 'nothing'; it has 'id', 'x'"):
        read_sql(path, "dense", key="nothing")
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO holes VALUES (3, 8), (NULL, 9)")
    db.close()
    with pytest.raises(DataError, match="the key 'id' is NULL in 1 rows"):
        read_sql(path, "holes", key="id")
    with pytest.raises(DataError, match="1 rows have the same 'id' as another"):
        read_sql(path, "SELECT * FROM holes WHERE id IS NOT NULL", key="id")


def test_missing_values_are_named_or_filled(path):
    with pytest.raises(DataError, match="column x is NULL in row 1; pass nulls="):
        list(read_sql(path, "holes", key="id"))
    assert [row["x"] for row in read_sql(path, "holes", key="id", nulls={"x": -1})] == [5, -1, 7]
    with pytest.raises(ValueError, match="expected 'raise' or a dict"):
        read_sql(path, "holes", key="id", nulls="drop")


def test_added_or_removed_rows_are_an_error(path):
    ds = read_sql(path, "dense", key="id")
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM dense WHERE id = 7")
    db.close()
    with pytest.raises(DataError, match="229 rows found with id from 0 to 229, and 230"):
        list(ds)


def test_wrong_arguments_are_refused_at_once(path):
    with pytest.raises(TypeError, match="a function that returns a connection"):
        read_sql(sqlite3, "dense", key="id")
    with pytest.raises(FileNotFoundError):
        read_sql(path.parent / "nothing.db", "dense", key="id")

    @dataclass
    class Unknown:
        db: sqlite3.Connection

        def cursor(self):
            return self.db.cursor()

        def close(self):
            self.db.close()

    with pytest.raises(PlanError, match="pass paramstyle="):
        read_sql(lambda: Unknown(sqlite3.connect(path)), "dense", key="id")


def test_errors_of_the_database_say_of_which_file(path, tmp_path):
    (tmp_path / "text.db").write_bytes(b"no database " * 99)
    for file, table in ((path, "nothing"), (tmp_path / "text.db", "dense")):
        with pytest.raises(sqlite3.DatabaseError) as caught:
            read_sql(file, table, key="id")
        assert f"read_sql('{table}'): the database {file} cannot answer" in caught.value.__notes__[-1]


def test_an_empty_table_is_an_empty_dataset(path):
    ds = read_sql(path, "SELECT * FROM dense WHERE id < 0", key="id")
    assert (len(ds), list(ds.batch(3))) == (0, [])


@pytest.mark.parametrize("server", ["postgresql://me:secret@host/db", "mysql+pymysql://me:secret@host/db"])
def test_urls_of_servers_are_for_a_function(server):
    with pytest.raises(PlanError, match="database server; pass a function that connects") as caught:
        read_sql(server, "t", key="id")
    assert "secret" not in str(caught.value)
