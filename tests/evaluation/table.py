# SPDX-License-Identifier: Apache-2.0
"""docs/evaluation/ROW.json and the tables of docs/EVALUATION.md that are made from them."""
import json
import os

GIB = 1 << 30
BEGIN, END = "<!-- rows: tests/evaluation/evaluate.py --table -->", "<!-- end of rows -->"

POLICIES = ("native", "expandable", "plan")


def path_of(source, name):
    return source / "docs" / "evaluation" / f"{name}.json"


def load(source, name):
    return json.loads(path_of(source, name).read_text(encoding="utf-8"))


def save(source, result):
    """One line, whole or not at all."""
    path = path_of(source, result["row"])
    half = path.with_suffix(".part")
    half.write_text(json.dumps(result) + "\n", encoding="utf-8")
    os.replace(half, path)


def worst_of(ranks):
    """The one whose waste the plan removes least of."""
    return min(ranks, key=lambda each: each["waste_removed"])


def gib_of(ranks, key):
    mean = sum(each[key] for each in ranks) / len(ranks)
    return f"{gib(mean)} ({gib(worst_of(ranks)[key])})"


def waste_removed(ranks):
    """Of all ranks' waste together: one without any has no share to speak of."""
    live, native, plan = (sum(each[f"{key}_bytes"] for each in ranks)
                          for key in ("live", "native", "plan"))
    return f"{1 - (plan - live) / (native - live):.1%} ({worst_of(ranks)['waste_removed']:.1%})"


def gib(n_bytes):
    return f"{n_bytes / GIB:.2f}"


def cells(result):
    ranks = result["ranks"]
    yield result["title"]
    yield result["options"]
    yield f"{max(each['requests_a_step'] for each in ranks):,}"
    yield f"{max(each['trace_cpu_seconds'] for each in ranks):.0f}"
    yield f"{max(each['plan_cpu_seconds'] for each in ranks):.1f}"
    for key in ("live", *POLICIES):
        yield gib_of(ranks, f"{key}_bytes")
    yield waste_removed(ranks)
    most = [max(each[f"smallest_{policy}_bytes"] for each in ranks) for policy in POLICIES]
    yield " / ".join(map(gib, most))


HEAD = ["model", "options", "requests a step", "trace s", "plan s", "live", "native",
        "expandable", "plan", "waste removed", "smallest device: native / expandable / plan"]

FOLLOWED_HEAD = ["row", "rank", "followed", "hits", "misses", "missed", "pool", "extras"]


def followed_cells(result):
    seen = result["following"]
    yield f"{result['title']}, {result['options']}"
    yield str(seen["rank"])
    if not seen["followed"]:
        yield from ["declined", "", "", "", "", ""]
        return
    n_followed = seen["hits"] + seen["misses"]
    is_declined = seen.get("declined_at_event", 0) > 0
    yield f"declined after {n_followed / seen['requests']:.0%}" if is_declined else "to the end"
    yield f"{seen['hits']:,}"
    yield f"{seen['misses']:,}"
    for key in ("missed_bytes", "pool_bytes"):
        yield gib(seen[key])
    yield "" if is_declined else gib(seen["extra_bytes"])


def as_table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def regenerate(source, rows):
    """Puts the tables between their marks."""
    results = [load(source, name) for name in rows if path_of(source, name).exists()]
    missing = [name for name in rows if not path_of(source, name).exists()]
    parts = [as_table(HEAD, map(cells, results)),
             "Not run: " + (", ".join(missing) or "none") + "."]
    followed = [result for result in results if result["following"]]
    if followed:
        parts += ["Plans followed in a second dry run, of another seed (GiB):",
                  as_table(FOLLOWED_HEAD, map(followed_cells, followed))]
    page = source / "docs" / "EVALUATION.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN + "\n")
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n" + "\n\n".join(parts) + f"\n{END}{after}",
                    encoding="utf-8")
