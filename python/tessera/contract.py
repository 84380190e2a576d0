# SPDX-License-Identifier: Apache-2.0
"""Whether a dry run's program keeps PyTorch's contract of streams, as a plan needs it.

A plan may hand memory from stream to stream as soon as it is free. That is safe where the
allocation of a block counts as a write on its stream: a use on another stream comes behind it,
by an event, a wait or a host that synchronised. PyTorch itself forgives a wait that was taken
before the allocation. The free counts as well, but is judged as PyTorch does: when the block's
own stream is given the address again, uses elsewhere lie behind or were recorded on their streams.

PyTorch's stream sanitizer (torch.cuda._sanitizer) keeps a clock for each stream. Operations are
seen by watching.py, from the moment on at which the program has a second stream.

Only what is surely wrong is said. Blocks that were made where nobody saw it (by autograd's own
nodes, in another thread) are not judged, nor are streams that PyTorch did not make. A stream is not
ordered behind what was asked for before it was made, so that is judged as well: it counts as
asked for at the very beginning, when any later wait orders a stream behind it.
"""

import gc
import os
import sys
from typing import Any, Dict, Optional, Set, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import streams
from .lacking import is_the_programs, shown
from .library import Library
from .say import say
from .session import before_end

Place = Optional[Tuple[str, int]]

#: What was there before the second stream was.
_FIRST = 1
_DEFAULT_STREAM = 0
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Block:
    """Memory of one storage, since it was asked for."""

    __slots__ = ("weak", "addr", "stream", "born", "place", "uses", "is_recorded")

    def __init__(self, storage: Any, stream: int, born: int, place: Place) -> None:
        self.weak = StorageWeakRef(storage)  # while it is kept, no other storage has this one's number
        self.addr: int = storage.data_ptr()
        self.stream, self.born, self.place = stream, born, place
        self.uses: Dict[int, Tuple[int, Place]] = {}  # by other streams: the last
        self.is_recorded = False


