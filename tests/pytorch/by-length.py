#!/usr/bin/env python3
"""A plan made from batches of some lengths is followed by batches of others.

    by-length.py SHIM [PROGRAM [OPTION...]]

The plan of examples/llama.py, each batch padded to a length of its own, is made from one seed and
followed by others in processes of their own; or that of examples/accumulate.py or lora.py, whose steps
have three micro-batches of such a length each. The shim between PyTorch and the library judges: what
was handed out was free and aligned, and the driver gave less than expandable segments take.

SPDX-License-Identifier: Apache-2.0
"""
import dry

STEPS = 6
ARGUMENTS = {
    "llama": ["--recompute", "--var-length", "--length", "2048", "--steps", STEPS + 1],
    "accumulate": ["--var-length", "--micro-batches", "3", "--evaluate-every", "0", "--save-every", "0",
                   "--steps", STEPS + 1],
    "lora": ["--recompute", "--var-length", "--length", "1024", "--micro-batches", "3", "--steps", STEPS + 1],
}
SEEDS = [2, 3]
LEAST_HIT = 0.97  # of the bytes that a step asks for
MOST_RESERVED = 1.03  # of what is allocated in the moment that most is
# Logs and evaluations between the steps, which are no steps, and batches of another stream.
MORE = ["--log-norms", "--evaluate-every", "2", "--prefetch"]
LEAST_HIT_WITH_MORE, MOST_RESERVED_WITH_MORE = 0.80, 1.10
# Of micro-batches: the embedding's gradient is sorted in workspaces without a law, at the peak.
MOST_RESERVED_OF_PARTS = 1.05
WAYS = {
    "llama": [([], LEAST_HIT, MOST_RESERVED), (MORE, LEAST_HIT_WITH_MORE, MOST_RESERVED_WITH_MORE)],
    "accumulate": [([], LEAST_HIT, MOST_RESERVED_OF_PARTS)],
    "lora": [([], LEAST_HIT, MOST_RESERVED)],
}


def peak_allocated(seen_trace):
    """Bytes of blocks alive together at most, from the trace."""
    held = most = 0
    sizes = {}
    for action, addr, size in dry.query(
            seen_trace, "SELECT name, addr, size_bytes FROM event JOIN action USING (action) "
            "WHERE name IN ('alloc', 'free_completed') ORDER BY event_index"):
        if action == "alloc":
            sizes[addr] = -(-size // 512) * 512
            held += sizes[addr]
        else:
            held -= sizes.pop(addr, 0)
        most = max(most, held)
    return most


def judge(report, folder, name, steps, seen, said, alone, least_hit, most_reserved):
    print(name)
    for line in said:
        print("   ", line)
    report.expect_safe(seen)
    report.expect(seen["plan_is_declined"] == 0, "the plan is followed to the end")
    for step in range(steps):
        made = [request for request in seen["requests"] if request[0] == step]
        asked = sum(size for _, size, *_ in made)
        hit = sum(size for _, size, is_hit, *_ in made if is_hit)
        report.expect(hit >= least_hit * asked, f"step {step}: {len(made)} requests, {sum(r[2] for r in made)} hit, "
                      f"{hit / asked:.4f} of the bytes")
    allocated = peak_allocated(folder / "other.tsr")
    reserved, expandable = seen["peak_reserved_bytes"], alone["peak_reserved_bytes"]
    report.expect(reserved <= most_reserved * allocated,
                  f"{reserved / dry.MIB:.0f} MiB reserved, {reserved / allocated:.4f} of what is allocated")
    report.expect(reserved <= expandable,
                  f"expandable segments: {expandable / dry.MIB:.0f} MiB, {expandable / allocated:.4f}")


@dry.judge
def main(report, folder, shim, program="llama", *always):
    plan = folder / "a.tsp"
    dry.dry_run(plan.with_suffix(".tsr"), dry.EXAMPLES / f"{program}.py", *ARGUMENTS[program], "--seed", "1", *always,
                options=["--no-stacks", "--steps", STEPS])
    for seed in SEEDS:
        for more, *limits in WAYS[program][:1] if always else WAYS[program]:
            more = [*always, *more]
            command = [folder / "other.tsr", shim, dry.EXAMPLES / f"{program}.py", *ARGUMENTS[program], "--seed", seed, *more]
            alone, _ = dry.under_shim(*command, options=["--steps", STEPS, "--policy", "expandable"])
            seen, said = dry.under_shim(*command, options=["--steps", STEPS, "--plan", plan])
            judge(report, folder, " ".join(["seed", str(seed), *more]), STEPS, seen, said,
                  alone, *limits)
