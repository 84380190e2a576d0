"""A stand-in for the library that writes down what it is told, one word an event.

    step 0, step -1       a step begins, none begins
    >forward, <           a phase begins, ends
    (b.0, )               a module begins, ends

SPDX-License-Identifier: Apache-2.0
"""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["TESSERA_SOURCE_ROOT"]) / "python"))

import tessera
from tessera.session import Session


class Told:
    def __init__(self):
        self.words = []
        self.find = None
        self.repeats = []  # what is said of the coming steps; then all repeat

    def step(self, number):
        self.words.append(f"step {number}")

    def step_repeats(self):
        return self.repeats.pop(0) if self.repeats else True

    def note(self, key, value):
        pass

    def phase_begin(self, name):
        self.words.append(">" + name)

    def phase_end(self):
        self.words.append("<")

    def module_begin(self, address):
        import ctypes

        self.words.append("(" + ctypes.string_at(address).decode())

    def module_end(self):
        self.words.append(")")

    def set_module_finder(self, find):
        self.find = find

    def asked(self):
        """The module that the library would note for an allocation on this thread."""
        import ctypes

        address = self.find() if self.find else None
        return ctypes.string_at(address).decode() if address else None


def watch(program, has_modules=False, stop_after=None, options=None):
    """Runs @program(told) under the hooks. Returns what they told."""
    told = Told()
    session = Session({"record": "none", **(options or {})}, has_modules, stop_after)
    session.install_hooks()
    session.attach(told)
    tessera._session = session
    try:
        program(told)
    except tessera.Finished:
        told.words.append("finished")
    finally:
        tessera._session = None
        session.close()
        session.remove_hooks()
    return told.words


_failures = 0


def expect(name, found, wanted):
    """Compares two sequences of words; @wanted may be text, cut at commas."""
    global _failures
    if isinstance(wanted, str):
        wanted = [word.strip() for word in wanted.split(",") if word.strip()]
    if list(found) == list(wanted):
        print(f"ok - {name}")
        return
    _failures += 1
    at = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
    print(f"not ok - {name}: word {at} of {len(found)}, {len(wanted)} wanted")
    print("  found :", " ".join(map(str, found[max(0, at - 5) : at + 10])))
    print("  wanted:", " ".join(map(str, wanted[max(0, at - 5) : at + 10])))


def finish():
    sys.exit(1 if _failures else 0)
