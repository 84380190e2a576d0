#!/usr/bin/env python3
"""A recording says which tensor lies where, held against what the program itself counts.

After each step of an optimizer the program writes down its tensors, with the address and the bytes
of their storage. Those of steps 1, 2 and 4 have to be told, each in a block that is alive.

SPDX-License-Identifier: Apache-2.0
"""
import json

import dry

KINDS = {1: "parameter", 2: "gradient", 3: "state", 4: "buffer"}
STEPS = 5  # the last is ended before the program writes it down
WRITTEN = (1, 2, 4)  # the steps whose tensors are told

COUNTS = '''
import json, os, runpy, sys, torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

steps = []
stepped = "parameter"  # what an optimizer steps


def write_down(optimizer, *_):
    """In the order (kind, name, address, bytes); no name where the program has none at hand."""
    rows = []

    def add(kind, name, tensor):
        tensor = getattr(tensor, "_local_tensor", tensor)
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            storage = tensor.untyped_storage()
            rows.append((kind, name, storage.data_ptr(), storage.nbytes()))

    for kind, name, tensor in extra():
        add(kind, name, tensor)
    named = names()
    for parameter in optimizer.param_groups[0]["params"]:
        name = named.get(parameter)
        add(stepped, name, parameter)
        add("gradient", name, parameter.grad)
        for key, value in optimizer.state[parameter].items():
            add("state", name and f"{key} of {name}", value)
    steps.append(rows)
    with open(os.environ["COUNTS"], "w") as file:
        json.dump(steps, file)


def extra():
    return []


def names():
    return {}


register_optimizer_step_post_hook(write_down)
if "--untold" in sys.argv:
    import tessera.tensors

    tessera.tensors.Tensors.attach = lambda *_: None
'''

# An output layer that is the embedding, statistics of a batch norm, a layer that is not trained, and
# state on the device and on the host.
ADAM = COUNTS + '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 256)
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(3))
        self.layers[1].requires_grad_(False)
        self.norm = nn.BatchNorm1d(256)
        self.out = nn.Linear(256, 1000, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x).relu()
        return self.out(self.norm(x))


net = Net().cuda()


def extra():
    for name, buffer in net.named_buffers():
        yield "buffer", name, buffer
    for name, parameter in net.named_parameters():
        if not parameter.requires_grad:
            yield "parameter", name, parameter


def names():
    return {parameter: name for name, parameter in net.named_parameters()}


