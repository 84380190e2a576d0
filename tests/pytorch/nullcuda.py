#!/usr/bin/env python3
"""The unmodified PyTorch over the null CUDA.

    nullcuda.py CASE

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import dry

INSIDE = "TESSERA_TEST_INSIDE"


# ---- outside: starts processes and compares what they leave

def inside(case: str, argument: str = "", **environment: str) -> None:
    """Runs a function of the second half in a process under the null CUDA."""
    settings = {**os.environ, **dry.NULL_CUDA, INSIDE: case, **environment}
    run = subprocess.run([sys.executable, __file__, argument], env=settings, timeout=240)
    if run.returncode != 0:
        sys.exit(f"{case} {environment} ended with {run.returncode}")


def decisions(path: Path) -> list:
    """What the allocator did, without the times at which it did so."""
    with path.open("rb") as file:
        snapshot = pickle.load(file)
    entries = [[{**entry, "time_us": 0} for entry in device] for device in snapshot["device_traces"]]
    return [entries, snapshot["segments"]]


def train_twice(configuration: str) -> None:
    with dry.scratch() as folder:
        first, second = Path(folder, "first.pickle"), Path(folder, "second.pickle")
        for path in first, second:
            inside("gpt", str(path), PYTORCH_CUDA_ALLOC_CONF=configuration)
        if decisions(first) != decisions(second):
            sys.exit("two runs of one program left different snapshots")
        if not decisions(first)[0][0]:
            sys.exit("the snapshot is empty")
        dry.tessera("simulate", "--verify", first)


def errors_are_understood() -> None:
    """What this version of PyTorch dies with tells `tessera oom` why."""
    with dry.scratch() as folder:
        for cause in "size", "fragmentation", "memory_fraction":
            log = Path(folder, cause)
            inside("die", str(log), NULLCUDA_DEVICE="1GiB", CAUSE=cause)
            found = json.loads(dry.tessera("oom", "--json", log))
            parts = sum(part["size_bytes"] for part in found["parts"])
            if found["cause"] != cause or abs(parts - (1 << 30)) > 16 << 20:
                sys.exit(f"{log.read_text()} is of {cause}, not {found}")


OUTSIDE = {
    "train": lambda: train_twice(""),
    "expandable": lambda: train_twice("expandable_segments:True"),
    "memory": lambda: [inside("memory", NULLCUDA_DEVICE="1GiB"), errors_are_understood()],
    "streams": lambda: [inside("streams", lag, NULLCUDA_LAG=lag) for lag in "10"],
    "values": lambda: inside("values"),
    "operations": lambda: inside("operations"),
    "devices": lambda: inside("devices", NULLCUDA_DEVICE="a100-40", NULLCUDA_COUNT="2"),
}


# ---- inside: under the null CUDA

def expect(is_true: bool, what: str) -> None:
    if not is_true:
        sys.exit(f"not true: {what}")


def raises(kind: type, texts: tuple[str, ...], call) -> None:
    try:
        call()
    except kind as error:
        for text in texts:
            expect(text in str(error), f"{text!r} in {str(error)!r}")
    else:
        sys.exit(f"{texts} was not raised")


def gpt(path: str) -> None:
    import torch
    from torch import nn

    torch.cuda.memory._record_memory_history(context=None, stacks="python")
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False),
                          nn.Linear(256, 1000)).to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters())
    for length in 256, 512, 384:
        tokens = torch.randint(0, 1000, (8, length)).cuda(non_blocking=True)
        # No autocast: it frees its cache in the order of host addresses, which are random.
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        expect(loss.item() == 0, "a loss is zero")
    torch.cuda.memory._dump_snapshot(path)


def die(log: str) -> None:
    import torch

    mib = 1 << 20
    if os.environ["CAUSE"] == "memory_fraction":
        torch.cuda.set_per_process_memory_fraction(0.25)
    blocks = [torch.empty(9 * mib, dtype=torch.uint8, device="cuda") for _ in range(24)]
    if os.environ["CAUSE"] == "fragmentation":
        blocks += [torch.empty(9 * mib, dtype=torch.uint8, device="cuda") for _ in range(72)]  # two in each segment of 20 MiB
        del blocks[::2]
    try:
        torch.empty((2048 if os.environ["CAUSE"] == "size" else 400) * mib, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        Path(log).write_text(str(error), encoding="utf-8")


def memory(_: str) -> None:
    import torch

    gib = 1 << 30
    expect(torch.cuda.mem_get_info() == (gib, gib), "all of 1 GiB is free")
    whole = torch.empty(gib, dtype=torch.uint8, device="cuda")  # to the last byte
    expect(torch.cuda.mem_get_info() == (0, gib), "nothing is free")
    raises(torch.OutOfMemoryError, ("CUDA out of memory. Tried to allocate 2.00 MiB.",
                                    "total capacity of 1024.00 MiB of which 0 bytes is free"),
           lambda: torch.empty(1, device="cuda"))
    del whole
    torch.empty(1, device="cuda")  # the cached segment is given back for it
    raises(torch.OutOfMemoryError, ("Tried to allocate 1.00 GiB",),
           lambda: torch.empty(gib + 1, dtype=torch.uint8, device="cuda"))
    statistics = torch.cuda.memory_stats()
    expect(statistics["num_ooms"] == 2, "two failures are counted")
    # The first way to do a convolution wants a workspace; the next does without.
    layer, picture = torch.nn.Conv2d(8, 8, 3, padding=1).cuda(), torch.empty(1, 8, 2048, 2048, device="cuda")
    rest = torch.empty(gib - (300 << 20), dtype=torch.uint8, device="cuda")
    expect(layer(picture).shape == picture.shape, "a convolution goes on without a workspace where memory is out")
    expect(torch.cuda.memory_stats()["num_ooms"] == 3, "... for which it asked")
    del layer, picture, rest
    expect(torch.empty(1000, pin_memory=True).is_pinned(), "pinned memory is known as such")
    expect(not torch.empty(1000).is_pinned(), "other host memory is not")


def streams(lag: str) -> None:
    import torch

    side = torch.cuda.Stream()
    n_bytes = 64 << 20
    torch.empty(0, device="cuda")
    block = torch.empty(n_bytes, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        for _ in range(50):
            block + 1
    block.record_stream(side)
    address = block.data_ptr()
    del block
    early = torch.empty(n_bytes, dtype=torch.uint8, device="cuda").data_ptr()
    expect((early == address) == (lag == "0"), f"with lag {lag} the block comes back {'late' if lag == '1' else 'at once'}")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    matrix = torch.empty(8192, 8192, dtype=torch.bfloat16, device="cuda")
    begin.record()
    for _ in range(10):
        matrix @ matrix
    end.record()
    end.synchronize()
    ms = begin.elapsed_time(end)
    expect(18 < ms < 19 if lag == "1" else ms < 1, f"ten products of 8192 take {ms} ms")

    still = torch.zeros(64, 64, device="cuda")
    layer = torch.nn.Linear(64, 64).cuda()
    with torch.cuda.stream(side):
        layer(still).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    layer.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        expect(torch.cuda.is_current_stream_capturing(), "the stream captures")
        result = layer(still)
        result.sum().backward()
    expect(not torch.cuda.is_current_stream_capturing(), "the capture is over")
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    expect(result.shape == (64, 64), "the graph ran")


def values(_: str) -> None:
    import torch
    from torch import nn

    numbers = torch.arange(100).cuda()
    expect([numbers[i].item() for i in range(3)] == [0, 1, 2], "what was sent there comes back by parts")
    expect(torch.tensor([[4, 5], [6, 7]]).cuda().tolist() == [[4, 5], [6, 7]], "and whole")

    library = ctypes.CDLL("libcuda.so.1")
    library.nullcuda_now_ns.restype = ctypes.c_double
    expect(library.nullcuda_now_ns() > 0, "the name of the driver is the null CUDA")
    expect((torch.ones(4, device="cuda") > 0).sum().item() == 1, "a count that nobody answers is one")
    mask = torch.zeros(100, dtype=torch.bool, device="cuda")
    expect(mask.nonzero().shape == (0, 1), "nothing is found in zeros")
    library.nullcuda_answer(ctypes.byref(ctypes.c_int(37)), ctypes.c_size_t(4))
    expect(mask.nonzero().shape == (37, 1), "a count is answered")

    model = nn.Linear(8, 8).cuda()
    optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
    for _ in range(3):
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.ones(4, 8, device="cuda")).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        expect(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item() == 0, "a norm is zero")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    expect(optimizer.state[model.weight]["step"].item() == 3, "no step was skipped for infinities")

    data = torch.utils.data.TensorDataset(torch.ones(8, 8), torch.arange(8))
    for batch, numbers in torch.utils.data.DataLoader(data, 4, pin_memory=True, num_workers=1):
        expect(batch.is_pinned(), "a loader pins")
        expect(numbers.to("cuda", non_blocking=True).tolist() == numbers.tolist(), "numbers go there and back")


def operations(_: str) -> None:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def tensor(*shape, **options):
        return torch.empty(*shape, device="cuda", **options)

    for channels_last in False, True:
        layout = torch.channels_last if channels_last else torch.contiguous_format
        model = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2),
                              nn.Conv2d(32, 32, 3, groups=4), nn.ConvTranspose2d(32, 8, 2, 2), nn.Flatten(),
                              nn.LazyLinear(10)).cuda()
        with torch.autocast("cuda", torch.bfloat16, enabled=channels_last):
            model(tensor(4, 3, 64, 64).to(memory_format=layout)).sum().backward()

    for backend in SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH:
        heads = [tensor(2, 8, 256, 64, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
        with sdpa_kernel(backend):
            functional.scaled_dot_product_attention(*heads, is_causal=True).sum().backward()
        expect(heads[0].grad.shape == heads[0].shape, f"{backend} goes both ways")

    rows, index = tensor(100, 64, requires_grad=True), torch.zeros(50, dtype=torch.long, device="cuda")
    nn.Embedding(100, 64).cuda()(index).sum().backward()
    (rows[index].sum() + rows.gather(0, index[:, None].expand(-1, 64)).sum()).backward()
    tensor(100, 64).index_add_(0, index, tensor(50, 64)).scatter_add_(0, index[:, None].expand(-1, 64), tensor(50, 64))
    plain = tensor(8, 10000)
    for call in (lambda: plain.topk(5), plain.sort, lambda: plain.cumsum(-1), plain.unique, plain.median,
                 lambda: plain.masked_fill_(plain > 0, 1), lambda: torch.multinomial(plain.abs(), 4),
                 lambda: torch.bincount(index, minlength=8), lambda: torch.randperm(1000, device="cuda"),
                 lambda: torch.gcd(index, index),  # compiled at run time
                 lambda: torch.bmm(tensor(4, 8, 8, dtype=torch.float64), tensor(4, 8, 8, dtype=torch.float64)),
                 lambda: functional.ctc_loss(tensor(50, 4, 20), torch.ones(4, 10, dtype=torch.long, device="cuda"),
                                             torch.full((4,), 50), torch.full((4,), 10))):
        call()
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adafactor, torch.optim.RMSprop, torch.optim.Adagrad):
        layer = nn.Linear(64, 64).cuda()
        layer(tensor(8, 64)).sum().backward()
        kind(layer.parameters(), lr=0.1).step()

    for kind, options in ((nn.LSTM, {}), (nn.LSTM, {"proj_size": 16}), (nn.GRU, {}), (nn.RNN, {"bias": False})):
        network = kind(32, 64, 2, bidirectional=True, dropout=0.1, **options).cuda()
        numbers = sum(parameter.numel() for parameter in network.parameters())
        weights = network._flat_weights[0].untyped_storage().nbytes() // 4
        expect(options.get("bias") is False or weights == numbers, f"{kind} {options}: {weights} weights of {numbers}")
        network(tensor(50, 8, 32))[0].sum().backward()
        expect(all(parameter.grad is not None for parameter in network.parameters()), f"{kind} learns")
        packed = nn.utils.rnn.pack_padded_sequence(tensor(50, 3, 32), torch.tensor([50, 20, 3]))
        network(packed)[0].data.sum().backward()

    sound, window = tensor(2, 4000).requires_grad_(), tensor(256)
    spectrum = torch.stft(sound, 256, window=window, return_complex=True)
    torch.istft(spectrum, 256, window=window).sum().backward()
    expect(sound.grad.shape == sound.shape, "sound goes through its spectrum and back")
    for transform, shape, n_bytes in ((torch.fft.rfft, (64, 1024), 64 * 513 * 8), (torch.fft.fft2, (4, 64, 64), 4 * 64 * 64 * 8)):
        numbers = tensor(*shape)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        result = transform(numbers)
        beside = torch.cuda.max_memory_allocated() - before - result.untyped_storage().nbytes()
        expect(n_bytes <= beside <= n_bytes + 512 * 2 + result.untyped_storage().nbytes(), f"{transform}: {beside} bytes beside the result")

    cameras = tensor(8, 4, 4).requires_grad_()
    torch.linalg.inv(cameras).sum().backward()
    expect(torch.linalg.solve(cameras, tensor(8, 4, 1)).shape == (8, 4, 1), "many small systems are solved")

    for shape in (32, 32), (40, 24), (600, 600), (5, 8, 8):
        matrix = tensor(*shape).requires_grad_()
        q, r = torch.linalg.qr(matrix)
        expect((q @ r).shape == shape and torch.linalg.svd(matrix, full_matrices=False)[1].shape[-1] == min(shape[-2:]),
               f"a matrix of {shape} is taken apart")
        (q.sum() + torch.linalg.svdvals(matrix).sum()).backward()
        if shape[-1] == shape[-2]:
            torch.linalg.eigh(matrix)[1].sum().backward()
            for solve in torch.linalg.inv, torch.linalg.slogdet, torch.linalg.cholesky, torch.linalg.lu_factor:
                solve(matrix)
            expect(torch.linalg.lstsq(matrix, matrix)[0].shape == shape, f"a system of {shape} is solved")
    square = tensor(32, 32)
    torch.nn.init.orthogonal_(square)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    torch.linalg.eigvalsh(square)
    expect(torch.cuda.max_memory_allocated() - before >= 2 * 32 * 32 * 4, "solving works in memory of its own")
    raises(RuntimeError, ("null CUDA has no cudaIpcGetMemHandle",), square.untyped_storage()._share_cuda_)


def devices(_: str) -> None:
    import torch

    expect(torch.cuda.device_count() == 2, "two devices")
    properties = torch.cuda.get_device_properties(1)
    expect(properties.name == "NVIDIA A100-SXM4-40GB" and properties.total_memory == 40536 << 20, str(properties))
    expect((properties.major, properties.minor, properties.multi_processor_count, properties.warp_size)
           == (8, 0, 108, 32), str(properties))
    expect(properties.max_threads_per_multi_processor == 2048, str(properties))
    there = torch.empty(1 << 20, device="cuda:1")
    expect(there.to("cuda:0").device.index == 0, "copies go between devices")
    expect(torch.cuda.mem_get_info(1)[0] < torch.cuda.mem_get_info(0)[1], "each has its own memory")

    # What programs log of a device, by the names that pynvml asks for.
    nvml, handle, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), ctypes.create_string_buffer(80)
    expect(nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(handle)) == 0, "its handle")
    expect(nvml.nvmlSystemGetDriverVersion(text, 80) == 0 and text.value.count(b".") == 2, str(text.value))
    for name, kinds, number in (
        ("Index", (), 1), ("PerformanceState", (), 0), ("ComputeMode", (), 0), ("TotalEnergyConsumption", (), 0),
        ("EnforcedPowerLimit", (), 700000), ("PowerManagementLimit", (), 700000), ("PowerUsage", (), 50000),
        ("MaxClockInfo", (1,), 1410), ("ClockInfo", (1,), 1410), ("Temperature", (0,), 30), ("PcieThroughput", (0,), 0),
        ("ComputeRunningProcesses_v3", (), 0), ("GraphicsRunningProcesses_v3", (), 0),
    ):
        answer = ctypes.c_ulonglong()
        status = getattr(nvml, "nvmlDeviceGet" + name)(handle, *kinds, ctypes.byref(answer))
        expect((status, answer.value) == (0, number), f"{name}: {status}, {answer.value}")
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    expect((major.value, minor.value) == (8, 0), "its compute capability")


def main() -> None:
    case = os.environ.get(INSIDE)
    if case:
        globals()[case](sys.argv[1])
    else:
        OUTSIDE[sys.argv[1]]()


if __name__ == "__main__":
    main()
