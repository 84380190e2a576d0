#!/usr/bin/env python3
"""Snapshots as pytorch#178670 would have written them into SQLite give the trace of their pickles; other databases,
and rows that make no sense, are refused in one sentence. Prints TAP.

    databases.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import json
import os
import pickle
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from command import FSDP, ROOT, SAMPLE, TESSERA, good  # noqa: E402
from limits import withstood  # noqa: E402
from tap import run_tests, test  # noqa: E402

SHARED = Path(os.environ.get("TESSERA_SHARED_DATA", "/nonexistent"))
#: The keys of a pickle that are columns.
TRACE = ("action", "addr", "size", "stream", "time_us", "frames", "device", "pool_id", "device_free")
SEGMENT = ("address", "total_size", "allocated_size", "active_size", "stream", "device", "segment_type", "segment_pool_id",
           "is_expandable", "frames")
BLOCK = ("address", "size", "requested_size", "state", "frames", "segment_id")


def plain(value):
    """As sqlite3 takes it: lists are JSON, numbers signed."""
    if isinstance(value, (list, tuple)):
        return json.dumps(value)
    return value - (1 << 64) if isinstance(value, int) and value >= 1 << 63 else value


def fill(base, table, columns, rows):
    """The columns that a row has: none is made of keys that no row has."""
    rows = list(rows)
    columns = [name for name in columns if any(name in row for row in rows)] if rows else columns
    base.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(columns)})")
    base.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                     ([plain(row.get(name)) for name in columns] for row in rows))


def write_database(path, snapshot):
    with closing(sqlite3.connect(path)) as base, base:
        fill(base, "device_traces", TRACE,
             (dict(entry, device=device) for device, entries in enumerate(snapshot["device_traces"]) for entry in entries))
        fill(base, "segments", SEGMENT, snapshot["segments"])
        fill(base, "blocks", BLOCK, (dict(block, segment_id=number) for number, segment in enumerate(snapshot["segments"], 1)
                                     for block in segment["blocks"]))
    return path


def load(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return pickle.load(file)


def write_pickle(path, snapshot):
    path.write_bytes(pickle.dumps(snapshot, 4))
    return path


def stacks(base):
    """Each as its frames, the innermost first."""
    texts = dict(base.execute("SELECT string_index, text FROM string"))
    frames = {index: (texts.get(name), texts.get(file), line)
              for index, name, file, line in base.execute("SELECT frame_index, name, file, line FROM frame")}
    nodes = {index: (caller, frames[frame]) for index, caller, frame in base.execute("SELECT * FROM stack_node")}
    found = {None: None}
    for index, node in base.execute("SELECT stack_index, node FROM stack"):
        found[index] = []
        while node is not None:
            node, frame = nodes[node]
            found[index].append(frame)
    return found


def tables(trace):
    """All that a trace says but the name of its source, stacks as frames: their numbers go by the order of reading."""
    with closing(sqlite3.connect(trace)) as base:
        base.row_factory = sqlite3.Row
        found = {}
        frames = stacks(base)
        for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if name not in ("string", "frame", "stack_node", "stack"):
                found[name] = [dict(row) for row in base.execute(f'SELECT * FROM "{name}"')]
                for row in found[name]:
                    row.pop("source", None)
                    if "stack" in row:
                        row["stack"] = frames[row["stack"]]
        return found


def imported(path):
    trace = path.with_suffix(".tsr")
    good("import", path, "-o", trace, "--force")
    return tables(trace)


def info(path):
    answer = json.loads(good("info", path, "--fast", "--json"))
    return {key: value for key, value in answer.items() if key not in ("file", "source")}


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert len(found[name]) == len(rows), f"{name}: {len(found[name])} rows, not {len(rows)}"
        for number, (a, b) in enumerate(zip(found[name], rows)):
            assert a == b, f"{name}, row {number}: {a}, not {b}"


def only(keys, of):
    return {key: value for key, value in of.items() if key in keys}


def reduced(snapshot):
    """What the tables have a place for."""
    return {"segments": [{**only(SEGMENT, segment), "blocks": [only(BLOCK, block) for block in segment["blocks"]]}
                         for segment in snapshot["segments"]],
            "device_traces": [[only(TRACE, entry) for entry in entries] for entries in snapshot["device_traces"]]}


def recorded(found):
    """What no setting of the allocator decides: those are not in the tables."""
    return {name: [row for row in found[name] if row.get("at_end", 1)]
            for name in ("event", "stream", "pool", "device", "segment", "held_block")}


def add_snapshot_test(path):
    def the_same_trace(tmp):
        snapshot = load(path)
        database = write_database(tmp / "s.db", snapshot)
        plain_file = write_pickle(tmp / "s.pickle", reduced(snapshot))
        before = database.read_bytes()
        found = imported(database)
        same(found, imported(plain_file))
        assert info(database) == info(plain_file)
        if not any("history" in block for segment in snapshot["segments"] for block in segment["blocks"]):  # of 2.0
            same(recorded(found), recorded(imported(write_pickle(tmp / "whole.pickle", snapshot))))
        assert database.read_bytes() == before
        assert {file.name for file in tmp.iterdir()} - {"s.pickle", "whole.pickle", "whole.tsr"} == {"s.db", "s.tsr"}

    the_same_trace.__name__ = f"the same trace: {path.name}"
    test(the_same_trace)


def frames(*lines):
    return json.dumps([{"filename": "a.py", "name": f"f{line}", "line": line} for line in lines])


def write(path, *statements):
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base, base:
        for statement in statements:
            base.execute(*statement) if isinstance(statement, tuple) else base.execute(statement)
    return path


#: The least that a history needs.
LEAST = ("CREATE TABLE device_traces (action, addr, size)",
         "INSERT INTO device_traces VALUES ('alloc', 4096, 512), ('free_requested', 4096, 512),"
         " ('free_completed', 4096, 512)")


@test
def few_columns_are_enough(tmp):
    entries = [{"action": action, "addr": 4096, "size": 512} for action in ("alloc", "free_requested", "free_completed")]
    expected = imported(write_pickle(tmp / "s.pickle", {"device_traces": [entries]}))
    same(imported(write(tmp / "s.db", *LEAST)), expected)
    same(imported(write(tmp / "wal.db", "PRAGMA journal_mode = WAL", *LEAST)), expected)
    same(imported(write(tmp / "utf16.db", "PRAGMA encoding = 'UTF-16'", *LEAST)), expected)
    same(imported(write(tmp / "columns.db", LEAST[0].replace("addr", "ADDRESS"),
                        "CREATE INDEX i ON device_traces (size, address, action)", LEAST[1])), expected)
    assert not list(tmp.glob("*-*")), list(tmp.iterdir())


@test
def what_lies_in_a_journal_is_read_along(tmp):
    """Of a program that still has the file open, or was killed."""
    with closing(sqlite3.connect(tmp / "open.db", isolation_level=None)) as base:
        for statement in ("PRAGMA journal_mode = WAL", *LEAST):
            base.execute(statement)
        for suffix in "", "-wal":
            (tmp / f"s.db{suffix}").write_bytes((tmp / f"open.db{suffix}").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp.glob("s.db*")}
    assert len(imported(tmp / "s.db")["event"]) == 3
    assert {path.name: path.read_bytes() for path in tmp.glob("s.db*")} == before and len(before) == 2


@test
def addresses_devices_and_pools_may_be_written_otherwise(tmp):
    stack = frames(3, 1)
    entries = [{"action": "alloc", "addr": (1 << 63) + 512, "size": 512, "stream": 7, "pool_id": (0, 3),
                "frames": json.loads(stack)}]
    segments = [{"device": 1, "address": 1 << 63, "total_size": 1 << 21, "stream": 7, "is_expandable": True,
                 "segment_pool_id": (0, 3), "blocks": [
                     {"address": (1 << 63) + 512, "size": 512, "requested_size": 512, "state": "active_allocated",
                      "frames": json.loads(stack)}]},
                {"device": 1, "address": 4096, "total_size": 512, "blocks": []}]
    expected = imported(write_pickle(tmp / "s.pickle", {"segments": segments, "device_traces": [[], entries]}))
    same(imported(write(
        tmp / "s.sqlite",
        "CREATE TABLE device_traces (id INTEGER PRIMARY KEY, device_id, action, addr TEXT, size, stream, pool_id, frames,"
        " note)",
        ("INSERT INTO device_traces VALUES (9, 1, 'alloc', '0x8000000000000200', 512, 7, '(0, 3)', ?, 'x')", (stack,)),
        "CREATE TABLE segments (segment_id TEXT, addr, total_size, stream, device_id, is_expandable, segment_pool_id)",
        f"INSERT INTO segments VALUES ('a', {-(1 << 63)}, 2097152, 7, 1, 1, '[0, 3]'),"
        " ('b', '4096', 512, NULL, 1, NULL, NULL)",
        "CREATE TABLE blocks (segment_id TEXT, address, size, requested_size, state, frames)",
        ("INSERT INTO blocks VALUES ('a', '9223372036854776320', 512, 512, 'active_allocated', ?)", (stack,)))), expected)


SEGMENTS = "CREATE TABLE segments (address, total_size)"
BLOCKS = "CREATE TABLE blocks (segment_id, size, state)"
STACKS = "CREATE TABLE device_traces (action, addr, size, frames)"
DEVICES = "CREATE TABLE device_traces (action, addr, size, device)"


def more(values):
    return f"INSERT INTO device_traces VALUES ({values})"


#: NAME: (statements, what the sentence says)
REFUSED = {
    "column": (["CREATE TABLE device_traces (action, addr)", more("'alloc', 1")],
               "(row 1 of device_traces) has no `size`"),
    "action": (["CREATE TABLE device_traces (addr, size)", more("1, 1")],
               "row 1 of table device_traces: it has no `action`"),
    "null": ([*LEAST, more("'alloc', NULL, 5")], "trace entry 3 of device 0 (row 4 of device_traces) has no `addr`"),
    "negative": ([*LEAST, more("'alloc', 1, -5")], "(row 4 of device_traces) has a number as `size`"),
    "huge": ([*LEAST, more("'alloc', 1, 1e300")], "(row 4 of device_traces) has a text as `size`"),
    "digits": ([*LEAST, more("'alloc', '99999999999999999999', 5")], "(row 4 of device_traces) has a text as `addr`"),
    "bytes": ([*LEAST, more("'alloc', 1, x'00ff'")], "(row 4 of device_traces) has a text as `size`"),
    "empty": ([*LEAST, more("'alloc', 1, x''")], "(row 4 of device_traces) has a text as `size`"),
    "end": ([*LEAST, more("'alloc', -1, 512")], "(row 4 of device_traces) has a number"),
    "device": ([DEVICES, more("'alloc', 1, 1, 4096")],
               "row 1 of table device_traces: no machine has its `device`"),
    "devices": ([DEVICES, more("'alloc', 1, 1, 'x'")],
                "no machine has its `device`"),
    "frames": ([STACKS, more("'alloc', 1, 1, '[{'")],
               "row 1 of table device_traces: its `frames` are no JSON"),
    "deep": ([STACKS,
              (more("'alloc', 1, 1, ?"), ("[" * 100000 + "]" * 100000,))], "its `frames` are no JSON"),
    "long": ([STACKS,
              (more("'alloc', 1, 1, ?"), ("[" + "{}," * 1500000 + "{}]",))], "table device_traces: string or blob too big"),
    "view": (["CREATE VIEW device_traces AS SELECT 'alloc' AS action, 1 AS addr, 1 AS size"],
             "table device_traces: it is a view, or a table without rowids"),
    "endless": ([*LEAST, "CREATE VIEW segments AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                         " SELECT i AS address, 1 AS total_size FROM n"],
                "table segments: it is a view, or a table without rowids"),
    "computed": (["CREATE TABLE device_traces (action, addr, size AS (length (hex (zeroblob (4000000)))))",
                  more("'alloc', 1")], "(row 1 of device_traces) has no `size`"),
    "without rowid": (["CREATE TABLE device_traces (id PRIMARY KEY, action, addr, size) WITHOUT ROWID"],
                      "table device_traces: it is a view, or a table without rowids"),
    "state": ([*LEAST, SEGMENTS, "INSERT INTO segments VALUES (4096, 512)",
               BLOCKS, "INSERT INTO blocks VALUES (1, 512, 'gone')"],
              "a block of the segment at 0x1000 (row 1 of blocks) has a text as `state`"),
    "total": ([*LEAST, SEGMENTS, "INSERT INTO segments VALUES (4096, NULL)"],
              "row 1 of table segments: it has no `total_size`"),
    "segment": ([*LEAST, SEGMENTS, BLOCKS,
                 "INSERT INTO blocks VALUES (1, 512, 'inactive')"], "table blocks has a `segment_id` that no segment has"),
    "no segment": ([*LEAST, "CREATE TABLE blocks (size, state)", "INSERT INTO blocks VALUES (512, 'inactive')"],
                   "row 1 of table blocks: it has no `segment_id`"),
    "default": (["CREATE TABLE device_traces (action, addr, size)",
                 "INSERT INTO device_traces SELECT 'alloc', 1, 1 FROM json_each ('[1,1,1,1,1,1,1,1]')",
                 f"ALTER TABLE device_traces ADD COLUMN category DEFAULT '{'x' * 100000}'"],
                "there is more text than the file can hold"),
    "other": (["CREATE TABLE bookmarks (url)"],
              "is an SQLite database of another program (application_id 0x00000000), not a Tessera trace; of PyTorch"),
}


@test
def what_makes_no_sense_is_refused_in_one_sentence(tmp):
    for name, (statements, words) in REFUSED.items():
        file = write(tmp / f"{name}.db", *statements)
        said = withstood([TESSERA, "import", file, "-o", tmp / "no.tsr"], names=(file,))
        assert said is not None and words in said, f"{name}: {said}"
    assert {file.suffix for file in tmp.iterdir()} == {".db"}, list(tmp.iterdir())


@test
def damaged_databases_are_refused_or_read(tmp):
    """Cut anywhere; bytes changed, from a fixed seed."""
    draw = random.Random(20261128)
    whole = write_database(tmp / "whole.db", {"segments": [], "device_traces": [
        [{"action": "alloc", "addr": 512 * i, "size": 512, "frames": json.loads(frames(i, 2, 3))}
         for i in range(1, 400)]]}).read_bytes()
    file = tmp / "damaged.db"
    for i in range(1, 40):
        file.write_bytes(whole[:len(whole) * i // 40])
        assert "is cut short" in withstood([TESSERA, "import", file, "-o", tmp / "no.tsr"], names=(file,)), i
    for _ in range(3000 if "TESSERA_TEST_LONG" in os.environ else 60):
        changed = bytearray(whole)
        for _ in range(draw.randrange(1, 20)):
            changed[draw.randrange(100, len(changed))] = draw.randrange(256)
        file.write_bytes(changed)
        withstood([TESSERA, "import", file, "-o", tmp / "t.tsr", "--force"], names=(file,))


paths = [SAMPLE, FSDP, *sorted((ROOT / "tests" / "snapshots").glob("*.pickle.gz"))]
for folder in "real", "pytorch-2.6", "jobs":
    paths += sorted((SHARED / "snapshots" / folder).glob("*.pickle*"))
for each in paths:
    add_snapshot_test(each)

if __name__ == "__main__":
    run_tests()
