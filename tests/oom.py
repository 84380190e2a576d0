#!/usr/bin/env python3
"""`tessera oom`: what it says of the sentences that PyTorch and its libraries die with; prints TAP.

    oom.py TESSERA SOURCE-ROOT

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import random
import subprocess

from command import GIB, TESSERA, good, refused
from tap import run_tests, test

MIB = 1 << 20
NEWER = (" If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
         "  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)")
SAMPLE = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 39.39 GiB of which 6.18 GiB is "
          "free. Process 1234 has 33.21 GiB memory in use. Of the allocated memory 25.34 GiB is allocated by PyTorch, and 7.87 GiB is "
          "reserved by PyTorch but unallocated." + NEWER)


def sentence(asked, gpu, free, allocated, pieces, between="", after=""):
    return (f"CUDA out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of {gpu} of which {free} is free. {between}Of the "
            f"allocated memory {allocated} is allocated by PyTorch, and {pieces} is reserved by PyTorch but unallocated.{after}{NEWER}")


# The text; kind and cause; words of the verdict; whether expandable segments are advised.
CASES = (
    (SAMPLE, "pytorch", "fragmentation", ("7.83 GiB asked", "6.18 GiB free", "7.87 GiB lie in pieces"), True),
    # 2.0, whose segments do not expand, and 2.1, which cannot spell.
    ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 17.94 GiB already "
     "allocated; 4.44 MiB free; 22.26 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
     "max_split_size_mb to avoid fragmentation.", "pytorch", "fragmentation", ("4.32 GiB lie in pieces",), False),
    (sentence("3.00 GiB", "23.65 GiB", "1.66 GiB", "12.09 GiB", "4.84 GiB",
              "Including non-PyTorch memory, this process has 20.81 GiB memory in use. ").replace("capacity", "capacty"),
     "pytorch", "fragmentation", ("3.00 GiB asked",), True),
    # Pieces that cover this request and hardly another.
    (sentence("22.00 MiB", "23.65 GiB", "11.06 MiB", "22.90 GiB", "194.87 MiB",
              "Including non-PyTorch memory, this process has 23.60 GiB memory in use. "), "pytorch", "full", ("22.90 GiB of 23.65 GiB",), True),
    (sentence("22.78 GiB", "31.47 GiB", "12.73 GiB", "9.08 GiB", "9.35 GiB",
              "Including non-PyTorch memory, this process has 18.73 GiB memory in use. "), "pytorch", "size", ("716.80 MiB are missing",), False),
    (sentence("8.00 GiB", "79.18 GiB", "3.04 GiB", "45.89 GiB", "2.01 GiB", "Process 7478 has 24.08 GiB memory in use. "
              "Including non-PyTorch memory, this process has 52.02 GiB memory in use. "), "pytorch", "other_process",
     ("Process 7478 has 24.08 GiB",), False),
    # A container's neighbours have no number in it.
    (sentence("768.00 MiB", "83.05 GiB", "140.38 MiB", "21.92 GiB", "97.79 MiB",
              "Including non-PyTorch memory, this process has 23.33 GiB memory in use. "), "pytorch", "other_process", ("59.58 GiB",), False),
    # A driver that cannot tell says 2^64.
    (sentence("9.00 GiB", "8.00 GiB", "1.00 GiB", "6.00 GiB", "10.00 MiB", "Process 77 has 17179869184.00 GiB memory in use. "),
     "pytorch", "size", ("7.99 GiB are missing",), False),
    # What MIG tells of other slices is not of this one.
    (sentence("2.00 GiB", "9.75 GiB", "1.00 GiB", "8.00 GiB", "10.00 MiB", "Process 7 has 9.50 GiB memory in use. Process 8 has 9.00 GiB "
              "memory in use. "), "pytorch", "size", ("1014.00 MiB are missing",), False),
    ("HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; "
     "Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 "
     "MiB is reserved by PyTorch but unallocated.", "pytorch", "memory_fraction", ("1.05 GiB allowed",), False),
    ("CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 47.53 GiB of which 896.00 KiB is free. Process 1686436 "
     "has 47.51 GiB memory in use. Of the allocated memory 47.00 GiB is allocated by PyTorch, with 46.22 GiB allocated in private pools "
     "(e.g., CUDA Graphs), and 1.10 MiB is reserved by PyTorch but unallocated.", "pytorch", "private_pools", ("46.22 GiB lie unused",), False),
    (sentence("16.00 GiB", "95.24 GiB", "95.09 GiB", "0 bytes", "0 bytes"), "pytorch", "device_had_room", ("95.09 GiB free",), False),
    (sentence("2.00 GiB", "9.75 GiB", "8.00 GiB", "1.00 GiB", "0 bytes", after=" expandable_segments is enabled. If instead the process is "
              "running out of virtual address space (VSZ)"), "pytorch", "device_had_room", ("address space",), False),
    (sentence("2.00 GiB", "9.75 GiB", "1.00 GiB", "5.00 GiB", "3.00 GiB", after=" expandable_segments is enabled."), "pytorch",
     "fragmentation", ("though they are expandable",), False),
    # Windows moves what does not fit to the host.
    (sentence("27.12 GiB", "11.99 GiB", "0 bytes", "16.16 GiB", "144.59 MiB"), "pytorch", "size", ("26.98 GiB are missing",), False),
    ("torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 3.70 GiB\n"
     "Requested               : 2.00 GiB\nDevice limit            : 5.80 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by "
     "user-supplied memory fraction)\n                        : 17179869184.00 GiB", "pytorch", "unknown", ("2.00 GiB", "cudaMallocAsync"), False),
    ("CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: "
     "3.00 GiB", "pytorch", "memory_fraction", ("before it asked",), False),
    ("CUDA out of memory. Tried to allocate 2", "pytorch", "unknown", ("rest of the sentence is missing",), False),
    ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "library", "outside_pytorch", ("cuBLAS",), False),
    ("[1] NCCL WARN Cuda failure 2 'out of memory'", "nccl", "outside_pytorch", ("NCCL",), False),
    ("torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com", "driver",
     "outside_pytorch", ("not PyTorch's pool",), False),
    ("RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 67108864 "
     "bytes.", "host", "host_memory", ("host's memory",), False),
)


def ask(tmp, text):
    (tmp / "log").write_bytes(text if isinstance(text, bytes) else text.encode())
    return json.loads(good("oom", tmp / "log", "--json"))


@test
def each_sentence_has_its_verdict(tmp):
    for text, kind, cause, words, expands in CASES:
        found = ask(tmp, text)
        assert (found["kind"], found["cause"], found["errors"]) == (kind, cause, 1), (text, found)
        for word in words:
            assert word in found["sentence"], (word, found["sentence"])
        advised = [row["type"] for row in found["advice"] if "expandable_segments" in row["type"]]
        assert bool(advised) == expands, (text, advised)
        assert found["advice"] and not any("@" in row["type"] + row["why"] for row in found["advice"]), found["advice"]
        shown = good("oom", tmp / "log")
        assert found["sentence"] in shown and all(row["why"] in shown for row in found["advice"]), shown


@test
def parts_sum_to_the_capacity(tmp):
    n = 0
    for text, *_ in CASES:
        found = ask(tmp, text)
        if not found["parts"]:
            continue
        total = sum(part["size_bytes"] for part in found["parts"]) - found["spilled_bytes"]
        assert abs(total - found["capacity_bytes"]) <= 0.02 * GIB, (text, total, found)
        n += 1
    assert n == 16, n


@test
def what_is_asked_for_is_told_as_it_was_written(tmp):
    found = ask(tmp, SAMPLE)
    assert [round(found[key] / GIB, 2) for key in ("request_bytes", "capacity_bytes", "free_bytes", "allocated_bytes", "unallocated_bytes")] == [
        7.83, 39.39, 6.18, 25.34, 7.87]
    assert found["process_is_guessed"] and found["other_processes"] == []
    assert found["advice"][0]["type"].startswith("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
    newest = ask(tmp, SAMPLE.replace("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"))
    assert newest["advice"][0]["type"].startswith("PYTORCH_ALLOC_CONF=expandable_segments:True")
    hip = ask(tmp, SAMPLE.replace("CUDA", "HIP"))
    assert hip["advice"][0]["type"].startswith("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True")


@test
def however_a_log_broke_the_lines_it_is_one_sentence(tmp):
    whole = ask(tmp, SAMPLE)
    for text in (SAMPLE.replace(". ", ".\n"), SAMPLE.replace(" ", "\n    "), SAMPLE.replace(". ", ".\n[rank0]: "),
                 json.dumps({"message": SAMPLE.replace(". ", ".\n")})):
        found = ask(tmp, text)
        assert found["sentence"] == whole["sentence"], (text, found)
        assert found["parts"] == whole["parts"], text
    # Also as arguments and through a pipe.
    for done in (good("oom", SAMPLE), good("oom", *SAMPLE.split(" ")),
                 subprocess.run([TESSERA, "oom"], input=SAMPLE, capture_output=True, text=True).stdout,
                 subprocess.run([TESSERA, "oom", "-"], input=SAMPLE, capture_output=True, text=True).stdout):
        assert done.startswith(whole["sentence"]), done


@test
def the_last_error_of_many_is_told_with_its_line(tmp):
    lines = ["step 1"]
    for rank, gpu in ((0, 0), (3, 1), (0, 0)):
        lines += [f"[rank{rank}]: Traceback (most recent call last):", "[rank7]: Traceback (most recent call last):",
                  f"[rank{rank}]:   File \"/home/me/train.py\", line {40 + rank}, in main",
                  "[rank7]:   File \"/home/me/other.py\", line 1, in other",
                  f"[rank{rank}]:   File \"/home/me/model.py\", line {7 + rank}, in forward",
                  f"[rank{rank}]:   File \"/opt/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1511, in _call_impl",
                  f"[rank{rank}]: " + SAMPLE.replace("GPU 0", f"GPU {gpu}")]
    found = ask(tmp, "\n".join(lines))
    assert (found["errors"], found["line"], found["rank"], found["gpu"]) == (3, len(lines), 0, 0), found
    assert (found["program_file"], found["program_line"], found["program_function"]) == ("/home/me/model.py", 7, "forward"), found
    assert found["errors_by_place"] == [{"rank": 0, "gpu": 0, "errors": 2}, {"rank": 3, "gpu": 1, "errors": 1}], found
    assert good("oom", tmp / "log").endswith("the last of 3 errors:\n  rank  gpu  errors\n     0    0       2\n     3    1       1\n")
    # In a notebook.
    found = ask(tmp, "File ~/train/nets.py:12, in Net.forward(self, x)\n     12 y = x @ w\n" + SAMPLE)
    assert (found["program_file"], found["program_line"], found["program_function"]) == ("~/train/nets.py", 12, "Net.forward"), found


@test
def the_size_of_a_log_does_not_matter(tmp):
    frame = b'  File "/home/me/model.py", line 7, in forward\n'
    for before in (0, 1, (1 << 20) - 8192 - 40, (1 << 20) - 8192, (1 << 20) - 100, 1 << 20, (5 << 20) + 17):
        text = b"x" * before + b"\n" + frame + SAMPLE.encode() + b"\n" + b"step\n" * 700_000
        found = ask(tmp, text)
        assert (found["errors"], found["line"], found["cause"], found["program_line"]) == (1, 3, "fragmentation", 7), (before, found)
    text = (SAMPLE + "\n").encode() * 20_000
    found = ask(tmp, text)
    assert (found["errors"], found["line"]) == (20_000, 20_000), found


@test
def a_hostile_text_is_a_text(tmp):
    for text in (b"", b"\0" * 3_000_000, b"hello\n", b"out of memory", b"\xff\xfe" * 1000, os.urandom(100_000)):
        (tmp / "log").write_bytes(text)
        refused("oom", tmp / "log", words=(str(tmp / "log"), "no out-of-memory error"))
    refused("oom", tmp / "none.log", words=("none.log", "cannot be opened"))
    refused("oom", tmp, words=("cannot be read",))
    absurd = SAMPLE.replace("39.39", "9" * 23).replace("6.18", "18446744073709551615")
    assert ask(tmp, absurd)["cause"] == "unknown"
    found = ask(tmp, SAMPLE.replace("25.34 GiB", "0 bytes").replace("33.21", "0.00"))
    assert found["cause"] == "fragmentation" and found["process_bytes"] is None, found
    hostile = f'  File "/x/\x1b[7m{"y" * 300}.py", line 3, in \x1b[7m\n{SAMPLE}'
    (tmp / "log").write_text(hostile)
    assert "\\u001b[7m" in good("oom", tmp / "log") and "\x1b" not in good("oom", tmp / "log")
    choose = random.Random(7)
    for _ in range(300):
        text = bytearray(choose.choice(CASES)[0].encode() * 2)
        for _ in range(choose.randrange(1, 12)):
            at = choose.randrange(len(text))
            text[at:at + choose.randrange(3)] = bytes(choose.randrange(256) for _ in range(choose.randrange(3)))
        (tmp / "log").write_bytes(text[:choose.randrange(1, len(text))])
        done = subprocess.run([TESSERA, "oom", "--json", tmp / "log"], capture_output=True)
        assert done.returncode in (0, 1), (bytes(text), done)
        if done.returncode == 0:
            assert json.loads(done.stdout)["errors"] >= 1
        else:
            assert done.stderr.count(b"\n") == 1, done.stderr


run_tests()
