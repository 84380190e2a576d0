# SPDX-License-Identifier: Apache-2.0
"""Runs a command that is given something hostile: it must end in time, within memory, with a status
that says what happened and, where it refuses, with one sentence."""

import os
import resource
import subprocess
import tempfile

SECONDS = 20
MOST_BYTES = 2 << 30
# A sanitizer ends the process at its first finding; memory that is not there is a NULL.
ENVIRONMENT = dict(
    os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1", G_DEBUG="fatal-criticals",
    ASAN_OPTIONS=f"allocator_may_return_null=1:hard_rss_limit_mb={MOST_BYTES >> 20}:detect_leaks=1")


def ended(command, cwd=None, environment=ENVIRONMENT, seconds=SECONDS):
    """Status, stderr and the most memory that it held. It is killed after @seconds of a processor."""
    def bounded():
        """In the child, which leaves no core files."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    command = [str(part) for part in command]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd=cwd,
                                   env=environment, preexec_fn=bounded)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read().decode("utf-8", "replace"), used.ru_maxrss << 10


def withstood(command, names=(), may_be_silent=False, **kwargs):
    """Status 0, or 1 and one sentence that holds one of @names (none where what it printed says why and it
    @may_be_silent); else it raises. Returns the sentence, or None."""
    status, said, held = ended(command, **kwargs)
    where = " ".join(map(str, command))
    assert status in (0, 1), f"{where}: status {status}: {said[-3000:]}"
    assert held <= MOST_BYTES, f"{where}: held {held} bytes"
    for word in ("WARNING", "CRITICAL", "Sanitizer", "runtime error"):
        assert word not in said, f"{where}: {said[-3000:]}"
    if status == 0:
        return None
    lines = said.strip().splitlines()
    if may_be_silent and not lines:
        return ""
    assert len(lines) == 1 and len(lines[0]) < 2000, f"{where}: expected one sentence, got {said[:3000]!r}"
    assert not names or any(str(name) in lines[0] for name in names), f"{where}: {lines[0]!r} names none of {names}"
    return lines[0]
