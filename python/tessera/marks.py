# SPDX-License-Identifier: Apache-2.0
"""Steps and phases: what the hooks see, put into order and told to the library.

A step begins where the one before it ends, so that all steps that repeat are made of the
same requests and three of them are enough to plan from. Start-up, up to the first forward
pass, is in none. Evaluation, checkpoint saving and the like that come before a step's
first forward pass end the step's range (nothing of it was done yet); it begins anew at
that forward pass, which is where a follower of a plan finds its place again. When a trace
is recorded without following and the step before began the same way, that is how this
program steps: it stays in the step. So does what a module does that was called up to the
end of the first step, and never with gradients: a reference, a teacher, an encoder. Once there
is an optimizer, for other parameters, such a call begins the first step as it does the others;
that is taken back where the module is called again before anything learns.

A program that generates before it has trained does reinforcement learning: its step is a
rollout and all of the training on it, and ends where the next rollout begins; the first
rollout is start-up. A step of more than MOST_TRAINED optimizer's steps shows samples.

Phases are the process's: `forward` is an outermost call of a module with gradients,
`eval` one without, or in evaluation mode with gradients that nobody asks for (`scoring`
between a rollout and the training on it, `frozen forward` of a module that learns nothing), `generate` what
Hugging Face's generate() does, or a model that decodes token by token, `backward` a run
of the autograd engine, `recompute` a module's call inside it, `optimizer` an optimizer's
step. The second and later micro-batches of a step
have a phase of their own inside these ("micro-batch 1 forward"), and so have other calls of
a module that come again in a step, as an adversary's ("call 2 of forward"): the planner groups
blocks by the enclosing phase, so equal work keeps equal names, while a follower that lost
its way finds the very call by the innermost name.
"""

import threading
from typing import TYPE_CHECKING, Callable, Dict, Iterable, List, Optional, Protocol, Set, Tuple

if TYPE_CHECKING:
    from .further import Further

#: Begins of names by which a user's phase counts as work between steps.
BETWEEN = ("eval", "valid", "test", "save", "saving", "checkpoint", "generat", "predict", "rollout", "scor")
#: ... and by which it is a rollout.
ROLLOUT = ("generat", "rollout")
MOST_TRAINED = 64


class Finished(SystemExit):
    """Raised, with status 0, where the asked number of whole steps is done, or what a dry
    run may record of them."""

    was_raised = False

    def __init__(self) -> None:
        super().__init__(0)
        Finished.was_raised = True


class Told(Protocol):
    """What is told of steps and phases; library.Library is one."""

    def step(self, number: int) -> None: ...

    def step_repeats(self) -> bool: ...

    def note(self, key: str, value: str) -> None: ...

    def phase_begin(self, name: str) -> None: ...

    def phase_end(self) -> None: ...


def _is_one_of_many() -> bool:
    """Whether other processes have parts of the model, perhaps."""
    from torch import distributed  # not before the program imports it: every Python has this module

    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


