# SPDX-License-Identifier: Apache-2.0
"""Records what a PyTorch program does with device memory, and follows plans.

    import torch, tessera
    tessera.enable(record="run-%r.tsr")

before the first use of CUDA. Steps, phases and modules are found by itself; step() and
phase() say more where that is not enough. Whatever fails is one sentence on stderr, and
training goes on with PyTorch's own allocator.
"""

import contextlib
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Tuple, Union

from .marks import Finished
from .say import be_quiet, say

if TYPE_CHECKING:
    from .session import Session

__all__ = [
    "Finished",
    "disable",
    "enable",
    "flush",
    "mark",
    "phase",
    "stats",
    "step",
]

#: Devices that a node is taken to have, in a dry run.
RANKS_PER_NODE = 8

_session: Optional["Session"] = None


def enable(
    record: Optional[str] = None,
    plan: Optional[str] = None,
    policy: Optional[str] = None,
    stacks: bool = False,
    modules: bool = True,
    quiet: bool = False,
    steps: Optional[Union[int, Tuple[int, int]]] = None,
    follow: Optional[str] = None,
    events: int = 0,
    seconds: float = 0,
    **options: Union[str, int, float],
) -> bool:
    """Serve PyTorch's device memory from Tessera's library, from CUDA's start on.

    record   path of the trace to write; %r rank, %h host, %p process
    plan     path of the plan to follow
    policy   "native" (as PyTorch does; the default), "expandable", "direct" or "plan"
    stacks   record the Python stack of each allocation
    modules  record which module runs, in the backward pass too
    quiet    say nothing on stderr
    steps    end the program (Finished, status 0) after so many whole steps; (3, 6): after
             three, or as soon from there on as one repeats the one before, six at most
    events, seconds
             do not end it after these steps: go on without stacks until so many events are
             recorded, or so many seconds are over; 0: no such limit
    follow   "length": steps of other lengths than those of the plan's trace are planned as
             well; "trace": the same batches only; by default length where the plan has
             steps that vary
    options  further keys of the library: rank, world, alloc_conf, limit, flush_ms,
             ring_events

    With none of record, plan and policy the hooks alone are installed: steps are counted
    and PyTorch's allocator stays.

    Returns whether that is arranged. It is not where CUDA is in use already, the library
    is missing or refuses an option: then a sentence says so and nothing has changed.
    """
    global _session
    be_quiet(quiet)
    if _session is not None:
        say("tessera.enable() was called before in this process: this call changes nothing")
        return False
    keys: Dict[str, Optional[Union[str, int, float]]] = {
        "record": record,
        "plan": plan,
        "policy": policy,
        "stacks": 1 if stacks else None,
        "follow": follow,
    }
    keys.update(options)
    chosen = {key: value for key, value in keys.items() if value is not None}
    stop_after = (steps, steps) if isinstance(steps, int) else steps
    session = _make_session(chosen, modules, stop_after, (events, seconds))
    if session is None:
        return False
    session.install_hooks()
    _session = session
    return True


def _make_session(
    chosen: Dict[str, Union[str, int, float]],
    modules: bool,
    stop_after: Optional[Tuple[int, int]],
    limits: Tuple[int, float],
) -> Optional["Session"]:
    try:
        from . import allocator
        from .further import Further
        from .library import Library, LibraryError
        from .session import Session
    except ImportError as error:
        say("it needs PyTorch, which can't be imported: %s" % error)
        return None
    further = Further.of(*limits) if stop_after else None
    session = Session(chosen, modules, stop_after, further)
    if not chosen:
        return session
    reason = allocator.why_not()
    if not reason:
        try:
            session.prepare(Library())
        except LibraryError as error:
            reason = "%s; PyTorch's own allocator stays" % str(error).rstrip(".")
    if reason:
        say(reason)
        return None
    return session


def disable() -> None:
    """Close the trace and take the hooks out. Memory that PyTorch asks for from here on
    is still served by the library: an allocator in use can't be exchanged."""
    global _session
    if _session is not None:
        _session.close()
        _session.remove_hooks()
        _session = None


