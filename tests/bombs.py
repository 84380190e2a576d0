#!/usr/bin/env python3
"""Files that would fill the memory of whoever imports them: small ones that unpack to much, and pickles and
tables of which each byte makes many. The first are refused below 300 MiB, and what is taken stays within the
promise of 256 MiB and twelve times the plain bytes. Prints TAP.

    bombs.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from command import TESSERA  # noqa: E402
from limits import ended  # noqa: E402
from tap import run_tests, test  # noqa: E402

MIB = 1 << 20
PROTO = b"\x80\x04"


def key(text):
    """A text, remembered."""
    return b"\x8c" + bytes([len(text)]) + text.encode() + b"\x94"


# A snapshot up to its first entry; the keys of entries are 1 to 4 of the memo.
ENTRY = PROTO + b"}(" + key("device_traces") + b"](](}(" + key("action") + key("alloc") + key("addr") + b"K\1" + \
    key("size") + b"K\1u"
TEXT = b"\x8c\x14" + b"w" * 20
MORE = ENTRY + b"ee" + key("more")


def write(path, head, chunk, n_bytes, end=b""):
    """@n_bytes of @chunk again and again: never in memory, since the child's peak begins as ours."""
    open_it = gzip.open if path.suffix == ".gz" else open
    many = chunk * (MIB // len(chunk))
    with open_it(path, "wb") as file:
        file.write(head)
        for _ in range(n_bytes // len(many)):
            file.write(many)
        file.write(end)


def refuse(path, *words):
    status, said, held = ended([TESSERA, "import", path, "-o", path.with_suffix(".tsr")])
    assert status == 1 and len(said.strip().splitlines()) == 1, said
    for word in (path.name, *words):
        assert word in said, said
    assert held < 300 * MIB, f"{path.name}: held {held >> 20} MiB"


@test
def what_unpacks_to_much_is_refused(tmp):
    write(tmp / "memo.pickle.gz", PROTO + b"}", b"\x94", 64 * MIB)
    refuse(tmp / "memo.pickle.gz", "a pickle of other things")
    write(tmp / "texts.pickle.gz", MORE + b"]", b"(" + TEXT * 49 + b"e", 64 * MIB)
    refuse(tmp / "texts.pickle.gz", "cannot be read past byte", "more than 200 times its size")
    write(tmp / "rows.csv.gz", b"action,id,size_bytes\n", b"alloc,a,5\nfree,a,5\n", 64 * MIB)
    refuse(tmp / "rows.csv.gz", "more than 200 times its size")


@test
def what_piles_up_is_refused(tmp):
    for name, chunk in (("lists", b"]Naa"), ("none", b"(" + b"N" * 98 + b"e"), ("dicts", b"}NNsa"),
                        ("tuples", b"J\xff\xff\xff\xffK\1\x86a")):
        write(tmp / name, MORE + b"]", chunk, 48 * MIB)
        refuse(tmp / name, "more lists, dicts and values at once")
        (tmp / name).unlink()
    write(tmp / "entries", ENTRY, b"}(h\1h\2h\3K\1h\4K\1u", 48 * MIB, b"eeu.")
    refuse(tmp / "entries", "entries, segments, blocks and stacks in its first")


@test
def stacks_of_frames_of_two_bytes_are_refused(tmp):
    """Each of its own, of a hundred frames that are one of two."""
    frames = b"](" + b"}\x94(" + key("filename") + b"h\2" + key("line") + b"K\1" + key("name") + b"h\2u" + \
        b"}\x94(h\7h\2h\x08K\2h\x09h\2ue"
    with open(tmp / "stacks", "wb") as out:
        out.write(ENTRY + b"}(h\1h\2h\3K\2h\4K\1" + key("frames") + frames + b"u")
        for i in range(40_000):
            stack = b"".join(b"h\x0a" if i >> bit & 1 else b"h\6" for bit in range(100))
            out.write(b"}(h\1h\2h\3J" + struct.pack("<i", 512 * (i + 2)) + b"h\4K\1h\5](" + stack + b"eu")
        out.write(b"eeu.")
    refuse(tmp / "stacks", "entries, segments, blocks and stacks in its first")


@test
def what_is_no_snapshot_is_refused_at_its_first_mebibyte(tmp):
    write(tmp / "other", PROTO + b"}(" + key("weights") + b"]", b"(" + TEXT * 49 + b"e", 48 * MIB)
    refuse(tmp / "other", "is a pickle of other things, not a memory snapshot")


@test
def the_shortest_entries_are_taken_within_twelve_times_their_bytes(tmp):
    file = tmp / "short.pickle"
    n_entries = 1 << 20
    with open(file, "wb") as out:
        out.write(ENTRY)
        for first in range(0, n_entries, 4096):
            out.write(b"".join(b"}\x94(h\1h\2h\3J" + struct.pack("<I", (first + i + 1) * 512) + b"h\4J\0\2\0\0NNNNu"
                               for i in range(4096)))
        out.write(b"eeu.")
    status, said, held = ended([TESSERA, "import", file, "-o", tmp / "short.tsr"])
    assert status == 0, said
    assert held < 32 * MIB + 12 * file.stat().st_size, f"held {held >> 20} MiB of {file.stat().st_size >> 20}"


# The shortest rows for as much as a row can make (a block, one that is older than the table, three ranges), and how
# many of them are still taken.
TABLES = (("blocks", "id,lower,upper,size\n", ",0,1,1\n", 800_000),
          ("older", "action,id,size_bytes\n", "free,{:x},5\n", 760_000),
          ("ranges", "action,id,size_bytes,iteration,phase,module\n", "mark,,,{:x},a,a\n", 1_500_000))


@test
def tables_of_the_shortest_rows_are_refused_before_they_take_more(tmp):
    for name, head, row, n_rows in TABLES:
        file = tmp / f"{name}.csv"
        for n, is_taken in ((n_rows, True), (2 * n_rows, False)):
            with open(file, "w") as out:
                out.write(head)
                out.writelines(map(row.format, range(n)))
            # What is taken is written too: 4.5 million ranges are 14 s of a processor that has nothing else to do.
            status, said, held = ended([TESSERA, "import", file, "-o", tmp / "table.tsr"], seconds=60 if is_taken else 20)
            assert status == (0 if is_taken else 1), f"{name}: status {status}: {said}"
            assert is_taken or "rows as short as these take more memory" in said, said
            assert held < 256 * MIB + 12 * file.stat().st_size, f"{name}: held {held >> 20} MiB"


if __name__ == "__main__":
    run_tests()
