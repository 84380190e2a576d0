# SPDX-License-Identifier: Apache-2.0
"""Changes of a file of Tessera's: each is one value, or one row, that is not what it was."""

import shutil
import sqlite3
from contextlib import closing

HUGE = "x" * (1 << 20)
# What a column is given, whatever it holds; the texts are SQL.
VALUES = ("-1", "0", "1", "2", "3", "255", "65535", "65536", "2147483648", "4294967295", "4294967296", "9223372036854775807",
          "-9223372036854775808", "1 << 50", "1 << 40", "NULL", "'text'", "x'00ff80'", "'\"'", ":huge", "9e999", "-0.5")
# ... and what is near to what it holds: of the new values these are believed most easily.
NEAR = ("{0} + 1", "{0} - 1", "{0} * 2", "{0} + 512", "{0} - 512", "{0} / 2", "{0} + (1 << 20)")
ROWS = ("delete", "delete all", "twice", "swap")


def tables(path):
    """{table: (its key, its columns)} of those that have rows. The key is what its rows are numbered by."""
    found = {}
    with closing(sqlite3.connect(path)) as base:
        for name, in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
            if base.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] == 0:
                continue
            columns = base.execute("SELECT name, pk FROM pragma_table_info(?)", (name,)).fetchall()
            keys = sorted((pk, column) for column, pk in columns if pk)
            found[name] = (keys[-1][1], [column for column, _ in columns])
    return found


def changes(path, wanted=None):
    """(table, column, what, which row) of all changes of the file; the last is 0: the first, 1: a middle, 2: the
    last one, 3: all."""
    listed = []
    for table, (_, columns) in tables(path).items():
        if wanted is not None and table not in wanted:
            continue
        for row in range(3):
            listed += [(table, None, what, row) for what in ROWS]
        for column in columns:
            listed += [(table, column, value, row) for value in VALUES + NEAR for row in range(4)]
    return listed


def _schema(base, find, replace, table):
    """What a table promises is loosened, or as before: SQLite itself would refuse what is not a number."""
    base.execute("PRAGMA writable_schema = ON")
    base.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?", (find, replace, table))
    base.commit()


def _key_of(base, table, key, row):
    keys = [value for value, in base.execute(f'SELECT "{key}" FROM "{table}" ORDER BY "{key}"')]
    return keys[(0, len(keys) // 2, -1)[row]]


def _change_rows(base, table, key, columns, what, row):
    at = _key_of(base, table, key, row)
    others = ", ".join(f'"{column}"' for column in columns if column != key)
    if what == "delete all":
        base.execute(f'DELETE FROM "{table}"')
    elif what == "delete":
        base.execute(f'DELETE FROM "{table}" WHERE "{key}" = ?', (at,))
    elif what == "twice":
        base.execute(f'INSERT INTO "{table}" ("{key}", {others}) SELECT (SELECT max("{key}") + 1 FROM "{table}"), {others} '
                     f'FROM "{table}" WHERE "{key}" = ? LIMIT 1', (at,))
    else:
        other = _key_of(base, table, key, 1 if row != 1 else 0)
        for old, new in ((at, -7), (other, at), (-7, other)):
            base.execute(f'UPDATE "{table}" SET "{key}" = ? WHERE "{key}" = ?', (new, old))


def _change_value(base, table, key, column, what, row):
    where = "" if row == 3 else f'WHERE "{key}" = :at'
    value = what.format(f'"{column}"')
    names = {"at": None if row == 3 else _key_of(base, table, key, row), "huge": HUGE}
    base.execute(f'UPDATE "{table}" SET "{column}" = {value} {where}', names)


def change(source, path, of):
    """A copy of @source at @path with one change. Returns: whether SQLite can hold it."""
    table, column, what, row = of
    shutil.copy(source, path)
    key, columns = tables(source)[table]
    with closing(sqlite3.connect(path)) as base:
        sql, = base.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        loose = sql.replace(" NOT NULL", "").replace("STRICT, ", "").replace("STRICT", "")
        _schema(base, sql, loose, table)
    try:
        with closing(sqlite3.connect(path)) as base:
            if column is None:
                _change_rows(base, table, key, columns, what, row)
            else:
                _change_value(base, table, key, column, what, row)
            base.commit()
    except sqlite3.Error:
        return False
    with closing(sqlite3.connect(path)) as base:
        _schema(base, loose, sql, table)
    return True
