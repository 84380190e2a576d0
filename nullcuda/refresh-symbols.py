#!/usr/bin/env python3
"""Writes symbols.txt: which functions of CUDA's libraries an installed PyTorch imports.

refresh-symbols.py [PYTHON ...] > symbols.txt

Each PYTHON has a PyTorch built for CUDA; the default is the one that runs this script. A line is
the name of a function; where PyTorch asks for it by name at run time, that is not in any symbol
table: such names are looked for among the strings of its libraries.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
from pathlib import Path

LIBRARIES = ("torch_cuda", "c10_cuda", "torch_python", "torch_cuda_linalg", "caffe2_nvrtc", "torch_cpu")
IMPORTED = re.compile(r"^(__cuda|cuda|cu[A-Z]|cublas|cudnn|cufft|cusolver|cusparse|nccl|nvrtc|cupti)\w+$")
# Where the names of functions that are asked for at run time stand, between zero bytes.
ASKING = ("c10_cuda", "torch_cuda", "torch_python")
ASKED_FOR = re.compile(rb"\0(cu[A-Z][a-z]\w{4,}|nvml[A-Z]\w{6,})(?=\0)")

FIND = """import importlib.util, importlib.metadata, pathlib
print(importlib.metadata.version("torch"))
print(pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib")"""


def imported(library):
    listing = subprocess.run(["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True)
    names = (line.split()[-1].split("@")[0] for line in listing.stdout.splitlines())
    return {name for name in names if IMPORTED.match(name)}


def main():
    versions, names = [], set()
    for python in sys.argv[1:] or [sys.executable]:
        version, folder = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=True).stdout.split()
        versions.append(version)
        for name in LIBRARIES:
            library = Path(folder) / f"lib{name}.so"
            if library.exists():
                names |= imported(library)
                if name in ASKING:
                    names |= {match.decode() for match in ASKED_FOR.findall(library.read_bytes())}
    print(f"# What PyTorch {', '.join(versions)} takes from CUDA's libraries; written by refresh-symbols.py.")
    print("# SPDX-License-Identifier: Apache-2.0")
    for name in sorted(names):
        print(name)


main()
