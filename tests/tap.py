# SPDX-License-Identifier: Apache-2.0
"""Tests that are functions of a folder: each is tried, the verdicts are printed as TAP."""

import signal
import sys
import tempfile
from pathlib import Path

# A shell's background job and nohup ignore these, and what a test starts would too: signals that tests
# send would then end nothing.
for number in signal.SIGINT, signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)

tests = []


def test(function):
    """A test; its name is its title. It fails by raising."""
    tests.append(function)
    return function


def holds(number, function, folder):
    title = function.__name__.replace("_", " ")
    try:
        function(folder)
    except Exception as problem:  # a test's failure is any exception
        print(f"not ok {number} - {title}", flush=True)
        for line in f"{type(problem).__name__}: {problem}"[:6000].splitlines():
            print(f"# {line}")
        return False
    print(f"ok {number} - {title}", flush=True)
    return True


def run_tests(one_folder=False):
    """Ends the program. Each test has a folder of its own, or, where each goes on from what
    the one before left behind, all have @one_folder."""
    print(f"1..{len(tests)}")
    with tempfile.TemporaryDirectory() as folder:
        failed = 0
        for number, function in enumerate(tests, 1):
            own = Path(folder).resolve()
            if not one_folder:
                own /= str(number)
                own.mkdir()
            failed += not holds(number, function, own)
    sys.exit(1 if failed else 0)
