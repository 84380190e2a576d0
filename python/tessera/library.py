# SPDX-License-Identifier: Apache-2.0
"""libtessera.so through ctypes: the functions of ``runtime/tessera.h``."""

import ctypes
import os
from pathlib import Path
from typing import Any, Callable, List, Optional, Union

NAME = "libtessera.so"

#: ``const char *(*) (void)``; the address is borrowed, so it is returned as a number.
ModuleFinder = ctypes.CFUNCTYPE(ctypes.c_void_p)

_STAT_FIELDS = ("current", "peak", "allocated", "freed")
#: PyTorch's statistics of each pool, in its order.
BY_POOL = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
_WHOLE = ("oversize_allocations", "oversize_segments")
_COUNTS = (
    "n_alloc_retries",
    "n_ooms",
    "n_sync_all_streams",
    "n_device_alloc",
    "n_device_free",
    "max_split_bytes",
)
#: What the library counts beside PyTorch's statistics: following and recording.
OWN_COUNTS = (
    "plan_height_bytes",
    "hits",
    "misses",
    "hit_bytes",
    "miss_bytes",
    "hits_elsewhere",
    "misses_unknown",
    "misses_occupied",
    "misses_unordered",
    "extra_bytes",
    "peak_extra_bytes",
    "n_events",
    "n_lost",
    "misses_rescued",
    "plan_is_declined",
    "pool_bytes",
    "misses_planned",
    "planned_miss_bytes",
    "barriers",
)


class Stat(ctypes.Structure):
    """TesseraStat."""

    _fields_ = [(name, ctypes.c_uint64) for name in _STAT_FIELDS]


class DeviceStats(ctypes.Structure):
    """TesseraDeviceStats. The fields' order is the header's."""

    _fields_ = (
        [("struct_bytes", ctypes.c_uint64)]
        + [(name, Stat * 3) for name in BY_POOL]
        + [(name, Stat) for name in _WHOLE]
        + [(name, ctypes.c_uint64) for name in _COUNTS + OWN_COUNTS]
    )


class LibraryError(Exception):
    """What the library, or the search for it, says in one sentence."""


def _candidates() -> List[str]:
    package = Path(__file__).resolve().parent
    return [
        str(package / NAME),
        str(package.parent.parent / "build" / "runtime" / NAME),
        NAME,
    ]


def _load(path: Optional[str]) -> ctypes.CDLL:
    asked = path or os.environ.get("TESSERA_LIBRARY")
    reason = ""
    for candidate in [asked] if asked else _candidates():
        if os.sep in candidate and not os.path.exists(candidate):
            reason = reason or "%s is not there" % candidate
            continue
        try:
            return ctypes.CDLL(candidate)
        except OSError as error:
            reason = str(error)
    raise LibraryError(
        "%s can't be loaded (%s): set TESSERA_LIBRARY to its path" % (asked or NAME, reason)
    )


