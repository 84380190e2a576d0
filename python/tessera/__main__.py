# SPDX-License-Identifier: Apache-2.0
"""A dry run where only the wheel is installed: records one run of a program over the CUDA
that computes nothing, which the wheel brings along.

    python -m tessera dry-run [options] -- python train.py ...

The command `tessera dry-run` of a whole installation does the same and answers whether it
fits; both write the same traces.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

from . import RANKS_PER_NODE
from .say import say

_PACKAGE = Path(__file__).resolve().parent
#: Names under which programs look for libraries of the driver.
_OPENED = ("libcuda.so.1", "libnvidia-ml.so.1")


def _null_cuda() -> Optional[Path]:
    for folder in (_PACKAGE / "nullcuda", _PACKAGE.parent.parent / "build" / "nullcuda"):
        if (folder / "libnullcuda.so").exists():
            return folder / "libnullcuda.so"
    return None


def _first(name: str, value: str) -> str:
    rest = os.environ.get(name)
    return value + os.pathsep + rest if rest else value


def _environment(options: argparse.Namespace, null: Path, links: Path) -> Dict[str, str]:
    for name in _OPENED:
        (links / name).symlink_to(null)
    environment = dict(
        os.environ,
        LD_PRELOAD=_first("LD_PRELOAD", str(null)),
        LD_LIBRARY_PATH=_first("LD_LIBRARY_PATH", str(links)),
        PYTHONPATH=_first("PYTHONPATH", str(_PACKAGE / "autoload")),
        NULLCUDA_FORCE="1",
        NULLCUDA_DEVICE=options.gpu,
        NULLCUDA_BUDGET=options.budget,
        PYTHONHASHSEED=os.environ.get("PYTHONHASHSEED", "0"),  # else sets have another order each time
        TESSERA_DRY_RUN="1",
        TESSERA_RECORD=str(Path(options.output).absolute()),
        TESSERA_STEPS=str(options.steps),
        TESSERA_EVENTS=str(options.events),
        TESSERA_SECONDS=str(options.seconds),
        TESSERA_CONTRACT="1" if options.contract else "0",
    )
    if options.world:
        environment.update(
            TESSERA_WORLD=str(options.world),
            TESSERA_RANK=str(options.rank),
            NULLCUDA_COUNT=str(min(options.world, RANKS_PER_NODE)),
        )
    return environment


def _parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tessera", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    dry = commands.add_parser("dry-run", help="record a program over a CUDA that computes nothing")
    dry.add_argument("-o", dest="output", default="run.tsr", help="the trace (run.tsr)")
    dry.add_argument("--gpu", default="h100-80", help="a100-40, h100-80, rtx4090-24, 24GiB ...")
    dry.add_argument("--budget", default="512GiB", help="what may be allocated all the same")
    dry.add_argument("--steps", default="3-6", help="whole steps: 3, or 3-6, until one repeats (3-6)")
    dry.add_argument("--events", type=int, default=0, help="go on behind these until so many events are recorded")
    dry.add_argument("--for", dest="seconds", type=float, default=0, help="... or so many seconds are over")
    dry.add_argument("--world", type=int, default=0, help="ranks that the program sees")
    dry.add_argument("--rank", type=int, default=0, help="which of them it is")
    dry.add_argument("--contract", action="store_true", help="check how streams are ordered")
    dry.add_argument("program", nargs="+", help="after --: the program and its arguments")
    return parser.parse_args(arguments)


def _ctrl_c_reaches_it() -> bool:
    """A terminal sends it to everything in the foreground."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _run(program: List[str], environment: Dict[str, str]) -> int:
    """The program's status, below 0 by a signal. Signals that would end us end the program."""
    started: List["subprocess.Popen[bytes]"] = []
    early: List[int] = []  # came while it was being started

    def pass_on(number: int, frame: object) -> None:
        if not started:
            early.append(number)
        elif not (number == signal.SIGINT and _ctrl_c_reaches_it()):
            started[0].send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, pass_on)
    started.append(subprocess.Popen(program, env=environment))
    for number in early:
        pass_on(number, None)
    return started[0].wait()


def main(arguments: List[str]) -> int:
    options = _parse(arguments)
    null = _null_cuda()
    if null is None:
        say("libnullcuda.so is neither in the package nor in build/: install the wheel")
        return 1
    with tempfile.TemporaryDirectory(prefix="tessera-") as links:
        environment = _environment(options, null, Path(links))
        try:
            status = _run(options.program, environment)
        except OSError as error:
            say("%s does not start: %s" % (options.program[0], error.strerror))
            return 1
    if status < 0:
        say("%s was ended by signal %d" % (options.program[0], -status))
    if status <= 0 and Path(options.output).exists():
        say("%s is written; `tessera info` and the viewer open it" % options.output)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
