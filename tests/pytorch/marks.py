#!/usr/bin/env python3
"""Steps, phases and modules found by the hooks, against what a person would write down.
Nothing needs a device here.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
from types import SimpleNamespace

import torch
from told import expect, finish, tessera, watch
from torch import nn
from torch.utils.checkpoint import checkpoint

TRAIN = ">forward, <, >backward, <, >optimizer, <,"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x) + x


class Net(nn.Module):
    """Two blocks, each recomputed when asked: "new" or "reentrant"."""

    def __init__(self, recomputes=None):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.recomputes = recomputes

    def forward(self, x):
        for block in self.blocks:
            if self.recomputes and torch.is_grad_enabled():
                x = checkpoint(block, x, use_reentrant=self.recomputes == "reentrant")
            else:
                x = block(x)
        return x


def batch():
    return torch.ones(2, 4, requires_grad=True)


def sgd(*modules):
    return torch.optim.SGD([p for m in modules for p in m.parameters()], lr=0.1)


def train(net, optimizer, n_steps=1, n_micro=1):
    for _ in range(n_steps):
        for _ in range(n_micro):
            net(batch()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def plain(told):
    net = Net()
    optimizer = sgd(net)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(2):
        train(net, optimizer)
        schedule.step()


def accumulation(told):
    net = Net()
    train(net, sgd(net), n_steps=2, n_micro=2)


MICRO = """>forward, <, >backward, <, >forward, >micro-batch 1 forward, <, <,
    >backward, >micro-batch 1 backward, <, <, >optimizer, <,"""


def loss_module(told):
    """A loss that is a module is a forward pass of its own, of the same micro-batch."""
    net, loss = Net(), nn.MSELoss()
    optimizer = sgd(net)
    for _ in range(2):
        loss(net(batch()), torch.zeros(2, 4)).backward()
    optimizer.step()


def two_views(told):
    """Both go through the net before one backward pass."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        (net(batch()) - net(batch())).square().sum().backward()
    optimizer.step()


def groups(told):
    """DeepSpeed's optimizer is stepped once for each group of parameters."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        train(net, optimizer)
        optimizer.step()


def inner_steps(told):
    """Of a learner that learns to learn: gradients are taken, not added up."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        torch.autograd.grad(net(batch()).sum(), list(net.parameters()))
    net(batch()).sum().backward()
    optimizer.step()


def evaluation(told):
    net = Net()
    optimizer = sgd(net)
    for step in range(4):
        train(net, optimizer)
        if step == 1:
            with tessera.phase("eval"):
                net(batch())
                net(batch())
        if step == 2:
            with torch.no_grad():
                net(batch())


def evaluation_last(told):
    net = Net()
    train(net, sgd(net), n_steps=2)
    with torch.no_grad():
        net(batch())


def evaluation_with_gradients(told):
    """Nobody has turned them off; the loss is a module too, in training mode as ever."""
    net, loss = Net(), torch.nn.MSELoss()
    optimizer = sgd(net)
    for _ in range(2):
        train(net.train(), optimizer)
        net.eval()
        for _ in range(2):
            loss(net(batch()), torch.zeros(2, 4))


def adversarial_examples(told):
    """Made in evaluation mode, with gradients."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(4):
        net.eval()(batch()).sum().backward()
        train(net.train(), optimizer)


def teacher(told):
    """A frozen module is called in each step; an evaluation, which begins with it as well, is none of a step's."""
    net, other = Net(), Net()
    optimizer = sgd(net)
    for step in range(3):
        with torch.no_grad():
            other(batch())
        train(net, optimizer)
    with torch.no_grad():
        for _ in range(2):
            other(batch())
            net(batch())
    train(net, optimizer)


def before_the_first(has_optimizer, *called):
    """What is called without gradients before anything learns."""

    def program(told):
        net, other = Net(), Net()
        optimizer = sgd(net) if has_optimizer else None
        with torch.no_grad():
            for name in called:
                (net if name == "net" else other)(batch())
        if optimizer is not None:
            train(net, optimizer)

    return program


def average(told):
    """A frozen module that is called later only, as the average of the weights is."""
    net, other = Net(), Net()
    optimizer = sgd(net)
    train(net, optimizer)
    with torch.no_grad():
        other(batch())
    train(net, optimizer)


def evaluation_each_step(told):
    net = Net()
    optimizer = sgd(net)
    for _ in range(3):
        train(net, optimizer)
        with torch.no_grad():
            net(batch())


