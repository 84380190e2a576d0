#!/usr/bin/env python3
"""`tessera job --slurm` and `--parallel` against the engines themselves: a Slurm of one node, its controller on this
machine too, and GNU parallel. Skipped where they are not installed (Debian: slurm-wlm, munge, parallel). Prints TAP.

    slurm.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from command import TESSERA, elsewhere
from fake_rank import TRAIN
from tap import run_tests, test

SLURM = ("slurmctld", "slurmd", "sbatch", "munged")
SECONDS = 120  # an array of eight small tasks, and the answer behind it


def missing(*programs):
    """Those that are not installed, said."""
    lacking = [name for name in programs if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if lacking:
        print(f"# skipped: {', '.join(lacking)} is not installed")
    return lacking


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def slurm(tmp):
    """The environment of its commands, while it runs."""
    here, host = tmp / "slurm", socket.gethostname().split(".")[0]
    here.mkdir(mode=0o755)
    key, wire = here / "munge.key", here / "munge.socket"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    version = subprocess.run(["/usr/sbin/slurmd", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]
    # Tasks are not confined here; older ones have no plugin that does nothing.
    plugin = "disabled" if int(version.split(".")[0]) > 22 else "autodetect" if Path("/sys/fs/cgroup/cgroup.procs").exists() else "cgroup/v1"
    (here / "cgroup.conf").write_text(f"CgroupPlugin={plugin}\n")
    (here / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={getpass.getuser()}
SlurmdUser={getpass.getuser()}
AuthType=auth/munge
AuthInfo=socket={wire}
CryptoType=crypto/munge
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
    for folder in "state", "spool":
        (here / folder).mkdir()
    environment = {**os.environ, "SLURM_CONF": str(here / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
    started = []
    with open(here / "log", "wb") as log:
        for command in (["munged", "--foreground", "--force", "--key-file", key, "--socket", wire, "--pid-file", here / "munge.pid",
                         "--seed-file", here / "munge.seed", "--log-file", here / "munge.log"],
                        ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", host]):
            started.append(subprocess.Popen(list(map(str, command)), env=environment, stdout=log, stderr=log))
            time.sleep(1)
    try:
        for _ in range(SECONDS):
            node = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
            if node.stdout.strip() == "idle" or any(process.poll() is not None for process in started):
                break
            time.sleep(1)
        assert node.stdout.strip() == "idle", (node, (here / "log").read_text(errors="replace")[-3000:])
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def train(tmp):
    elsewhere(tmp)
    (tmp / "train").write_text(TRAIN)
    (tmp / "train").chmod(0o755)
    return {"IMPORTER": TESSERA, "SIZES": "8 * (r // 4 + 1)", "GROUPS": "pp=2 dp=4"}


def job(tmp, environment, *arguments):
    done = subprocess.run([tmp / "build" / "cli" / "tessera", "job", *arguments], cwd=tmp, env=environment, capture_output=True,
                          text=True, timeout=SECONDS)
    assert done.returncode == 0, done
    return done.stdout


def judge(answer):
    assert answer.startswith("Ranks 4-7 (stage 1) need most: "), answer
    assert "\n  4-7 (x 4), stage 1 " in answer and "\n  0-3 (x 4), stage 0 " in answer, answer


@test
def slurm_runs_an_array_and_then_answers(tmp):
    if missing(*SLURM):
        return
    program = train(tmp)
    with slurm(tmp) as environment:
        said = job(tmp, {**environment, **program}, "--slurm", "--submit", "--world", "8", "runs", "--", "./train")
        print("#", said.strip())
        for _ in range(SECONDS):
            if not subprocess.run(["squeue", "-h"], env=environment, capture_output=True, text=True).stdout.strip():
                break
            time.sleep(1)
        logs = {path.name: path.read_text() for path in (tmp / "runs").glob("*.log")}
        assert sorted(logs) == [f"{rank}.log" for rank in range(8)], logs
        judge((tmp / "runs" / "answer.txt").read_text())
        job(tmp, {**environment, **program}, "--slurm", "--submit", "--sweep", "batch=1,2,5", "cells", "--", "env",
            "TESSERA_RANK={batch}", "TESSERA_WORLD=8", "./train")
        for _ in range(SECONDS):
            if (tmp / "cells" / "answer.txt").exists() and "smallest native" in (tmp / "cells" / "answer.txt").read_text():
                break
            time.sleep(1)
        assert sorted(path.name for path in (tmp / "cells").glob("*.tsr")) == ["batch-1.tsr", "batch-2.tsr", "batch-5.tsr"]


@test
def gnu_parallel_runs_them_and_then_answers(tmp):
    if missing("parallel"):
        return
    said = job(tmp, {**os.environ, **train(tmp)}, "--parallel", "--submit", "--world", "8", "runs", "--", "./train")
    judge(said[said.index("Ranks"):])
    assert len((tmp / "runs" / "joblog").read_text().splitlines()) == 9


if missing(*SLURM) and missing("parallel"):
    print("1..0 # SKIP slurm-wlm, munge and parallel are not installed")
    sys.exit(0)
run_tests()
