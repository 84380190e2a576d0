#!/usr/bin/env python3
"""What the product reaches on every trace at hand, held against tests/evaluation/house.json, trace by trace.

    house.py                 all files: a line for each figure that is other than before; status 1 where a gate is
                             broken
    house.py NAME...         these files (patterns such as 'jobs/*' serve)
    house.py --fast          without the files of SLOW: 17 processor seconds instead of 45
    house.py --repeat 5      planned five times; the median of the processor seconds counts
    house.py --run [NAME...] programs instead of files: the rows of beside.py, in PyTorch (an hour)
    house.py --write ...     writes the figures of what is measured; those of others stay
    house.py --data FOLDER   snapshots and instances are there ($TESSERA_SHARED_DATA, shared/data beside this tree)

Gates. Verified decisions, the parts of the verdict, who may follow a plan, and its hits: as before. A height over
the load bound: 1.0000 stays 1.0000; up to 0.001 more on one stream; up to 0.005 more on several and on made
histories (c_*, f_*, t_*); a minimalloc instance may take the 1,048,576 that each is known to fit into. The smallest
devices and what is reserved: up to 2 per mille or 4 MiB more. Hits of programs are told and held by no gate, since
they differ a little from run to run. Processor seconds of `tessera plan`, summed over all files: up to a tenth more,
both measured on one machine. house.json is of the code before it was reduced, since many small losses are to be seen
as a large one: it is written anew only for a change that is meant and told by its commit.

TESSERA_BUILD_ROOT names the build folder (build), TESSERA_TEST_PYTHON the Python with PyTorch (python3).

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median

import beside

SOURCE, TESSERA = beside.SOURCE, beside.BUILD / "cli" / "tessera"
FIGURES = Path(__file__).with_name("house.json")
DATA = os.environ.get("TESSERA_SHARED_DATA", SOURCE.parent / "shared" / "data")
SECTIONS = ("files", "run", "seconds")
N_WORKERS = 2
ENDINGS = (".gz", ".xz", ".pickle", ".csv", ".tsr")
FIT = [f"{policy}{endless}_bytes" for policy in ("native", "expandable", "plan") for endless in ("", "_endless")]
FOLLOWED = ["hits", "misses", "peak_reserved_bytes"]
VERIFIED = ["addresses", "segments", "ooms", "final"]
# Each takes more than two seconds in all its commands.
SLOW = {"dsa/minimalloc-D", "dsa/minimalloc-E", "jobs/hf_qwen3moe_eager", "jobs/llama1b_var_length",
        "jobs/llama1b_var_length_batch", "jobs/unet_var", "pytorch-2.6/c_def_1", "pytorch-2.6/c_def_2",
        "pytorch-2.6/c_split_1", "pytorch-2.6/c_split_2", "pytorch-2.6/f_exp_streams_oom", "pytorch-2.6/t_def",
        "traces/finetune", "traces/moe"}
# Gates
AT_BOUND, OF_ONE_STREAM, OF_OTHERS = 0.00005, 0.001, 0.005
INSTANCE_BYTES = 1 << 20
MORE_SHARE, MORE_BYTES = 0.002, 4 << 20
MORE_SECONDS = 1.1


class Failed(Exception):
    pass


def stem(path):
    name = path.name
    while name.endswith(ENDINGS):
        name = name.rsplit(".", 1)[0]
    return name


def list_files(data):
    """NAME: path. What is not there is said aloud."""
    files = {}
    snapshots = [data / part for part in ("sample", "snapshots/real", "snapshots/jobs", "snapshots/pytorch-2.6")]
    for folder, pattern in ((SOURCE / "samples", "*.gz"), (SOURCE / "tests" / "traces", "*.xz"),
                            *((folder, "*.pickle*") for folder in snapshots), (data / "dsa", "*.csv")):
        found = sorted(folder.glob(pattern))
        if not found:
            print(f"skipped: {folder}, which holds none (--data)", flush=True)
        files |= {f"{folder.name}/{stem(path)}": path for path in found}
    return files


def ask(*words):
    """What the command says in JSON, and its processor seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([str(word) for word in (TESSERA, *words)], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = out.read()
        # A trace that is not as ours would be has status 1, and says how far it is.
        if not said or process.returncode not in (0, 1):
            raise Failed((err.read().splitlines() or [f"{words[0]}: status {process.returncode}"])[-1])
    return json.loads(said), usage.ru_utime + usage.ru_stime


def limits_of(path):
    """A snapshot does not tell the device's memory: a file beside it may."""
    beside_it = path.with_name("params.json")
    if not beside_it.exists():
        return []
    limits = json.loads(beside_it.read_text(encoding="utf-8"))[stem(path)]
    words = {"--device-memory": limits["total"], "--memory-limit": limits["limit"]}
    return [f"{option}={n_bytes}" for option, n_bytes in words.items() if n_bytes is not None]


def measure(folder, path, n_times):
    """The figures of one file, and the processor seconds of planning it."""
    trace, plan = folder / "a.tsr", folder / "a.tsp"
    if path.suffix == ".xz":
        trace.write_bytes(lzma.decompress(path.read_bytes()))
    else:
        ask("import", "--json", path, "-o", trace, *limits_of(path))
    (checked,), _ = ask("simulate", "--verify", "--json", trace)
    info, _ = ask("info", "--json", "--fast", "--no-edits", trace)
    plans = [ask("plan", "--json", "--no-edits", "--force", trace, "-o", plan) for _ in range(n_times)]
    planned = plans[0][0]
    devices, _ = ask("fit", "--json", "--no-edits", trace)
    follow = ["simulate", "--json", "--policy", f"plan:{plan}", trace]
    figures = {
        "streams": info["streams"],
        "verified": {each: f"{checked[f'{each}_right']}/{checked['final_blocks' if each == 'final' else each]}"
                     for each in VERIFIED},
        "verdict": {"at_event": info["at_event"], "reserved_bytes": info["reserved_bytes"], **info["parts"]},
        "plan": {key: planned[key] for key in ("height_bytes", "bound_bytes", "followable")},
        "followed": {key: value for key, value in ask(*follow)[0].items() if key in FOLLOWED},
        "smallest": {key: devices[key] for key in FIT},
    }
    if planned["steps_that_vary"]:
        figures["by_length"] = {key: value for key, value in ask(*follow, "--by-length")[0].items() if key in FOLLOWED}
    return figures, round(median(seconds for _, seconds in plans), 2)


def measure_file(path, n_times):
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        try:
            return measure(Path(folder), path, n_times)
        except Failed as failure:
            return {"failed": str(failure)}, 0


def measure_program(program):
    with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
        try:
            return beside.measure(folder, program)
        except beside.Failed as failure:
            return {"failed": str(failure)}


def flat(figures, before=""):
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def most_height(name, old):
    """The greatest height that passes, over the load bound of before: a bound that rises excuses nothing."""
    height, bound = old["plan.height_bytes"], old["plan.bound_bytes"]
    if name.startswith("dsa/minimalloc-"):
        return max(height, INSTANCE_BYTES)
    if height < bound * (1 + AT_BOUND):
        return bound * (1 + AT_BOUND)
    is_made = name.split("/")[-1].startswith(("c_", "f_", "t_"))
    return height + bound * (OF_OTHERS if is_made or old["streams"] > 1 else OF_ONE_STREAM)


def judge(name, key, old, new):
    """better, worse (within the gate), changed (no gate) or broken, of figures that differ."""
    was, now = old.get(key), new.get(key)
    last = key.split(".")[-1]
    if was is None or now is None:
        return "broken" if now is None or key == "failed" else "better"
    if last == "height_bytes":
        most = most_height(name, old)
    elif key.startswith("smallest.") or last in ("peak_reserved_bytes", "reserved_bytes") and "verdict" not in key:
        most = max(was * (1 + MORE_SHARE), was + MORE_BYTES)
    elif last == "above_simulation_bytes":
        return "better" if abs(now) < abs(was) else "broken"
    elif key in ("plan.bound_bytes", "better_bytes", "hits") or last == "misses":
        # What programs free first is not the same in each run: their few other hits are no gate.
        return "changed"
    elif last == "hits":
        return "better" if now > was else "broken"
    else:
        return "broken"
    return "better" if now < was else "worse" if now <= most else "broken"


def as_text(value):
    return f"{value:,}" if isinstance(value, int) else str(value)


def compare(name, before, after):
    """(verdict, line) of each figure that is other than before."""
    old, new = dict(flat(before)), dict(flat(after))
    for key in sorted(old | new):
        if old.get(key) != new.get(key):
            verdict = judge(name, key, old, new)
            over = ""
            if key == "plan.height_bytes" and key in old and key in new:
                over = " ({:.4f} -> {:.4f})".format(*(each[key] / old["plan.bound_bytes"] for each in (old, new)))
            yield verdict, f"{verdict}: {name} {key}: {as_text(old.get(key))} -> {as_text(new.get(key))}{over}"


def report(before, after, n_skipped):
    """Prints what differs; how many gates are broken."""
    count = dict.fromkeys(("better", "worse", "changed", "broken", "new"), 0)
    for name, figures in after.items():
        if name not in before:
            count["new"] += 1
            print(f"new: {name}, of which no figure is kept")
            continue
        for verdict, line in compare(name, before[name], figures):
            count[verdict] += 1
            print(line)
    n = sum(1 for figures in after.values() for _ in flat(figures))
    print(f"{n:,} figures of {len(after)}: {count['better']} better, {count['worse']} worse within the gates, "
          f"{count['changed']} changed without one, {count['broken']} broken; {count['new']} new, {n_skipped} skipped")
    return count["broken"]


def report_seconds(before, after, is_whole):
    """Of a few files they say little: only the sum over all is held to its gate."""
    names = before.keys() & after.keys()
    was, now = (sum(each[name] for name in names) for each in (before, after))
    is_broken = is_whole and now > was * MORE_SECONDS
    for name in sorted(names, key=lambda name: before[name] - after[name])[:5]:
        if after[name] > before[name] * 1.25 + 0.1:
            print(f"slower: {name}: {before[name]:.2f} -> {after[name]:.2f} s")
    print(f"{'broken: ' if is_broken else ''}planning {now:.1f} processor s, before {was:.1f}"
          f" ({now / max(was, 0.01):.2f})")
    return is_broken


def write(path, kept, found):
    """One entry a line, so that a difference reads well."""
    parts = []
    for section in SECTIONS:
        lines = [f"{json.dumps(name)}:{json.dumps(figures, sort_keys=True, separators=(',', ':'))}"
                 for name, figures in sorted((kept[section] | found[section]).items())]
        parts.append(f'"{section}":{{\n' + ",\n".join(lines) + "\n}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def chosen(names, args):
    """Those of @names that the command line asks for."""
    unknown = [pattern for pattern in args.names if not any(fnmatchcase(name, pattern) for name in names)]
    if unknown:
        sys.exit(f"nothing is named {', '.join(unknown)}: {', '.join(names)}")
    return [name for name in names if not (args.fast and name in SLOW)
            and (not args.names or any(fnmatchcase(name, pattern) for pattern in args.names))]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--run", action="store_true")
    options.add_argument("--fast", action="store_true")
    options.add_argument("--write", action="store_true")
    options.add_argument("--repeat", type=int, default=1, metavar="N")
    options.add_argument("--data", type=Path, default=Path(DATA), metavar="FOLDER")
    options.add_argument("--figures", type=Path, default=FIGURES, metavar="FILE", help="other figures than house.json")
    args = options.parse_args()
    kept = {section: {} for section in SECTIONS}
    if args.figures.exists():
        kept |= json.loads(args.figures.read_text(encoding="utf-8"))
    found = {section: {} for section in SECTIONS}
    section = "run" if args.run else "files"
    sources = beside.list_programs(args.data.parent / "programs") if args.run else list_files(args.data)
    names = chosen(sources, args)
    os.nice(10)
    with ThreadPoolExecutor(N_WORKERS) as workers:
        # The longest begin first, so that no worker is left alone with one at the end.
        order = sorted(names, key=lambda name: -kept["seconds"].get(name, 0))
        if args.run:
            found["run"] = dict(zip(order, workers.map(lambda name: measure_program(sources[name]), order)))
        else:
            for name, (figures, seconds) in zip(order, workers.map(
                    lambda name: measure_file(sources[name], args.repeat), order)):
                found["files"][name], found["seconds"][name] = figures, seconds
    found[section] = {name: found[section][name] for name in names}
    is_whole = not args.fast and not args.names
    n_broken = report(kept[section], found[section], len(kept[section].keys() - found[section].keys()))
    if not args.run:
        n_broken += report_seconds(kept["seconds"], found["seconds"], is_whole)
    if args.write:
        write(args.figures, kept, found)
    sys.exit(1 if n_broken and not args.write else 0)


if __name__ == "__main__":
    main()