class Library:
    """The loaded library. It is never unloaded: PyTorch keeps addresses of it."""

    def __init__(self, path: Optional[str] = None) -> None:
        self._handle = _load(path)
        self._is_started = False
        self._find: Optional[Callable[[], Optional[int]]] = None
        self._finder: Any = None  # stays: a thread may be about to call it
        try:
            self._declare()
        except AttributeError as error:
            raise LibraryError("%s is no libtessera.so: %s" % (self._handle._name, error)) from None

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        function = getattr(self._handle, "tessera_" + name)
        function.restype = result
        function.argtypes = list(arguments)
        return function  # type: ignore[no-any-return]

    def _declare(self) -> None:
        text, number, address = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
        self._version = self._function("version", text)
        self._last_error = self._function("last_error", text)
        self._configure = self._function("configure", number, text, text)
        self._start = self._function("start", number)
        self.is_recording = self._function("is_recording", number)
        self._record = self._function("record", number, text, number)
        self._flush = self._function("flush", number)
        self._trace_path = self._function("trace_path", text)
        self._take_notice = self._function("take_notice", ctypes.c_size_t, text, ctypes.c_size_t)
        self._set_finder = self._function("set_module_finder", None, address)
        self._get_stats = self._function("get_stats", number, number, ctypes.POINTER(DeviceStats))
        self._mark = self._function("mark", None, text)
        self._tensor = self._function("tensor", None, number, address, number, text)
        #: 1: from here on no stack is recorded; 0: they are again.
        self.leave_out_stacks = self._function("leave_out_stacks", None, number)
        self._note = self._function("note", None, text, text)
        #: Everything recorded is in the closed file; memory is served as before.
        self.stop = self._function("stop", None)
        #: A step ends here and this one begins; -1: none begins.
        self.step = self._function("step", None, ctypes.c_int64)
        self._step_repeats = self._function("step_repeats", number)
        self._phase_begin = self._function("phase_begin", None, text)
        self.phase_end = self._function("phase_end", None)
        #: Takes the address of a zero-terminated name, see names.py.
        self.module_begin = self._function("module_begin", None, address)
        self.module_end = self._function("module_end", None)
        self.reset_peak_stats = self._function("reset_peak_stats", None, number)
        self.reset_accumulated_stats = self._function("reset_accumulated_stats", None, number)
        self.has_record_stream = self._function("torch_has_record_stream", None, number)
        #: The program made a stream of its own on the device.
        self.has_streams = self._function("torch_has_streams", None, number)

    def _error(self) -> LibraryError:
        return LibraryError((self._last_error() or b"unknown error").decode("utf-8", "replace"))

    def address(self, function: str) -> int:
        """Where ``tessera_FUNCTION`` lies, for PyTorch to call."""
        pointer = ctypes.cast(getattr(self._handle, "tessera_" + function), ctypes.c_void_p)
        assert pointer.value is not None
        return pointer.value

    def version(self) -> str:
        return str((self._version() or b"").decode())

    def configure(self, key: str, value: Union[str, int, float]) -> None:
        """Before start(). Raises LibraryError when refused."""
        if self._configure(key.encode(), str(value).encode()) != 0:
            raise self._error()

    def start(self) -> None:
        """Raises LibraryError where PyTorch's own allocator must stay."""
        if self._start() != 0:
            raise self._error()
        self._is_started = True

    def is_serving(self) -> bool:
        """Whether start() succeeded."""
        return self._is_started

    def record(self, path: str, stacks: bool) -> None:
        """Begins a trace in the midst of the run; stop() ends it. Raises LibraryError."""
        if self._record(os.fsencode(path), int(stacks)) != 0:
            raise self._error()

    def flush(self) -> None:
        """What was recorded so far is in the file on return. Raises LibraryError."""
        if self._flush() != 0:
            raise self._error()

    def trace_path(self) -> Optional[str]:
        """The file that is being written; None: nothing is recorded."""
        path = self._trace_path()
        return None if path is None else os.fsdecode(path)

    def take_notices(self) -> List[str]:
        """What a person should read, each once."""
        text = ctypes.create_string_buffer(1024)
        notices = []
        while self._take_notice(text, len(text)):
            notices.append(text.value.decode("utf-8", "replace"))
        return notices

    def step_repeats(self) -> bool:
        """Asked where a step ends, before step(): did it request what the last did?"""
        return bool(self._step_repeats())

    def phase_begin(self, name: str) -> None:
        self._phase_begin(name.encode())

    def mark(self, name: str) -> None:
        self._mark(name.encode())

    def tensor(self, device: int, address: int, kind: int, name: str) -> None:
        """A tensor's storage begins there now; kinds as in tensors.py."""
        self._tensor(device, address, kind, name.encode("utf-8", "replace"))

    def note(self, key: str, value: str) -> None:
        """What the trace is to say of the run."""
        self._note(key.encode(), value.encode())

    def set_module_finder(self, find: Optional[Callable[[], Optional[int]]]) -> None:
        """``find`` gives the address of the name of the module whose backward runs, or
        None; it must not raise. It is kept alive here."""
        if find is not None and find != self._find:
            self._find, self._finder = find, ModuleFinder(find)
        self._set_finder(None if find is None else ctypes.cast(self._finder, ctypes.c_void_p))

    def get_stats(self, device: int) -> DeviceStats:
        """Of a device that never served anything: all zero."""
        stats = DeviceStats()
        stats.struct_bytes = ctypes.sizeof(DeviceStats)
        if self._get_stats(device, ctypes.byref(stats)) != 0:
            return DeviceStats(max_split_bytes=2**64 - 1)
        return stats
