#!/usr/bin/env python3
"""Python stacks, recorded by the library in this very interpreter and read from the trace.

stack-test.py SHIM: SHIM is tests/recorder/stack-shim.c as a shared library. Prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import functools
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading

SHIM = sys.argv[1]
MOST_FRAMES = 256

shim = ctypes.CDLL(SHIM)  # lets go of the interpreter's lock during calls, as PyTorch does
locked = ctypes.PyDLL(SHIM)  # does not
shim.shim_stack_ns.restype = ctypes.c_double
for name in ("shim_event", "shim_event_without_python", "shim_event_while_raising"):
    getattr(shim, name).argtypes = getattr(locked, name).argtypes = [ctypes.c_uint64]


def stacks(path):
    """{size of event: [(function, file, line) ...] innermost first}; no stack: none."""
    db = sqlite3.connect(path)
    found = {size: [] for (size,) in db.execute("SELECT size_bytes FROM event")}
    rows = db.execute("SELECT size_bytes, function, file, line FROM event JOIN stack_frame USING (stack)"
                      " ORDER BY event_index, depth")
    for size, *frame in rows:
        found[size].append(tuple(frame))
    db.close()
    return found


def recorded(work):
    """What @work records, as stacks() gives it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stacks.tsr")
        assert shim.shim_open(path.encode()) == 0
        try:
            work()
        finally:
            shim.shim_close()
        assert os.listdir(folder) == ["stacks.tsr"]
        return stacks(path)


class Layer:
    def forward(self, call, size):
        call(size)  # the line that is looked for
        return sys._getframe().f_lineno - 1


def functions(stack):
    return [function for function, file, line in stack]


def expect(stack, inner, line):
    name = "Layer.forward" if sys.version_info >= (3, 11) else "forward"
    assert functions(stack)[:2] == [name, inner], stack
    assert stack[0][1:] == (__file__, line), stack[0]
    assert functions(stack)[-1] in ("<module>", "Thread._bootstrap", "_bootstrap"), stack


def test_frames():
    """functions, files and lines, with and without the interpreter's lock"""
    lines = []

    def inner():
        lines.append(Layer().forward(shim.shim_event, 1))
        lines.append(Layer().forward(locked.shim_event, 2))

    found = recorded(inner)
    inner_name = functions(found[1])[1]
    assert inner_name.endswith("inner"), inner_name
    expect(found[1], inner_name, lines[0])
    expect(found[2], inner_name, lines[1])


def test_left_out():
    """no lines of Tessera's own package"""
    around = {}
    for folder in ("/home/me/python", "/env/lib/python3.11/site-packages"):
        code = compile("def call(function, *arguments):\n    return function(*arguments)", f"{folder}/tessera/routed.py", "exec")
        exec(code, around)
        ask = functools.partial(around["call"], shim.shim_event)
        found = recorded(lambda: around["call"](Layer().forward, ask, 1))
        files = {file for _, file, _ in found[1]}
        assert files and __file__ in files and not any("/tessera/routed.py" in file for file in files), found[1]
        assert functions(found[1])[0].endswith("forward"), found[1]


def test_threads():
    """a thread of Python has its own stack, one without Python has none"""
    lines = []

    def run():
        lines.append(Layer().forward(shim.shim_event, 1))

    def work():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        shim.shim_event_without_python(2)

    found = recorded(work)
    expect(found[1], functions(found[1])[1], lines[0])
    assert not any("work" in function for function in functions(found[1]))
    assert found[2] == []


def test_deep():
    """of a deep stack the innermost frames"""

    def dive(depth):
        if depth == 0:
            shim.shim_event(1)
        else:
            dive(depth - 1)

    found = recorded(lambda: dive(2 * MOST_FRAMES))
    assert len(found[1]) == MOST_FRAMES
    assert all(function.endswith("dive") for function in functions(found[1]))


def test_code_that_goes():
    """code that is made, run and dropped is never taken for other code"""

    def work():
        for number in range(1, 500):
            place = {"shim": shim}
            exec(f"def made_{number}(): shim.shim_event({number})\nmade_{number}()", place)

    found = recorded(work)
    assert [functions(found[number])[0] for number in range(1, 500)] == [
        f"made_{number}" for number in range(1, 500)]


def test_exception():
    """an exception on its way stays on its way"""

    def work():
        try:
            locked.shim_event_while_raising(1)
        except LookupError as error:
            assert str(error) == "on its way"
        else:
            raise AssertionError("the exception got lost")

    assert len(recorded(work)[1]) > 1


def run_other(script):
    """@script in an interpreter of its own, and what it recorded."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "other.tsr")
        head = (f"import ctypes, threading\nshim = ctypes.CDLL({SHIM!r})\n"
                f"assert shim.shim_open({path!r}.encode()) == 0\n")
        subprocess.run([sys.executable, "-c", head + script], check=True, timeout=60)
        return stacks(path)


def test_exit():
    """when the interpreter is gone there are events, without stacks"""
    found = run_other("shim.shim_close_after_python()\nshim.shim_event(1)\n")
    assert functions(found[1]) == ["<module>"]
    assert found[999] == []


def test_exit_meanwhile():
    """threads that record while the interpreter ends do not hold it up"""
    found = run_other("def run():\n"
                      "    while True: shim.shim_event(7)\n"
                      "for i in range(3): threading.Thread(target=run, daemon=True).start()\n"
                      "import time; time.sleep(0.2)\n"
                      "assert shim.shim_flush() == 0\n")  # nobody closes: what comes later may be lost
    assert functions(found[7])[:2] == ["run", "Thread.run" if sys.version_info >= (3, 11) else "run"]


def test_cost():
    """what a stack of 20 frames costs (a figure, not a verdict)"""
    figures = []

    def dive(depth):
        if depth:
            dive(depth - 1)
        else:
            shim.shim_stack_ns(1000)
            figures.append(shim.shim_stack_ns(20000))

    def work():
        dive(20 - len_now() - 1)

    def len_now():
        frame, depth = sys._getframe(1), 0
        while frame:
            frame, depth = frame.f_back, depth + 1
        return depth

    recorded(work)
    print(f"# {figures[0]:.0f} ns")


def main():
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__doc__}", flush=True)
        except Exception as error:  # every test is to run
            failed += 1
            print(f"not ok {number} - {test.__doc__}\n# {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


sys.exit(main())