class Decoder(Net):
    """What Hugging Face's models give when they decode token by token."""

    def forward(self, x):
        return SimpleNamespace(logits=super().forward(x)[:, None], past_key_values=())


def reinforcement(told):
    """Generated with a name, or by a model that decodes; the step is the rollout and what is
    trained on it."""
    net, value, critic = Decoder(), Net(), Net()
    optimizer = sgd(value, net)
    for round in range(3):
        with torch.no_grad():
            if told.is_named:
                with tessera.phase("rollout"):
                    net(batch())
            else:
                net(batch())
                net(batch())
            critic(batch())
        train(value, optimizer, n_steps=2)
        with torch.no_grad():
            critic(batch())


def reinforcement_named(told):
    told.is_named = True
    reinforcement(told)


def decoded_by_ones_own(told):
    """A model of one's own that is given one token of each sequence; columns of numbers are none."""
    words, value = nn.Embedding(8, 4), Net()
    with torch.no_grad():
        value(torch.ones(2, 1, 4))
        value(torch.ones(4, 1) @ torch.ones(1, 4))
        words(torch.ones(2, 3, dtype=torch.int64))
        words(torch.ones(2, 1, dtype=torch.int64))
        words(torch.ones(2, 3, dtype=torch.int64))
    train(value, sgd(value))


def reinforcement_explicit(told):
    """Said by hand: the rollout is the step's all the same."""
    net, value = Net(), Net()
    optimizer = sgd(value)
    for _ in range(3):
        tessera.step()
        with tessera.phase("generate"):
            net(batch())
        train(value, optimizer, n_steps=2)


def reinforcement_decoded(told):
    told.is_named = False
    reinforcement(told)


def samples_shown(told):
    """A program that has trained before does not do reinforcement learning."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        train(net, optimizer, n_steps=2)
        with tessera.phase("generate"):
            net(batch())


def samples_shown_first(told):
    net = Net()
    optimizer = sgd(net)
    with tessera.phase("generate"):
        net(batch())
    train(net, optimizer, n_steps=tessera.marks.MOST_TRAINED + 3)
    told.words[:] = [word for word in told.words if word.startswith("step")]


def adversaries(told):
    critic, maker = Net(), Net()
    optimizers = sgd(critic), sgd(maker)
    for _ in range(2):
        for _ in range(2):
            critic(maker(batch()).detach()).sum().backward()
            optimizers[0].step()
        critic(maker(batch())).sum().backward()
        optimizers[1].step()


def adversaries_wanted():
    words = []
    for step in range(2):
        words.append(f"step {step}")
        for number in range(3):
            for phase in ("forward", "forward", "backward"):
                inner = [f">call {number + 1} of {phase}", "<"] if number else []
                words += [">" + phase] + inner + ["<"]
            words += [">optimizer", "<"]
    return words + ["step 2", "step 2", "step -1"]


def stages(told):
    """The first stage's optimizer is there during the second, and steps again in the third."""
    first, second = Net(), Net()
    optimizers = [sgd(first)]
    train(first, optimizers[0], 2)
    optimizers.append(sgd(second))
    train(second, optimizers[1], 2)
    for _ in range(2):
        for net, optimizer in zip((second, first), reversed(optimizers)):
            train(net, optimizer)


def stages_prepared(told):
    """The second stage's optimizer is there from the start, and waited for eight times."""
    first, second = Net(), Net()
    optimizers = sgd(first), sgd(second)
    train(first, optimizers[0], 9)
    train(second, optimizers[1], 2)


class Wrapper(torch.optim.Optimizer):
    """Steps another optimizer's parameters through that one, as SAM does."""

    def __init__(self, inner):
        super().__init__(inner.param_groups, {})
        self.inner = inner

    @torch.no_grad()
    def step(self, closure=None):
        self.inner.step()


def wrapped(told):
    net = Net()
    train(net, Wrapper(sgd(net)), n_steps=2)


def wrapper_aside(told):
    net = Net()
    outer = Wrapper(sgd(net))
    train(net, outer.inner, n_steps=2)


def closure(told):
    net = Net()
    optimizer = sgd(net)

    def again():
        optimizer.zero_grad()
        loss = net(batch()).sum()
        loss.backward()
        return loss

    optimizer.step(again)
    optimizer.step(again)


