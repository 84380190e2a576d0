# SPDX-License-Identifier: Apache-2.0
"""Small programs that train as real ones do, one habit each: python habits NAME --seed N."""
import argparse
import importlib

from common import HABITS

for name in ("weights", "windows", "offload", "compilers", "optimizers", "scalers", "epochs",
             "networks", "rollout", "drawn", "others", "loops", "ranks", "trainer"):
    importlib.import_module(name)

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("habit", nargs="?", choices=HABITS, metavar="NAME")
options.add_argument("--list", action="store_true", help="the names, a line each")
options.add_argument("--steps", type=int, default=12)
options.add_argument("--seed", type=int, default=1)
args = options.parse_args()
if args.list:
    print(*HABITS, sep="\n")
elif args.habit:
    HABITS[args.habit](args)
else:
    options.error("which program? --list names them")