def flush() -> bool:
    """Returns whether everything recorded so far is in the file."""
    from .library import LibraryError

    if _session is None or _session.library is None:
        return False
    try:
        _session.library.flush()
    except LibraryError as error:
        say(str(error))
        return False
    return True


def step() -> None:
    """A training step ends here and the next begins. The first call switches the steps
    found by themselves off."""
    if _session is not None:
        _session.marks.explicit_step()


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """What runs inside is @name: `with tessera.phase("eval"):`. Names that begin with
    eval, valid, test, predict, generate, save or checkpoint are work between steps; with
    rollout or generate before the first training each such work begins a step."""
    session = _session
    depth = session.marks.user_phase(name) if session is not None else 0
    try:
        yield
    finally:
        if session is not None:
            session.marks.close(depth)


def mark(name: str) -> None:
    """A moment worth finding again in the trace."""
    if _session is not None and _session.library is not None:
        _session.library.mark(name)


def _note(key: str, value: str) -> None:
    """What the trace is to say of the run."""
    if _session is not None and _session.library is not None:
        _session.library.note(key, value)


def _give_up() -> None:
    """The program is ended in the midst of a step."""
    if _session is not None:
        _session.marks.give_up()


def stats(device: Optional[Any] = None) -> Dict[str, int]:
    """What the library counts beside PyTorch's own statistics, of one device (default:
    the current one): plan_height_bytes, hits, misses, hit_bytes, miss_bytes,
    hits_elsewhere, misses_unknown, misses_occupied, misses_unordered, extra_bytes,
    peak_extra_bytes, n_events, n_lost, misses_rescued, plan_is_declined (1: the plan did
    not suit the run; hits and misses are those until then), pool_bytes (of the plan's
    pool, that are held now), misses_planned and planned_miss_bytes (of the misses:
    requests that the plan leaves to the dynamic allocator), barriers (at which streams
    waited, to get memory that others freed). Empty while the library serves nothing."""
    import torch

    from .statistics import followed

    cuda: Any = torch.cuda
    if _session is None or _session.library is None or not cuda.is_initialized():
        return {}
    index = torch.device("cuda" if device is None else device).index
    return followed(_session.library, cuda.current_device() if index is None else index)


def enable_on_import() -> None:
    """enable_from_environment(), as soon as somebody imports torch."""
    from .imports import after_import

    after_import("torch", enable_from_environment)


def _steps_of(text: str) -> Optional[Tuple[int, int]]:
    """Of "3", or "3-6"."""
    try:
        least, _, most = text.partition("-")
        steps = (int(least or 0), int(most or least or 0))
    except ValueError:
        say("TESSERA_STEPS takes 3 or 3-6, not %r: the program runs to its end" % text)
        return None
    return steps if 0 < steps[0] <= steps[1] else None


def _number_of(name: str) -> float:
    try:
        return max(0.0, float(os.environ.get(name) or 0))
    except ValueError:
        say("%s takes a number, not %r" % (name, os.environ[name]))
        return 0


def enable_from_environment() -> bool:
    """What TESSERA_RECORD, TESSERA_PLAN, TESSERA_POLICY, TESSERA_FOLLOW, TESSERA_STACKS,
    TESSERA_STEPS, TESSERA_EVENTS, TESSERA_SECONDS, TESSERA_DRY_RUN, TESSERA_WORLD, TESSERA_RANK and TESSERA_QUIET ask for. Returns
    whether anything was arranged."""
    environment = os.environ
    if environment.get("TESSERA_DRY_RUN", "0") not in ("", "0") or "TESSERA_WORLD" in environment:
        from . import dryrun

        dryrun.install()
    stop_after = _steps_of(environment.get("TESSERA_STEPS", ""))
    wanted = {
        key: environment.get("TESSERA_" + key.upper()) or None
        for key in ("record", "plan", "policy")
    }
    if any(wanted.values()) and enable(
        follow=environment.get("TESSERA_FOLLOW") or None,
        stacks=environment.get("TESSERA_STACKS", "0") not in ("", "0"),
        steps=stop_after,
        events=int(_number_of("TESSERA_EVENTS")),
        seconds=_number_of("TESSERA_SECONDS"),
        **wanted,  # type: ignore[arg-type]
    ):
        return True
    return stop_after is not None and enable(steps=stop_after)