class Contract:
    """@handler: the sanitizer's, whose numbers of operations and clocks are used."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self.syncs = handler.syncs
        self._handler.seq_num = max(_FIRST, handler.seq_num)
        self.syncs.update_seq_num(_DEFAULT_STREAM, _FIRST)
        self.made: Set[int] = set()  # streams that PyTorch made
        self.why_not = ""
        self._blocks: Dict[int, Block] = {}  # by storage
        self._by_addr: Dict[int, Block] = {}
        self._most_blocks = 1000
        self._is_programs: Dict[str, bool] = {}
        self._streams: Set[int] = set()
        self._n_uses = self._n_elsewhere = self._n_unknown = self.n_collectives = 0
        self._broken: Dict[Tuple[str, Place, Place], int] = {}

    def begin(self) -> None:
        """What is there already, on the only stream until now."""
        for thing in gc.get_objects():
            if type(thing) in _PLAIN and thing.is_cuda and thing.layout == torch.strided:
                storage = thing.untyped_storage()
                if storage.data_ptr() and storage._cdata not in self._blocks:
                    self._add(storage._cdata, Block(storage, _DEFAULT_STREAM, _FIRST, None))

    def place(self) -> Place:
        """The line of the program; of a library where none of the program's is at work."""
        frame: Any = sys._getframe(1)
        nearest: Place = None
        while frame is not None:
            file = frame.f_code.co_filename
            is_programs = self._is_programs.get(file)
            if is_programs is None:
                is_programs = self._is_programs[file] = file[:1] != "<" and is_the_programs(file)
            if is_programs:
                return (file, frame.f_lineno)
            if nearest is None and not file.startswith(_PACKAGE) and not file.endswith("/torch/_ops.py"):
                nearest = (file, frame.f_lineno)
            frame = frame.f_back
        return nearest

    def launch(self, stream: int) -> int:
        """The number of an operation that is on @stream now."""
        self._handler.seq_num += 1
        self.syncs.update_seq_num(stream, self._handler.seq_num)
        return int(self._handler.seq_num)

    def _is_behind(self, stream: int, number: int, other: int) -> bool:
        return bool(self.syncs.is_ordered_after(stream, number, other))

    def _add(self, key: int, block: Block) -> None:
        if len(self._blocks) >= self._most_blocks:
            live = {k: b for k, b in list(self._blocks.items()) if not b.weak.expired()}
            self._by_addr = {a: b for a, b in list(self._by_addr.items()) if b.uses or not b.weak.expired()}
            self._blocks, self._most_blocks = live, 2 * len(live) + 1000
        self._blocks[key] = self._by_addr[block.addr] = block

    def born(self, storage: Any, stream: int, number: int) -> None:
        key, addr = storage._cdata, storage.data_ptr()
        known = self._blocks.get(key)
        self._streams.add(stream)
        if addr == 0 or (known is not None and known.addr == addr):
            return
        block = Block(storage, stream, number, self.place())
        before = self._by_addr.get(addr)
        if before is not None and before.stream == stream and before.weak.expired() and not before.is_recorded:
            for other, (last, place) in before.uses.items():
                if not self._is_behind(stream, last, other):
                    self._find("reused", place, block.place)
        self._add(key, block)

    def used(self, storage: Any, stream: int, number: int) -> None:
        key = storage._cdata
        block = self._blocks.get(key)
        self._streams.add(stream)
        if block is None:
            self._n_unknown += 1
            return
        if block.addr != storage.data_ptr():  # resized where nobody saw it
            del self._blocks[key]
            return
        self._n_uses += 1
        self._streams.add(block.stream)
        if stream == block.stream or not {stream, block.stream} <= self.made | {_DEFAULT_STREAM}:
            return
        self._n_elsewhere += 1
        block.uses[stream] = (number, self.place())
        if not self._is_behind(stream, block.born, block.stream):
            self._find("used", block.uses[stream][1], block.place)

    def recorded(self, storage: Any) -> None:
        block = self._blocks.get(storage._cdata)
        if block is not None:
            block.is_recorded = True

    def _find(self, what: str, use: Place, allocation: Place) -> None:
        finding = (what, use, allocation)
        self._broken[finding] = self._broken.get(finding, 0) + 1

    def _finding(self) -> str:
        (what, use, allocation), _ = next(iter(self._broken.items()))
        used = shown(*use) if use else "a line"
        more = len(self._broken) - 1
        others = "" if more == 0 else " (and %d more such pair%s of lines)" % (more, "s"[: more > 1])
        if what == "reused":
            return (
                "%s uses memory of another stream, which gives it to %s while nothing waits for that use: call "
                "record_stream(), or wait behind the use%s"
                % (used, shown(*allocation) if allocation else "a line", others)
            )
        whose = "that %s allocates" % shown(*allocation) if allocation else "from before the first stream was made"
        return (
            "%s uses memory of another stream, %s, in no order behind the allocation: let its own stream wait after "
            "the allocation (a wait before it does not count)%s" % (used, whose, others)
        )

    def verdict(self) -> Optional[Tuple[str, str]]:
        """(kept, broken or not checked, one sentence); None: of a program of one stream."""
        if self._broken:
            return ("broken", self._finding())
        if self.why_not:
            return ("not checked", self.why_not) if self.made else None
        if len(self._streams) < 2:
            return None
        unseen = ""
        if self._n_unknown:
            unseen = "; {:,} more uses are of memory whose allocation was not seen".format(self._n_unknown)
        if self.n_collectives:
            unseen += "; what {:,} collectives do on streams of their own was not seen".format(self.n_collectives)
        return (
            "kept",
            "{:,} uses on {} streams checked, {:,} of them of another stream's memory: all ordered after their "
            "allocation{}".format(self._n_uses, len(self._streams), self._n_elsewhere, unseen),
        )


def install() -> None:
    """Right after `import torch`. Until the program has a second stream, only what events and
    waits do to the streams' clocks is looked at."""
    if os.environ.get("TESSERA_CONTRACT", "0") != "1":
        return
    try:
        from torch.cuda import _sanitizer

        from . import watching

        contract = Contract(_sanitizer.cuda_sanitizer.dispatch.event_handler)
        leave = watching.install(contract)
    except Exception as error:  # PyTorch's inside is another
        why_not = "%s: %s" % (type(error).__name__, error)
        before_end.append(lambda library: _tell(library, ("not checked", why_not)) if streams.were_made else None)
        return

    def conclude(library: Library) -> None:
        try:
            leave()
            verdict = contract.verdict()
        except Exception as error:
            verdict = ("not checked", "%s: %s" % (type(error).__name__, error))
        _tell(library, verdict)

    before_end.append(conclude)


def _tell(library: Library, verdict: Optional[Tuple[str, str]]) -> None:
    if verdict is not None:
        library.note("contract", "%s: %s" % verdict)
        say("streams: %s%s" % ("not checked: " if verdict[0] == "not checked" else "", verdict[1]))