class Marks:
    """One per process. The hooks call it from the training thread, and during a backward
    pass from autograd's threads, for which the training thread waits.

    stop_after  (least, most): the program ends after so many whole steps, once the last
                one repeats the one before it: a plan needs a step that repeats
    further     how far it goes on instead; None: it ends
    on_names    whether what comes now is recorded with stacks and modules
    """

    def __init__(
        self,
        stop_after: Optional[Tuple[int, int]] = None,
        is_following: bool = False,
        on_step: Optional[Callable[[], None]] = None,
        further: Optional["Further"] = None,
        on_names: Optional[Callable[[bool], None]] = None,
    ) -> None:
        self._told: Optional[Told] = None
        self._stop_after = stop_after
        self._further = further
        self._is_following = is_following
        self._on_step = on_step
        self._on_names = on_names
        self._main = threading.main_thread().ident
        self._owner: Optional[int] = None
        self._phases: List[str] = []
        self._is_explicit = False
        self._in_step = False
        self._is_fresh = True  # nothing of the step was done yet
        self._is_due = False  # the last step was done where nothing could be raised
        #: The steps that are recorded with stacks and modules are done.
        self.is_known = False
        self._has_names = True  # what comes now is recorded with them
        self._stopped_by = "steps"
        self._is_given_up = False  # what was begun is not brought to its end
        self._began_between = False
        self._last_began_between = False
        #: Parameters that optimizers were made for, by id.
        self.learning: Set[int] = set()
        self._helpers: Optional[Set[int]] = set()  # called in the first step; None: no more
        self._was_taken_back = False
        self._rolls_out: Optional[bool] = None  # None: neither generated nor trained yet
        self._n_trained = 0  # optimizers' steps in this step, while it rolls out
        self._n_forwards: Dict[int, int] = {}  # by id of the outermost module
        self._n_backwards = 0
        self._adds_up = True  # gradients of this step's passes so far, for one step of an optimizer
        self._passes = False  # steps of this program have forward or backward passes
        self._batch = self._most_batch = 0
        #: Whole steps so far; also the number of the step that is being done.
        self.n_done = 0

    def attach(self, told: Told) -> None:
        """From here on @told is told, beginning with what is open now."""
        self._told = told
        if self._in_step:
            told.step(self.n_done)
        for name in self._phases:
            told.phase_begin(name)

    def detach(self) -> None:
        """The last. A step that has begun with nothing done, or was given up, is begun once
        more and left empty, by which whoever reads the trace knows that there was none."""
        is_none = self._is_fresh and (self._in_step or self._began_between or self._was_taken_back)
        if is_none or (self._is_given_up and self._in_step):
            self._tell_step(self.n_done)
            self._tell_step(-1)
        self._told = None

    # -- phases --------------------------------------------------------------------------

    def is_ours(self) -> bool:
        """Whether the calling thread trains: the first one that did so, or, once it does,
        the main one (another may prepare data with modules of its own)."""
        thread = threading.get_ident()
        if self._owner is None or thread == self._main:
            self._owner = thread
        return self._owner == thread

    def open(self, name: str) -> int:
        """A phase begins. Returns the depth to close() to."""
        depth = len(self._phases)
        self._phases.append(name)
        if self._told is not None:
            self._told.phase_begin(name)
        return depth

    def close(self, depth: int) -> None:
        """Ends all phases from @depth on; an exception may have left some open."""
        while len(self._phases) > depth:
            self._phases.pop()
            if self._told is not None:
                self._told.phase_end()

    def is_between(self) -> bool:
        """Whether the user has called this work evaluation or the like."""
        return any(name.lower().startswith(BETWEEN) for name in self._phases)

    def _open_call(self, name: str, number: int) -> int:
        """The @number-th of a step, from 0. It is a micro-batch where gradients are added up and
        those before it have been back, but for a pipeline's."""
        depth = self.open(name)
        is_micro_batch = self._adds_up and (number <= self._n_backwards or _is_one_of_many())
        if number:
            self.open("micro-batch %d %s" % (number, name) if is_micro_batch else "call %d of %s" % (number + 1, name))
        return depth

    def forward(self, root: int, batch: int = 0) -> int:
        """An outermost module, whose id is @root, is called with gradients. @batch: the
        first dimension of what it is called with."""
        self._batch = batch
        self.raise_if_due()
        self._work()
        number = self._n_forwards.get(root, 0)
        self._n_forwards[root] = number + 1
        return self._open_call("forward", number)

    def evaluation(self, name: str = "") -> int:
        """An outermost module is called without gradients, or the user says so."""
        self.raise_if_due()
        self._between()
        name = name or ("scoring" if self._rolls_out and not self._n_trained else "eval")
        if self.is_known and not self._has_names:
            self._tell_names(True)
        return self.open(name)

    def _tell_names(self, has_names: bool) -> None:
        self._has_names = has_names
        if self._on_names is not None:
            self._on_names(has_names)

    def _take_back(self) -> None:
        """The first step did not begin with the helper that was called."""
        if self._helpers and self._is_fresh and self._in_step:
            self._tell_step(-1)
            self._was_taken_back = True
        self._helpers = None

    def _helps(self, root: int, parameters: Iterable[object]) -> None:
        """A module is called without gradients before anything learnt."""
        if root in (self._helpers or ()):
            self._take_back()
        elif self._helpers is not None and self.learning and self.learning.isdisjoint(map(id, parameters)):
            self._helpers.add(root)
            if not self._in_step:
                self._tell_step(self.n_done)

    def frozen_forward(self, root: int, parameters: Iterable[object]) -> int:
        """An outermost module, whose id is @root, that helps the one that learns is called
        without gradients. The step stays fresh: an evaluation may begin so."""
        if not self._rolls_out and not self.is_between():
            self._helps(root, parameters)
        if self._rolls_out or not self._in_step or self.is_between():
            return self.evaluation()
        self.raise_if_due()
        return self.open("frozen forward")

    def generation(self, name: str = "generate") -> int:
        """Text is generated, or what a user calls so."""
        if self.is_between():
            return len(self._phases)  # a part of that
        self.raise_if_due()
        if self._rolls_out is None:
            self._rolls_out = True
            self._take_back()
        if not self._rolls_out:
            return self.evaluation(name)
        if self._n_trained and not self._is_explicit:
            self._boundary()
            self.raise_if_due()
        if self._in_step:  # else nothing may ever be trained
            self._work()
        return self.open(name)

    def backward(self, adds_up: bool = True) -> int:
        """@adds_up: the gradients to those that are there, as torch.autograd.grad() does not."""
        self.raise_if_due()
        self._work()
        self._adds_up = self._adds_up and adds_up
        number = self._n_backwards
        self._n_backwards += 1
        return self._open_call("backward", number)

    def _is_behind(self) -> bool:
        """Whether nothing has passed since the last step ended: DeepSpeed steps its optimizer once
        for each group of parameters, and what wraps an optimizer may be stepped behind it."""
        return self._passes and not self._n_forwards and not self._n_backwards

    def optimizer(self) -> int:
        if not self._is_behind():
            self._work()
            self._adds_up = False
        return self.open("optimizer")

    def note_ends(self) -> None:
        """What a dry run generated may be shorter in a run, and other in each step."""
        if self._rolls_out and self.n_done:
            self._note("answers_end", "sooner")

    def user_phase(self, name: str) -> int:
        if name.lower().startswith(ROLLOUT):
            return self.generation(name)
        if name.lower().startswith(BETWEEN):
            return self.evaluation(name)
        return self.open(name)

    # -- steps ---------------------------------------------------------------------------

    def _tell_step(self, number: int) -> None:
        self._in_step = number >= 0
        self._is_fresh = True
        if self._told is not None:
            self._told.step(number)

    def _work(self) -> None:
        """Something is done that belongs to a step."""
        if self.is_between():
            return
        if self.is_known and self._has_names:
            self._tell_names(False)
        self._rolls_out = bool(self._rolls_out)
        if not self._in_step:
            self._tell_step(self.n_done)
        self._is_fresh = self._was_taken_back = False
        self._helpers = None

    def _between(self) -> None:
        if not (self._in_step and self._is_fresh):
            return
        self._began_between = True
        if self._is_following or not self._last_began_between:
            self._tell_step(-1)

    def _is_last(self, repeats: bool) -> bool:
        if self._stop_after is None:
            return False
        least, most = self._stop_after
        return self.n_done >= (least if repeats else most)

    def _boundary(self) -> None:
        self.n_done += 1
        self._last_began_between = self._began_between
        self._began_between = False
        self._passes = self._passes or bool(self._n_forwards or self._n_backwards)
        self._n_forwards.clear()
        self._n_backwards = self._n_trained = 0
        self._adds_up = True
        if self._further is not None and self._batch > self._most_batch:
            self._most_batch = self._batch
            self._note("batch", str(self._batch))
        if not self.is_known and self._is_last(self._told is None or self._told.step_repeats()):
            self.is_known = True
            if self._further is None or not self._further.goes_on:
                self._is_due = True
            else:
                self._tell_names(False)
        self._tell_step(-1 if self._is_due else self.n_done)
        if self._on_step is not None:
            self._on_step()

    def raise_if_due(self) -> None:
        """Ends the program where enough steps are done, in the training thread alone."""
        if self._owner != threading.get_ident():
            return
        if self._further is not None and not self._is_due and (self.is_known or not self.n_done):
            why = self._further.reached()
            if why:
                self._stop(why)
        if self._is_due:
            self._note("stopped", self._stopped_by)
            raise Finished()

    def go_on(self) -> None:
        """The program is not ended, however many steps it does."""
        self._stop_after = self._further = None

    def _note(self, key: str, value: str) -> None:
        if self._told is not None:
            self._told.note(key, value)

    def _stop(self, why: str) -> None:
        self._stopped_by = why
        if self._further is not None:
            self._further.tell(why, self.n_done, self._owner or self._main or 0)
        self.give_up()
        self._is_due = True

    def give_up(self) -> None:
        """The step that goes on is not brought to its end."""
        self._is_given_up = True

    def raise_from_outside(self) -> None:
        """For a program that calls nothing of what raises here."""
        if self._further is not None and not self._is_due:
            self._stop(self._further.reached())
            self._note("stopped", self._stopped_by)
            from .further import raise_in

            raise_in(self._owner or self._main or 0, Finished)

    def found_end(self) -> None:
        """The last optimizer of a step has stepped."""
        if self._is_behind():
            return
        self._n_trained += 1
        if self._is_explicit:
            return
        self._rolls_out = self._rolls_out and self._n_trained <= MOST_TRAINED
        if not self._rolls_out:
            self._boundary()

    def explicit_step(self) -> None:
        """The user says: a step ends here, and the next begins."""
        was_found = not self._is_explicit and self._in_step and self._is_fresh
        self._is_explicit = True
        if not self._in_step:
            self._tell_step(self.n_done)
        elif not (was_found and self.n_done):
            self._boundary()
        self.is_ours()
        self.raise_if_due()
