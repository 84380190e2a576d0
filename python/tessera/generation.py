# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's generate(): a phase, and in a dry run each decodes to its greatest length.

Whether all sequences have ended is read from the device, which says 0 always: greedy
search and sampling never stopped, and beam search did so after one token. The length is
known on the host. TRL takes what was generated to the host by a mask of what comes before its
end, and fails on a sequence of which there is nothing.
"""

import functools
import sys
from typing import Any, Callable, List, Optional

from .imports import after_import
from .marks import Marks

_INDEX_BYTES = 8


class _State:
    """Of the loop that runs; one inside another's turn is through before that one asks."""

    may_end = False  # sooner than at their greatest length, for what is generated now
    is_at_end: Optional[bool] = None  # None: no token was chosen since it was asked
    length = n_rows = n_new = 0
    n_new_of_beams: Optional[int] = None  # None: it is no beam search


def follow(marks: Marks) -> Callable[[], None]:
    """Each generate() of the training thread is a phase. Returns what ends that."""
    undo: List[Callable[[], None]] = []

    def wrap() -> None:
        mixin: Any = sys.modules["transformers.generation.utils"].GenerationMixin
        generate = mixin.generate

        @functools.wraps(generate)
        def bracketed(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not marks.is_ours():
                return generate(self, *args, **kwargs)
            depth = marks.generation()
            try:
                return generate(self, *args, **kwargs)
            finally:
                marks.close(depth)
                if _State.may_end:
                    marks.note_ends()

        mixin.generate = bracketed
        undo.append(lambda: setattr(mixin, "generate", generate))

    after_import("transformers.generation.utils", wrap)
    return lambda: [end() for end in undo].clear()


def is_token(tensor: Any, n_dims: int) -> bool:
    """Whether it is a token's number (2) or logits (3) for each sequence."""
    if getattr(tensor, "ndim", 0) != n_dims or tensor.shape[1] != 1:
        return False
    return bool(tensor.is_floating_point() == (n_dims == 3))


def install(answer: Callable[[int, int], None]) -> None:
    """transformers.generation.utils was imported."""
    module: Any = sys.modules["transformers.generation.utils"]
    criteria_class: Any = module.StoppingCriteriaList
    mixin: Any = module.GenerationMixin
    judge = criteria_class.__call__
    search = mixin._beam_search
    criteria_of = mixin._get_stopping_criteria
    has_unfinished = mixin._has_unfinished_sequences

    @functools.wraps(judge)
    def note_length(self: Any, input_ids: Any, *args: Any, **kwargs: Any) -> Any:
        lengths = [getattr(criterion, "max_length", None) for criterion in self]
        _State.n_rows, _State.length = map(int, input_ids.shape)
        _State.n_new += 1
        if _State.n_new_of_beams is not None:
            _State.n_new_of_beams += 1
        _State.is_at_end = any(
            isinstance(length, int) and _State.length >= length for length in lengths
        )
        return judge(self, input_ids, *args, **kwargs)

    @functools.wraps(criteria_of)
    def note_ends(self: Any, generation_config: Any, *args: Any, **kwargs: Any) -> Any:
        least, most = (getattr(generation_config, key, None) or 0 for key in ("min_length", "max_length"))
        _State.n_new = 0
        _State.may_end = generation_config.eos_token_id is not None and least < most
        return criteria_of(self, generation_config, *args, **kwargs)

    @functools.wraps(has_unfinished)
    def is_unfinished(self: Any, this_peer_finished: Any, *args: Any, **kwargs: Any) -> bool:
        is_at_end, _State.is_at_end = bool(_State.is_at_end), None
        has_unfinished(self, is_at_end, *args, **kwargs)  # what it sends to other ranks
        if is_at_end and _State.n_new_of_beams is not None:
            answer(_State.length, _INDEX_BYTES)  # what the best beam is cut to
            answer(_State.n_new_of_beams, _INDEX_BYTES)
        elif is_at_end and "trl" in sys.modules:
            mask = b"\1" * (_State.n_rows * _State.n_new)
            answer(int.from_bytes(mask, "little"), len(mask))
        return not is_at_end

    @functools.wraps(search)
    def search_beams(self: Any, *args: Any, **kwargs: Any) -> Any:
        _State.n_new_of_beams = 0
        try:
            return search(self, *args, **kwargs)
        finally:
            _State.n_new_of_beams = None

    mixin._get_stopping_criteria = note_ends
    mixin._beam_search = search_beams
    criteria_class.__call__ = note_length
    mixin._has_unfinished_sequences = is_unfinished
