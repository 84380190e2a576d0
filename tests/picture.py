#!/usr/bin/env python3
"""The viewer as a command that draws a picture of its window; needs a display, prints TAP.

    picture.py VIEWER SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import struct

from command import SAMPLE, run
from tap import run_tests, test


def draw(*arguments):
    """Status, and the viewer's own sentences: GTK may have others."""
    done = run(*arguments)
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("tessera-viewer: ")]


def size_of(picture):
    head = picture.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


@test
def a_file_is_drawn_at_the_scale_that_is_asked_for(tmp):
    snapshot = tmp / "s.pickle.gz"
    snapshot.write_bytes(SAMPLE.read_bytes())
    status, sentences = draw("--screenshot", tmp / "p.png", "--size", "1300x740", "--scale", "2", "--actions",
                             'win.side("groups")', snapshot)
    assert status == 0 and sentences == [], sentences
    assert size_of(tmp / "p.png") == (2600, 1480)
    assert not (tmp / "s.pickle.gz.edits.json").exists()


@test
def a_file_that_is_refused_is_told_and_drawn(tmp):
    (tmp / "junk.pickle").write_text("junk")
    status, sentences = draw("--screenshot", tmp / "p.png", "--actions", "win.fit,win.table", tmp / "junk.pickle")
    assert status == 1 and len(sentences) == 1, sentences
    assert str(tmp / "junk.pickle") in sentences[0] and "columns" in sentences[0]
    assert size_of(tmp / "p.png")[0] > 0


@test
def what_cannot_be_written_or_done_is_told(tmp):
    snapshot = tmp / "s.pickle.gz"
    snapshot.write_bytes(SAMPLE.read_bytes())
    status, sentences = draw("--screenshot", tmp / "none" / "p.png", snapshot)
    assert status == 1 and sentences == [f"tessera-viewer: {tmp}/none/p.png could not be written."], sentences
    status, sentences = draw("--screenshot", tmp / "p.png", "--actions", "win.dance", snapshot)
    assert sentences == ["tessera-viewer: there is no action win.dance."], sentences


run_tests()