def skipped_by_scaler(told):
    """Gradients of the middle step overflow: no optimizer steps, yet a step is over."""
    net = Net()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu") if hasattr(torch, "amp") else torch.cuda.amp.GradScaler()
    for step in range(3):
        loss = net(batch()).sum() * (float("inf") if step == 1 else 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def explicit(told):
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        train(net, optimizer, n_steps=2)
        tessera.step()
    train(net, optimizer)


def explicit_first(told):
    net = Net()
    optimizer = sgd(net)
    for _ in range(2):
        tessera.step()
        train(net, optimizer)


def stopped(told):
    net = Net()
    train(net, sgd(net), n_steps=100)


def stopped_after(repeats):
    def program(told):
        told.repeats = list(repeats)
        stopped(told)

    return program


class Breaks(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        self.inner(x)
        raise ValueError("meant to happen")


def broken(told):
    net = Net()
    optimizer = sgd(net)
    with contextlib.suppress(ValueError):
        Breaks(net)(batch())
    train(net, optimizer)


def recomputed(kind):
    def program(told):
        net = Net(kind)
        train(net, sgd(net))

    return program


def paths(told):
    net = Net()
    train(net, sgd(net))


def paths_of_two(told):
    net, other = Net(), Net()
    net(batch())
    nn.Sequential(other)(batch())


class Peeks(torch.autograd.Function):
    """Passes on, and asks in its backward in which module it is."""

    told = None
    found = []

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        Peeks.found.append(Peeks.told.asked())
        return gradient


class Peeking(Block):
    def forward(self, x):
        return Peeks.apply(self.inner(Peeks.apply(x)))


def asked_only_in_backward(told):
    """Each request outside would else wait for the interpreter."""
    Peeks.told, Peeks.found = told, []
    net = Net()
    loss = Peeks.apply(net(batch())).sum()
    before = told.find
    loss.backward()
    told.words[:] = [str(before), "named" if Peeks.found else "unnamed", str(told.find)]


def backward_modules(kind):
    def program(told):
        Peeks.told, Peeks.found = told, []
        net = Net(kind)
        net.blocks = nn.ModuleList([Peeking(), Peeking()])
        Peeks.apply(net(batch())).sum().backward()
        told.words[:] = map(str, Peeks.found)

    return program


expect("modules are asked for in a backward pass alone", watch(asked_only_in_backward, True), "None, named, None")
expect("a plain loop", watch(plain), f"step 0, {TRAIN} step 1, {TRAIN} step 2, step 2, step -1")
expect("accumulation", watch(accumulation), f"step 0, {MICRO} step 1, {MICRO} step 2, step 2, step -1")
expect(
    "a loss that is a module",
    watch(loss_module),
    """step 0, >forward, <, >forward, <, >backward, <,
    >forward, >micro-batch 1 forward, <, <, >forward, >micro-batch 1 forward, <, <,
    >backward, >micro-batch 1 backward, <, <, >optimizer, <, step 1, step 1, step -1""",
)
expect(
    "two views of a batch",
    watch(two_views),
    """step 0, >forward, <, >forward, >call 2 of forward, <, <, >backward, <,
    >forward, >call 3 of forward, <, <, >forward, >call 4 of forward, <, <,
    >backward, >micro-batch 1 backward, <, <, >optimizer, <, step 1, step 1, step -1""",
)
expect(
    "a step for each group of parameters",
    watch(groups),
    f"step 0, {TRAIN} step 1, >optimizer, <, {TRAIN} step 2, >optimizer, <, step 2, step -1",
)
expect(
    "inner steps",
    watch(inner_steps),
    """step 0, >forward, <, >backward, <,
    >forward, >call 2 of forward, <, <, >backward, >call 2 of backward, <, <,
    >forward, >call 3 of forward, <, <, >backward, >call 3 of backward, <, <, >optimizer, <, step 1, step 1, step -1""",
)
expect(
    "evaluation between steps",
    watch(evaluation),
    f"""step 0, {TRAIN} step 1, {TRAIN} step 2, step -1, >eval, <, step 2, {TRAIN}
    step 3, >eval, <, {TRAIN} step 4, step 4, step -1""",
)
expect(
    "evaluation between steps, when a plan is followed",
    watch(evaluation, options={"plan": "a.tsp"}),
    f"""step 0, {TRAIN} step 1, {TRAIN} step 2, step -1, >eval, <, step 2, {TRAIN}
    step 3, step -1, >eval, <, step 3, {TRAIN} step 4, step 4, step -1""",
)
FROZEN = ">frozen forward, <,"
for options in {}, {"plan": "a.tsp"}:
    expect(
        f"what a frozen module does is of the step {options}",
        watch(teacher, options=options),
        f"""step 0, {FROZEN} {TRAIN} step 1, {FROZEN} {TRAIN} step 2, {FROZEN} {TRAIN} step 3, {FROZEN} step -1, >eval, <,
        >eval, <, >eval, <, step 3, {TRAIN} step 4, step 4, step -1""",
    )
expect(
    "what is called twice before anything learns is start-up",
    watch(before_the_first(True, "other", "other", "other")),
    f"step 0, {FROZEN} step -1, >eval, <, >eval, <, step 0, {TRAIN} step 1, step 1, step -1",
)
expect(
    "what learns then has helped no step",
    watch(before_the_first(True, "net")),
    f">eval, <, step 0, {TRAIN} step 1, step 1, step -1",
)
expect("where there is no optimizer nothing learns", watch(before_the_first(False, "other")), ">eval, <,")
expect(
    "a frozen module that is evaluated",
    watch(average),
    f"step 0, {TRAIN} step 1, step -1, >eval, <, step 1, {TRAIN} step 2, step 2, step -1",
)
expect(
    "evaluation at the end",
    watch(evaluation_last),
    f"step 0, {TRAIN} step 1, {TRAIN} step 2, step -1, >eval, <, step 2, step -1",
)
EVALUATED = 4 * " >eval with gradients, <,"
expect(
    "evaluation with gradients",
    watch(evaluation_with_gradients),
    f"step 0, {TRAIN} step 1, step -1,{EVALUATED} step 1, {TRAIN} step 2,{EVALUATED} step 2, step -1",
)
expect(
    "what is differentiated is evaluation once at most",
    watch(adversarial_examples),
    f"step 0, {MICRO} step 1, step -1, >eval with gradients, <, step 1, >backward, <, >forward, <, >backward, >micro-batch 1 backward, <, <,"
    f" >optimizer, <, step 2, {MICRO} step 3, {MICRO} step 4, step 4, step -1",
)
TRAINED = """>forward, <, >backward, <, >optimizer, <, >forward, >call 2 of forward, <, <,
    >backward, >call 2 of backward, <, <, >optimizer, <,"""
ROUND = f">scoring, <, {TRAINED} >eval, <,"
expect(
    "a rollout and all of the training on it are a step",
    watch(reinforcement_named),
    f">rollout, <, >scoring, <, step 0, {TRAINED} >eval, <," +
    "".join(f"step {number}, >rollout, <, {ROUND}" for number in (1, 2)),
)
SAID = f">generate, <, {TRAINED}"
for options in {}, {"plan": "a.tsp"}:
    expect(
        f"steps with rollouts, said by hand {options}",
        watch(reinforcement_explicit, options=options),
        f"step 0, {SAID} step 1, {SAID} step 2, {SAID}",
    )
expect(
    "a model of one's own is given one token of each sequence",
    watch(decoded_by_ones_own),
    f">eval, <, >eval, <, >eval, <, >generate, <, >generate, <, step 0, {TRAIN}",
)
expect(
    "a model that decodes token by token generates",
    watch(reinforcement_decoded),
    f">eval, <, >generate, <, >scoring, <, step 0, {TRAINED} >eval, <," + "".join(
        f"step {number}, >generate, <, >generate, <, {ROUND}" for number in (1, 2)),
)
expect(
    "samples that are shown are evaluation",
    watch(samples_shown),
    f"""step 0, {TRAIN} step 1, {TRAIN} step 2, step -1, >generate, <, step 2, {TRAIN} step 3, {TRAIN}
    step 4, step -1, >generate, <, step 4, step -1""",
)
expect(
    "samples that are shown first as well, a while later",
    watch(samples_shown_first),
    "step 0, step 1, step 2, step 3, step 3, step -1",
)
expect(
    "evaluation at each step belongs to it",
    watch(evaluation_each_step),
    f"""step 0, {TRAIN} step 1, step -1, >eval, <, step 1, {TRAIN}
    step 2, >eval, <, {TRAIN} step 3, >eval, <, step 3, step -1""",
)
expect("two optimizers that take turns", watch(adversaries), adversaries_wanted())
AGAIN = ">forward, <, >backward, >call 2 of backward, <, <, >optimizer, <,"
expect(
    "an optimizer that comes when another has trained alone begins a stage",
    watch(stages),
    f"""step 0, {TRAIN} step 1, {TRAIN} step 2, {TRAIN} step 3, {TRAIN} step 4, {TRAIN}
    step 5, {TRAIN} step 6, {TRAIN} {AGAIN} step 7, step 7, step -1""",
)
EIGHT = TRAIN + "".join(TRAIN.replace("forward, <", f"forward, >call {n} of forward, <, <").replace("backward, <", f"backward, >call {n} of backward, <, <") for n in range(2, 9))
expect(
    "an optimizer that has waited since the start begins a stage",
    watch(stages_prepared),
    f"step 0, {EIGHT} step 1, {TRAIN} step 2, {TRAIN} step 3, {TRAIN} step 4, step 4, step -1",
)
WRAPPED = ">forward, <, >backward, <, >optimizer, >optimizer, <, <,"
expect("an optimizer in an optimizer", watch(wrapped), f"step 0, {WRAPPED} step 1, {WRAPPED} step 2, step 2, step -1")
expect("an optimizer that only holds another", watch(wrapper_aside), f"step 0, {TRAIN} step 1, {TRAIN} step 2, step 2, step -1")
CLOSURE = ">optimizer, >forward, <, >backward, <, <,"
expect("forward inside step()", watch(closure), f"step 0, {CLOSURE} step 1, {CLOSURE} step 2, step 2, step -1")
SCALED = ">forward, <, >backward, <, >optimizer, >optimizer, <, <,"
expect(
    "a scaler that skips a step",
    watch(skipped_by_scaler),
    f"step 0, {SCALED} step 1, {TRAIN} step 2, {SCALED} step 3, step 3, step -1",
)
expect(
    "steps by hand, two optimizer steps each",
    watch(explicit),
    f"""step 0, {TRAIN} step 1, {TRAIN} step 2, {TRAIN}
    >forward, >call 2 of forward, <, <, >backward, >call 2 of backward, <, <, >optimizer, <,
    step 3, {TRAIN}""",
)
expect("steps by hand, at their begin", watch(explicit_first), f"step 0, {TRAIN} step 1, {TRAIN}")
expect("an end after two steps", watch(stopped, stop_after=(2, 2)), f"step 0, {TRAIN} step 1, {TRAIN} step -1, finished")
expect(
    "an end once a step repeats",
    watch(stopped_after([False, True, False, False, True]), stop_after=(3, 6)),
    "step 0, " + "".join(f"{TRAIN} step {k}, " for k in (1, 2, 3, 4)) + f"{TRAIN} step -1, finished",
)
expect(
    "an end though no step repeats",
    watch(stopped_after([False] * 9), stop_after=(1, 3)),
    f"step 0, {TRAIN} step 1, {TRAIN} step 2, {TRAIN} step -1, finished",
)
expect("an exception in forward", watch(broken), f"step 0, >forward, <, {TRAIN} step 1, step 1, step -1")
RECOMPUTED = "step 0, >forward, <, >backward, >recompute, <, >recompute, <, <, >optimizer, <, step 1, step 1, step -1"
expect("recomputation", watch(recomputed("new")), RECOMPUTED)
expect("reentrant recomputation", watch(recomputed("reentrant")), RECOMPUTED)
BLOCKS = "(blocks.0, (blocks.0.inner, ), ), (blocks.1, (blocks.1.inner, ), ),"
expect(
    "paths of modules",
    watch(paths, has_modules=True),
    f"step 0, >forward, (Net, {BLOCKS} ), <, >backward, <, >optimizer, <, step 1, step 1, step -1",
)
OTHER = "(Sequential.0, (Sequential.0.blocks.0, (Sequential.0.blocks.0.inner, ), ), (Sequential.0.blocks.1, (Sequential.0.blocks.1.inner, ), ), ),"
expect(
    "paths of a second program's modules",
    watch(paths_of_two, has_modules=True),
    f"step 0, >forward, (Net, {BLOCKS} ), <, >forward, (Sequential, {OTHER} ), <",
)
for kind in (None, "new", "reentrant"):
    expect(
        f"modules of the backward pass ({kind or 'no recomputation'})",
        watch(backward_modules(kind), has_modules=True),
        "None, blocks.1, blocks.1, blocks.0, blocks.0",
    )
finish()