optimizer = torch.optim.AdamW((p for p in net.parameters() if p.requires_grad), lr=1e-3)
for step in range(%d):
    net(torch.randint(1000, (64,), device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
''' % STEPS

# Two modules of one class that nothing holds together, a parameter in none, and gradients that stay.
SGD = COUNTS + '''
halves = [nn.Linear(128, 128).cuda(), nn.Linear(128, 128).cuda()]
scale = nn.Parameter(torch.ones(700, device="cuda"))


def names():
    named = dict(zip(halves[0].parameters(), ("weight", "bias")))
    named.update(zip(halves[1].parameters(), ("Linear 2.weight", "Linear 2.bias")))
    return named


parameters = [*halves[0].parameters(), *halves[1].parameters(), scale]
optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)
for step in range(%d):
    x = halves[1](halves[0](torch.randn(32, 128, device="cuda")))
    (x.sum() + scale.sum()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
''' % STEPS

# A module that is called with parameters that torch.func wraps, too, which lie nowhere.
WRAPPED = COUNTS + '''
net = nn.Linear(128, 128).cuda()


def names():
    return {parameter: name for name, parameter in net.named_parameters()}


def loss_of(own, row):
    return torch.func.functional_call(net, own, row[None]).sum()


optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
for step in range(%d):
    own = {name: one.detach() for name, one in net.named_parameters()}
    torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(own, torch.ones(4, 128, device="cuda"))
    net(torch.randn(32, 128, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
''' % STEPS

# An ensemble: what is called is a module on "meta", and what is stepped are stacked parameters of others.
STACKED = COUNTS + """
members = [nn.Linear(64, 64).cuda() for _ in range(3)]
stacked, buffers = torch.func.stack_module_state(members)
net = nn.Linear(64, 64).to("meta")
del members


def loss_of(own, row):
    return torch.func.functional_call(net, own, (row,)).square().sum()


optimizer = torch.optim.AdamW(stacked.values(), lr=1e-3)
for step in range(%d):
    torch.func.vmap(loss_of, in_dims=(0, None))(stacked, torch.ones(4, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""" % STEPS

# A model in half precision whose optimizer steps copies.
COPIES = COUNTS + '''
net = nn.Sequential(nn.Linear(256, 256), nn.Linear(256, 256)).cuda().bfloat16()
stepped = "state"
copies = [parameter.detach().float() for parameter in net.parameters()]


def extra():
    for name, parameter in net.named_parameters():
        yield "parameter", name, parameter
        yield "gradient", name, parameter.grad

optimizer = torch.optim.AdamW(copies, lr=1e-3)
for step in range(%d):
    net(torch.randn(32, 256, device="cuda").bfloat16()).sum().backward()
    for copy, parameter in zip(copies, net.parameters()):
        copy.grad = parameter.grad.float()
    optimizer.step()
    for copy, parameter in zip(copies, net.parameters()):
        parameter.data.copy_(copy)
        parameter.grad = None
''' % STEPS

# Parameters that others were computed from, as inner steps do, have no gradients of their own, and
# PyTorch warns of who asks.
INNER = COUNTS + """
import warnings
warnings.simplefilter("error")
net = nn.Linear(64, 64).cuda()


def names():
    return {parameter: name for name, parameter in net.named_parameters()}


optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
for step in range(%d):
    own = dict(net.named_parameters())
    for _ in range(2):
        loss = torch.func.functional_call(net, own, (torch.ones(4, 64, device="cuda"),)).sum()
        given = torch.autograd.grad(loss, list(own.values()), create_graph=True)
        own = {name: one - 0.1 * gradient for (name, one), gradient in zip(own.items(), given)}
    torch.func.functional_call(net, own, (torch.ones(4, 64, device="cuda"),)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""" % STEPS

# A rank's shards of Llama.
FSDP = COUNTS + '''
sys.path.insert(0, %r)
sys.argv = ["fsdp2.py", "--steps", "%d", "--length", "256"]
runpy.run_path(sys.path[0] + "/fsdp2.py", run_name="__main__")
''' % (str(dry.EXAMPLES), STEPS)


def record(folder, name, program, *arguments, options=()):
    """The trace, and what the program wrote down after each step."""
    script, trace = folder / f"{name}.py", folder / f"{name}.tsr"
    counts = folder / f"{name}.json"
    script.write_text(program, encoding="utf-8")
    dry.dry_run(trace, script, *arguments, options=["--steps", STEPS, *options], env={"COUNTS": str(counts)})
    return trace, json.loads(counts.read_text(encoding="utf-8"))


def told_in(trace, begin, end):
    """(kind, name, address, index of the event before which it was told)."""
    return [(KINDS[kind], name, addr, index) for kind, name, addr, index in dry.query(
        trace, "SELECT kind, text, addr, event_index FROM tensor JOIN string ON string_index = name "
        "WHERE event_index > ? AND event_index <= ? ORDER BY tensor_index", begin, end)]


def block_of(trace, addr, index):
    """(address, bytes) of the block that is alive there after the events before @index."""
    found = dry.query(
        trace, "SELECT addr, size_bytes FROM block WHERE born_index < ?1 AND addr <= ?2 AND addr + block_bytes > ?2 "
        "AND (freed_index IS NULL OR freed_index >= ?1)", index, addr)
    return found[0] if found else None


def bytes_by_kind(rows):
    """Of (kind, address, bytes): each storage once."""
    sums = {}
    for kind, addr, n_bytes in set(rows):
        sums[kind] = sums.get(kind, 0) + n_bytes
    return sums


def check(report, title, trace, steps):
    """Returns every (kind, name, address) that was told."""
    bounds = dict(dry.query(trace, "SELECT name, end_index FROM step ORDER BY range_index"))
    known, blocks = set(), {}  # the block at (kind, address), as told last
    begin = -1
    for number, written in enumerate(steps, 1):
        end = bounds[f"step {number - 1}"]
        told = told_in(trace, begin, end)
        begin = end
        if number not in WRITTEN:
            report.expect(not told, f"{title}, step {number}: nothing is told")
            continue
        known |= {row[:3] for row in told}
        blocks.update({(kind, addr): block_of(trace, addr, index) for kind, _, addr, index in told})
        lost = [row for row in told if (blocks[row[0], row[2]] or [None])[0] != row[2]]
        report.expect(not lost, f"{title}, step {number}: each of {len(told)} begins a block: {lost[:3]}")
        missing = [row for row in written if not (tuple(row[:3]) in known if row[1] else (row[0], row[2]) in blocks)]
        report.expect(not missing, f"{title}, step {number}: {len(written)} tensors are told: {missing[:3]}")
        found = bytes_by_kind([(kind, addr, blocks[kind, addr][1]) for kind, _, addr, _ in written
                               if blocks.get((kind, addr))])
        wanted = bytes_by_kind([(kind, addr, n_bytes) for kind, _, addr, n_bytes in written])
        report.expect(found == wanted, f"{title}, step {number}: {found} bytes by kind, {wanted}")
    report.expect(len(steps) >= max(WRITTEN), f"{title}: {len(steps)} steps")
    return known


@dry.judge
def main(report, folder):
    trace, steps = record(folder, "adam", ADAM)
    known = check(report, "AdamW", trace, steps)
    kinds = {kind for kind, _, _ in known}
    report.expect(kinds == set(KINDS.values()), f"AdamW: {sorted(kinds)}")
    tied = [name for kind, name, _ in known if kind == "parameter" and name.endswith(("embedding.weight", "out.weight"))]
    report.expect(tied == ["embedding.weight"], f"what is tied is told once: {tied}")
    untold, _ = record(folder, "untold", ADAM, "--untold")
    events = "SELECT action, size_bytes, stream FROM event ORDER BY event_index"
    report.expect(not dry.query(untold, "SELECT * FROM tensor"), "a run that tells nothing")
    report.expect(dry.query(trace, events) == dry.query(untold, events), "asks for the same memory")

    trace, steps = record(folder, "sgd", SGD)
    known = check(report, "SGD", trace, steps)
    report.expect(any(key[:2] == ("parameter", "parameter 4 of SGD") for key in known), "a parameter in no module")
    again = dry.query(trace, "SELECT kind, addr, count(*) FROM tensor GROUP BY kind, addr HAVING count(*) > 1")
    report.expect(not again, f"what stays in place is told once: {again}")

    trace, steps = record(folder, "wrapped", WRAPPED)
    check(report, "wrapped", trace, steps)

    trace, steps = record(folder, "inner", INNER)
    check(report, "inner steps", trace, steps)

    trace, steps = record(folder, "stacked", STACKED)
    check(report, "an ensemble", trace, steps)

    trace, steps = record(folder, "copies", COPIES)
    check(report, "copies", trace, steps)

    trace, steps = record(folder, "fsdp2", FSDP, options=["--world", 16, "--rank", 3])
    known = check(report, "FSDP2", trace, steps)
    for kind, name in ("parameter", "{}"), ("gradient", "{}"), ("state", "exp_avg of {}"):
        name = name.format("model.layers.0.mlp.down_proj.weight")
        report.expect(any(key[:2] == (kind, name) for key in known), f"FSDP2: {kind} {name}")
