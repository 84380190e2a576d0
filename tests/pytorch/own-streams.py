#!/usr/bin/env python3
"""The library is told of each stream that a program makes, and of no other.

SPDX-License-Identifier: Apache-2.0
"""
import sys

from dry import LIBRARY, NULL_CUDA, PACKAGE, run

PROGRAM = '''
import torch, tessera

assert tessera.enable(policy="native")
library, told = tessera._session.library, []
tell = library.has_streams
library.has_streams = lambda device: (told.append(device), tell(device))

{first}
side = torch.cuda.Stream()
assert told == [0], told
assert type(side) is torch.cuda.Stream and side == side and side.cuda_stream != 0
with torch.cuda.stream(side):
    y = torch.zeros(1000, device="cuda")
side.synchronize()
told.clear()
urgent = torch.cuda.Stream(priority=-1)
same = torch.cuda.ExternalStream(side.cuda_stream)
assert type(same) is torch.cuda.ExternalStream and same.cuda_stream == side.cuda_stream
assert told == [0, 0], told
tessera.disable()
torch.cuda.Stream(device=0)
assert told == [0, 0, 0], told
'''
# A program without streams of its own asks for the default one all the time.
DEFAULT = '''
x = torch.zeros(1000, device="cuda")
torch.cuda.current_stream().synchronize()
with torch.cuda.stream(torch.cuda.default_stream()):
    del x
assert told == [], told
'''

for first in (DEFAULT, ""):  # the first stream may be what initialises CUDA
    run(sys.executable, "-c", PROGRAM.format(first=first),
        env={**NULL_CUDA, "TESSERA_LIBRARY": str(LIBRARY), "PYTHONPATH": str(PACKAGE)})
print("told of its streams")
