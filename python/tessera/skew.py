# SPDX-License-Identifier: Apache-2.0
"""Counts that data would give, where nothing is computed: drawn, seeded, skewed.

Each place of a program (a layer's router, say) has a popularity of its own for each of
its experts, log-normal with sigma 0.6, and each visit shifts it by sigma 0.5: about what
is published of routers that are trained with a balancing loss. The seed is NULLCUDA_SEED;
the same program sees the same counts.
"""

import math
import os
import random
from collections import deque
from typing import Any, Deque, Dict, List, Tuple

import torch

POPULARITY_SIGMA = 0.6
SHIFT_SIGMA = 0.5
#: Visits whose counts a recomputation may still ask for.
MAX_REMEMBERED = 1024


def share(weights: List[float], total: int, limit: int) -> List[int]:
    """@total in proportion to @weights, none above @limit (their sum reaches @total)."""
    counts = [0] * len(weights)
    left = total
    open_places = list(range(len(weights)))
    while left and open_places:
        whole = sum(weights[place] for place in open_places)
        given = 0
        for place in open_places:
            more = min(limit - counts[place], int(left * weights[place] / whole))
            counts[place] += more
            given += more
        open_places = [place for place in open_places if counts[place] < limit]
        if not given:  # fractions: the heaviest first
            for place in sorted(open_places, key=lambda place: -weights[place])[:left]:
                counts[place] += 1
                given += 1
        left -= given
    return counts


class Skew:
    """Visits are told apart by the place, the count of visits, and whether autograd is
    recomputing: then the counts of the forward pass come again, first in, first out."""

    def __init__(self) -> None:
        self._seed = os.environ.get("NULLCUDA_SEED", "0")
        self._places: Dict[int, Tuple[Any, int]] = {}  # by id: the object kept alive
        self._n_visits: Dict[int, int] = {}
        self._remembered: Dict[int, Deque[List[List[int]]]] = {}

    def _place(self, thing: Any) -> int:
        entry = self._places.setdefault(id(thing), (thing, len(self._places)))
        return entry[1]

    def _random(self, *key: object) -> random.Random:
        return random.Random("/".join(map(str, (self._seed,) + key)))

    def weights(self, place: int, visit: int, n: int, row: int) -> List[float]:
        popularity = self._random(place)
        shift = self._random(place, visit, row)
        return [
            math.exp(popularity.gauss(0, POPULARITY_SIGMA) + shift.gauss(0, SHIFT_SIGMA))
            for _ in range(n)
        ]

    def counts(self, thing: Any, n: int, total: int, limit: int, n_rows: int = 1) -> List[List[int]]:
        """How many of @total come to each of @n bins at the place @thing, for @n_rows
        independent senders of as many."""
        place = self._place(thing)
        remembered = self._remembered.setdefault(place, deque(maxlen=MAX_REMEMBERED))
        is_recomputing = torch._C._current_graph_task_id() != -1
        if is_recomputing and remembered:
            return remembered.popleft()
        visit = self._n_visits[place] = self._n_visits.get(place, 0) + 1
        rows = [share(self.weights(place, visit, n, row), total, limit) for row in range(n_rows)]
        # An evaluation is never computed again.
        if not is_recomputing and (torch.is_grad_enabled() or getattr(thing, "training", True)):
            remembered.append(rows)
        return rows

    def part(self, thing: str, n: int) -> int:
        """How many of @n things a condition holds for; mostly more than half."""
        visit = self._n_visits[-1] = self._n_visits.get(-1, 0) + 1
        return int(n * self._random(thing, visit, n).betavariate(4, 2))
