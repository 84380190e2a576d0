#!/usr/bin/env python3
"""Makes a large snapshot out of a small one by repeating its trace.

repeat.py SNAPSHOT MEGABYTES OUT.pickle

Strings and frames are defined once and referred to; each captured stack is a list of its own,
shared by the entries of one call, in every copy: as in PyTorch's own files, so that the result
has the density of a real file of that size.

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import pickle
import struct
import sys


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a memory snapshot")


class Writer:
    def __init__(self):
        self.memo = {}
        self.next = 0

    def remember(self, key):
        self.memo[key] = self.next
        self.next += 1
        return b"r" + struct.pack("<I", self.memo[key])

    def text(self, value):
        if value in self.memo:
            return b"j" + struct.pack("<I", self.memo[value])
        data = value.encode()
        return b"X" + struct.pack("<I", len(data)) + data + self.remember(value)

    def number(self, value):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        data = value.to_bytes((value.bit_length() // 8) + 1, "little", signed=True)
        return b"\x8a" + bytes([len(data)]) + data

    def value(self, value):
        if isinstance(value, bool):
            return b"\x88" if value else b"\x89"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int):
            return self.number(value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.value, value)) + b"t"
        if isinstance(value, dict):
            return self.frame(value) if "filename" in value else self.items(value)
        if isinstance(value, list):
            return self.shared_list(value)
        raise TypeError(type(value))

    def items(self, value):
        return b"}(" + b"".join(self.text(k) + self.value(v) for k, v in value.items()) + b"u"

    def frame(self, value):
        key = ("frame", value["name"], value["filename"], value["line"])
        if key in self.memo:
            return b"j" + struct.pack("<I", self.memo[key])
        data = self.items(value)
        return data + self.remember(key)

    def forget_lists(self):
        self.memo = {k: v for k, v in self.memo.items() if isinstance(k, str) or k[0] != "list"}

    def shared_list(self, value):
        key = ("list", id(value))
        if key in self.memo:
            return b"j" + struct.pack("<I", self.memo[key])
        put = self.remember(key)
        return b"]" + put + b"(" + b"".join(map(self.value, value)) + b"e"


def main():
    source, megabytes, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with (gzip.open if source.endswith(".gz") else open)(source, "rb") as file:
        snapshot = Plain(file).load()
    traces = snapshot.pop("device_traces")
    writer = Writer()
    with open(target, "wb") as out:
        out.write(b"\x80\x04}(")
        for key, value in snapshot.items():
            out.write(writer.text(key) + writer.value(value))
        out.write(writer.text("device_traces") + b"](](")
        out.write(b"".join(map(writer.value, traces[0])) + b"e")
        writer.forget_lists()
        again = b"".join(map(writer.value, traces[0]))
        # The list is on the stack: further batches append to it.
        while out.tell() < megabytes * 1_000_000:
            out.write(b"(" + again + b"e")
        out.write(b"eu.")


main()
