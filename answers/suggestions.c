/* See suggestions.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/suggestions.h"

#include <string.h>

#include "db/size-text.h"
#include "planner/modules.h"

/* What wins less of the peak is not worth a change. */
#define LEAST_SHARE 100
/* What is found so much of the peak beside what was predicted verifies it. */
#define VERIFIED_SHARE 50
/* Parts in which the loss is computed. */
#define N_CHUNKS 8
/* The scalar at its end is no loss that parts would make smaller. */
#define LEAST_LOSS_BYTES ((uint64_t) 1 << 16)
/* Of what an evaluation makes, one of which is its result. */
#define N_LAST 2
/* Smaller tensors of optimizers stay in 32 bits (bitsandbytes). */
#define LEAST_8BIT_BYTES 16384

/* What the trial of a change is called, whether a dry run can make it from outside, and what is
 * said of it where that does not depend on the run: say_what(), say_type(). */
static const struct
{
  const char *name;
  bool is_from_outside;
  const char *sentence;
  const char *type;
  bool names_line; /* the sentence ends with the line of the largest block */
} tries[TESSERA_N_TRIES] = {
  [TESSERA_TRY_EXPANDABLE] = { "expandable" },
  [TESSERA_TRY_PLAN] = { "plan" },
  [TESSERA_TRY_FUSED] = { "fused", true, "the optimizer then makes no temporaries" },
  [TESSERA_TRY_ZERO_GRAD] = { "zero-grad", true,
                              "gradients then are not there in the next forward pass",
                              "optimizer.zero_grad(set_to_none=True)  # right after "
                              "optimizer.step()" },
  [TESSERA_TRY_CHUNKS] = { "chunks",
                           .sentence = "logits and loss in " G_STRINGIFY (
                               N_CHUNKS) " parts, each made again in the backward pass",
                           .names_line = true },
  [TESSERA_TRY_CHECKPOINT] = { "checkpointing", true },
  [TESSERA_TRY_NO_GRAD] = { "no-grad", false,
                            "evaluations keep nothing for a backward pass, which never "
                            "comes",
                            "with torch.no_grad():  # around the evaluation", true },
  [TESSERA_TRY_DELETE] = { "delete", false,
                           "what a step leaves behind is gone before the next one",
                           "del outputs, loss  # at the end of the step", true },
  [TESSERA_TRY_8BIT] = { "8-bit", true },
  [TESSERA_TRY_OFFLOAD] = { "offload", true,
                            "the optimizer keeps its state on the host and steps there, "
                            "which takes longer" },
  [TESSERA_TRY_HALF_BATCH] = { "half-batch", false, "half of the batch, or of the length",
                               "a batch of half the size, with two steps of "
                               "accumulation" },
};

const char *
tessera_try_name (TesseraTry what)
{
  return (unsigned) what < TESSERA_N_TRIES ? tries[what].name : "";
}

bool
tessera_try_is_from_outside (TesseraTry what)
{
  return tries[what].is_from_outside;
}

/* A life of a block: it may have two, where it is made again. */
typedef struct
{
  uint64_t bytes;
  uint32_t begin_index, end_index;
} Life;

typedef struct
{
  const TesseraWhose *whose;
  GHashTable *parameter_sizes; /* uint64_t: what does not grow with the batch */
  GHashTable *loss_sizes;      /* uint64_t */
  GHashTable *loss_modules;    /* string ids */
  GHashTable *left_sizes;      /* uint64_t: of what steps leave to the next one */
  uint32_t *work_begin;      /* by step: where its first activation is born, or its end */
  uint64_t state_item_bytes; /* of an element of optimizer state */
  uint32_t
      *optimizer_end; /* by event: where the optimizer's phase ends that is on then, or
                              comes next; n_events: there is none */
  uint32_t
      *next_backward; /* by event: where the next one begins; n_events: there is none */
  uint32_t *evaluated_end; /* by block: where it ends if evaluations keep no gradients;
                              NULL: none keeps them */
  uint32_t now_index;      /* of the peak as it is */
  TesseraPasses passes;    /* of the repeated module whose activations weigh most */
  uint64_t
      most_bytes; /* of the largest block at the peak that a change is about, and ... */
  uint32_t most_stack; /* ... its stack */
} Work;

static uint32_t
life_end (const TesseraBlocks *blocks, const TesseraBlock *block)
{
  return block->flags & TESSERA_FAILED ? block->born_index + 1
                                       : MIN (block->freed_index, blocks->n_events);
}

/* ---- The peak ---- */

static void
add_life (int64_t *changes, const Life *life)
{
  if (life->begin_index >= life->end_index)
    return;
  changes[life->begin_index] += (int64_t) life->bytes;
  changes[life->end_index] -= (int64_t) life->bytes;
}

/* ---- What a change does to a block ---- */

static bool
is_in_optimizer (const TesseraTrace *trace, uint32_t stack)
{
  if (stack >= trace->n_stacks)
    return true; /* nothing says otherwise */
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    if (tessera_frame_is_optimizer (trace, trace->stack_frames[i]))
      return true;
  return false;
}

static bool
grows_with_batch (const Work *work, TesseraCategory category, const TesseraBlock *block)
{
  switch (category)
    {
    case TESSERA_ACTIVATION:
    case TESSERA_LOSS:
    case TESSERA_INPUT:
    case TESSERA_KV_CACHE:
    case TESSERA_TEMPORARY_FORWARD:
    case TESSERA_TEMPORARY_BACKWARD:
    case TESSERA_TEMPORARY_RECOMPUTATION:
      return !g_hash_table_contains (work->parameter_sizes, &block->size_bytes);
    default:
      return false;
    }
}

/* Where the step ends in which a block is born; NONE: it is born in none. */
static uint32_t
step_end (const Work *work, const TesseraBlock *block)
{
  const TesseraStructure *structure = work->whose->structure;

  return block->step < structure->n_steps ? structure->steps[block->step].end_index
                                          : TESSERA_NONE;
}

static bool
is_of_loss (const Work *work, size_t index)
{
  const uint32_t *modules = work->whose->origins.modules;

  return modules != NULL && modules[index] != TESSERA_NONE &&
         g_hash_table_contains (work->loss_modules, GUINT_TO_POINTER (modules[index]));
}

/* Of a gradient of logits or loss, in the same precision or the other. */
static bool
is_as_loss (const Work *work, const TesseraBlock *block)
{
  const uint64_t half_bytes = block->size_bytes / 2, double_bytes = block->size_bytes * 2;

  return g_hash_table_contains (work->loss_sizes, &block->size_bytes) ||
         g_hash_table_contains (work->loss_sizes, &half_bytes) ||
         g_hash_table_contains (work->loss_sizes, &double_bytes);
}

static uint32_t
phase_begin (const Work *work, const TesseraBlock *block)
{
  const TesseraStructure *structure = work->whose->structure;

  return block->born_phase < structure->n_phases
             ? structure->phases[structure->phases[block->born_phase].main].begin_index
             : block->born_index;
}

/* A variable is given its next value behind the next optimizer's step at the latest, before the
 * work of the step after that begins: what is there longer is held by something else. */
static uint32_t
variable_end (const Work *work, const TesseraBlock *block)
{
  const size_t n_steps = work->whose->structure->n_steps;

  if (block->step == TESSERA_NONE || block->step + 1 >= n_steps)
    return 0;
  return block->step + 2 < n_steps ? work->work_begin[block->step + 2]
                                   : work->whose->blocks->n_events;
}

/* What a step leaves to the next one in a variable. Where the recording ends before the variable
 * has its next value, it is as it was in earlier steps. */
static bool
is_left_behind (const Work *work, size_t index)
{
  const TesseraBlocks *blocks = work->whose->blocks;
  const TesseraBlock *block = &blocks->blocks[index];
  const TesseraCategory category = (TesseraCategory) work->whose->categories[index];
  const uint32_t end = life_end (blocks, block), most = variable_end (work, block);

  if ((category != TESSERA_ACTIVATION && category != TESSERA_LOSS &&
       category != TESSERA_INPUT) ||
      (block->flags & TESSERA_AT_START) || end <= step_end (work, block) || end > most)
    return false;
  return end < blocks->n_events ||
         g_hash_table_contains (work->left_sizes, &block->size_bytes);
}

/* Whether gradients that are set to None go: one buffer of many stays, whatever is done to
 * them. */
static bool
goes_with_step (const Work *work, size_t index)
{
  const TesseraBlocks *blocks = work->whose->blocks;
  const TesseraBlock *block = &blocks->blocks[index];

  return work->whose->categories[index] == TESSERA_GRADIENT &&
         (block->flags & TESSERA_AT_START) == 0 &&
         (life_end (blocks, block) <= variable_end (work, block) ||
          g_hash_table_contains (work->parameter_sizes, &block->size_bytes));
}

/* Takes out of @life, of a gradient, what is behind the optimizer's phase. One that is zeroed
 * and kept is made anew in the next backward pass, as far into it as it was at first. */
static void
take_gaps (const Work *work,
           int64_t *changes,
           const TesseraBlock *block,
           const Life *life)
{
  const bool is_kept = life->end_index > variable_end (work, block);
  const uint32_t n_before = life->begin_index - phase_begin (work, block);
  uint32_t at = life->begin_index;

  while (at < life->end_index && work->optimizer_end[at] < life->end_index)
    {
      const uint32_t begin_index = work->optimizer_end[at];

      at = life->end_index;
      if (is_kept)
        at = MIN (work->next_backward[begin_index] + n_before, at);
      changes[begin_index] -= (int64_t) life->bytes;
      changes[at] += (int64_t) life->bytes;
    }
}

/* Where nothing says when a module's backward begins, it is where its output goes: several calls
 * of it come back in one backward pass, in which they are not told apart. */
static uint32_t
backward_begin (const Work *work, const TesseraPass *instance)
{
  const TesseraBlocks *blocks = work->whose->blocks;
  const TesseraPass *next =
      instance->next != TESSERA_NONE
          ? &g_array_index (work->passes.passes, TesseraPass, instance->next)
          : NULL;
  const bool is_alone =
      next == NULL || instance->last == TESSERA_NONE || next->last != instance->last;

  return instance->backward_begin != UINT32_MAX && is_alone
             ? instance->backward_begin
             : life_end (blocks, &blocks->blocks[instance->output]);
}

/* @lives: what the block has now, then what it would have. Policies change nothing. Returns:
 * how many. */
static int
change_block (const Work *work, TesseraTry what, size_t index, Life lives[2])
{
  const TesseraWhose *whose = work->whose;
  const TesseraBlock *block = &whose->blocks->blocks[index];
  const TesseraCategory category = (TesseraCategory) whose->categories[index];

  switch (what)
    {
    case TESSERA_TRY_EXPANDABLE:
    case TESSERA_TRY_ZERO_GRAD: /* take_gaps() */
      return 1;
    case TESSERA_TRY_OFFLOAD:
      if (category == TESSERA_OPTIMIZER_STATE)
        return 0;
      G_GNUC_FALLTHROUGH;
    case TESSERA_TRY_8BIT:
      if (category == TESSERA_OPTIMIZER_STATE && block->size_bytes >= LEAST_8BIT_BYTES)
        lives[0].bytes /= work->state_item_bytes;
      G_GNUC_FALLTHROUGH;
    case TESSERA_TRY_FUSED:
      return category == TESSERA_TEMPORARY_OPTIMIZER &&
                     is_in_optimizer (whose->trace, whose->origins.stacks[index])
                 ? 0
                 : 1;
    case TESSERA_TRY_CHUNKS:
      /* The weight's gradient is there from the first part on. */
      if (category == TESSERA_GRADIENT && is_of_loss (work, index))
        lives[0].begin_index = phase_begin (work, block);
      if (category == TESSERA_LOSS ||
          (category == TESSERA_TEMPORARY_BACKWARD && is_as_loss (work, block)))
        lives[0].bytes /= N_CHUNKS;
      return 1;
    case TESSERA_TRY_CHECKPOINT:
      if (work->passes.of_block[index] == TESSERA_NONE)
        return 1;
      const TesseraPass *instance =
          &g_array_index (work->passes.passes, TesseraPass, work->passes.of_block[index]);
      if (instance->output == index)
        lives[0].end_index = MAX (backward_begin (work, instance), lives[0].end_index);
      if (instance->output == index || category != TESSERA_ACTIVATION)
        return 1;
      lives[1] = lives[0];
      lives[0].end_index = MIN (instance->forward_end, lives[0].end_index);
      lives[1].begin_index = MAX (backward_begin (work, instance), lives[0].end_index);
      return 2;
    case TESSERA_TRY_NO_GRAD:
      lives[0].end_index = MIN (work->evaluated_end[index], lives[0].end_index);
      return 1;
    case TESSERA_TRY_DELETE:
      if (is_left_behind (work, index))
        lives[0].end_index = step_end (work, block);
      return 1;
    default:
      if (grows_with_batch (work, category, block))
        lives[0].bytes /= 2;
      return 1;
    }
}

/* What has to be live at once with the change. */
static uint64_t
find_peak (Work *work, TesseraTry what)
{
  const TesseraBlocks *blocks = work->whose->blocks;
  g_autofree int64_t *changes = g_new0 (int64_t, blocks->n_events + 2);

  work->most_bytes = 0;
  work->most_stack = TESSERA_NONE;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      const Life now = { block->size_bytes, block->born_index, life_end (blocks, block) };
      Life lives[2] = { now, now };
      const int n = change_block (work, what, i, lives);

      for (int life = 0; life < n; life++)
        add_life (changes, &lives[life]);
      if (what == TESSERA_TRY_ZERO_GRAD && goes_with_step (work, i))
        take_gaps (work, changes, block, &now);
      if (n == 1 && memcmp (&lives[0], &now, sizeof now) == 0)
        continue;
      if (now.begin_index <= work->now_index && work->now_index < now.end_index &&
          block->size_bytes > work->most_bytes)
        {
          work->most_bytes = block->size_bytes;
          work->most_stack = work->whose->origins.stacks[i];
        }
    }
  return tessera_highest_sum (changes, blocks->n_events,
                              what == TESSERA_TRY_EXPANDABLE ? &work->now_index : NULL);
}

/* ---- What has to be known before ---- */

/* By event: where the next phase of that name ends that has not ended, or begins; n_events: there
 * is none. */
static uint32_t *
find_phases (const Work *work, const char *of, bool is_begin)
{
  const TesseraStructure *structure = work->whose->structure;
  const uint32_t n_events = work->whose->blocks->n_events;
  uint32_t *next = g_new (uint32_t, n_events + 1);
  uint32_t index = n_events, event = n_events + 1;

  for (size_t i = structure->n_phases; i > 0; i--)
    {
      const TesseraPhase *phase = &structure->phases[i - 1];
      const uint32_t edge = is_begin ? phase->begin_index + 1 : phase->end_index;
      const char *name = tessera_phase_name (work->whose->trace, phase);

      if (strcasestr (name, of) == NULL || edge > event)
        continue;
      for (; event > edge; event--)
        next[event - 1] = index;
      index = is_begin ? phase->begin_index : phase->end_index;
    }
  for (; event > 0; event--)
    next[event - 1] = index;
  return next;
}

/* An optimizer that asks for nothing, as SGD without momentum, has no phase: its steps, which
 * were marked where it had stepped, tell its end. */
static void
end_with_steps (Work *work)
{
  const TesseraStructure *structure = work->whose->structure;
  uint32_t event = 0;

  if (structure->steps_from != TESSERA_STEPS_ANNOTATED)
    return;
  for (size_t i = 0; i < structure->n_steps; i++)
    for (; event < structure->steps[i].end_index; event++)
      work->optimizer_end[event] =
          MIN (work->optimizer_end[event], structure->steps[i].end_index);
}

static void
find_left (Work *work)
{
  const TesseraStructure *structure = work->whose->structure;
  const TesseraBlocks *blocks = work->whose->blocks;

  work->work_begin = g_new (uint32_t, structure->n_steps + 1);
  for (size_t i = 0; i < structure->n_steps; i++)
    work->work_begin[i] = structure->steps[i].end_index;
  for (size_t i = blocks->n_blocks; i > 0; i--)
    if (work->whose->categories[i - 1] == TESSERA_ACTIVATION &&
        blocks->blocks[i - 1].step < structure->n_steps)
      work->work_begin[blocks->blocks[i - 1].step] = blocks->blocks[i - 1].born_index;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (life_end (blocks, &blocks->blocks[i]) < blocks->n_events &&
        is_left_behind (work, i))
      g_hash_table_add (work->left_sizes, (gpointer) &blocks->blocks[i].size_bytes);
}

/* What libtessera calls a module's evaluation for which autograd keeps what it makes. */
static bool
keeps_gradients (const TesseraWhose *whose, uint32_t phase)
{
  const TesseraStructure *structure = whose->structure;

  return phase < structure->n_phases &&
         strcmp (tessera_phase_name (whose->trace,
                                     &structure->phases[structure->phases[phase].main]),
                 "eval with gradients") == 0;
}

/* Of what an evaluation makes, an operation takes what the last two made. Its result, the largest
 * of the last two, stays as it is: a variable may have it until the next one has been made. What
 * outlives that one is held by something else; what is gone before the next is made is none. */
static void
find_evaluated (Work *work)
{
  const TesseraWhose *whose = work->whose;
  const TesseraBlocks *blocks = whose->blocks;
  g_autofree uint32_t *groups = g_new (uint32_t, blocks->n_blocks + 1);
  g_autoptr (GArray) begins = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  g_autoptr (GArray) phases = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  uint32_t phase = TESSERA_NONE, group = UINT32_MAX, next = 0, next_but_one = 0;
  uint32_t n = 0, result_end = 0;
  size_t result = 0, kept = 0;

  while (kept < whose->structure->n_phases && !keeps_gradients (whose, (uint32_t) kept))
    kept++;
  if (kept == whose->structure->n_phases)
    return;

  /* A phase, and what comes behind it until the next one. */
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];

      if (i == 0 || (block->born_phase != TESSERA_NONE && block->born_phase != phase))
        {
          phase = block->born_phase;
          g_array_append_val (begins, block->born_index);
          g_array_append_val (phases, phase);
        }
      groups[i] = begins->len - 1;
    }
  for (int i = 0; i < 2; i++)
    g_array_append_val (begins, blocks->n_events);
  work->evaluated_end = g_new (uint32_t, blocks->n_blocks + 1);
  for (size_t i = blocks->n_blocks; i-- > 0;)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      const uint32_t *begin = &g_array_index (begins, uint32_t, groups[i]);

      work->evaluated_end[i] = UINT32_MAX;
      if ((whose->categories[i] != TESSERA_ACTIVATION &&
           whose->categories[i] != TESSERA_LOSS) ||
          !keeps_gradients (whose, g_array_index (phases, uint32_t, groups[i])) ||
          tessera_last_backward (whose, block) != TESSERA_NONE)
        continue;
      if (groups[i] != group)
        {
          next = next_but_one = begin[1];
          n = 0;
        }
      group = groups[i];
      if (life_end (blocks, block) <= begin[2])
        work->evaluated_end[i] = next_but_one;
      if (block->size_bytes >= LEAST_LOSS_BYTES && life_end (blocks, block) >= next &&
          n++ < N_LAST &&
          (n == 1 || block->size_bytes >= blocks->blocks[result].size_bytes))
        {
          if (n > 1)
            work->evaluated_end[result] = result_end;
          result = i;
          result_end = work->evaluated_end[i];
          work->evaluated_end[i] = UINT32_MAX;
        }
      next_but_one = next;
      next = block->born_index;
    }
}

static void
work_init (Work *work, const TesseraWhose *whose)
{
  const uint64_t item_bytes = tessera_trace_get_number (whose->trace, "state_item_bytes");

  *work = (Work){ .whose = whose,
                  .parameter_sizes = g_hash_table_new (g_int64_hash, g_int64_equal),
                  .loss_sizes = g_hash_table_new (g_int64_hash, g_int64_equal),
                  .loss_modules = g_hash_table_new (NULL, NULL),
                  .left_sizes = g_hash_table_new (g_int64_hash, g_int64_equal),
                  /* Most keep state as parameters are, in 32 bits. */
                  .state_item_bytes = item_bytes > 0 ? item_bytes : 4 };
  for (size_t i = 0; i < whose->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &whose->blocks->blocks[i];

      if (whose->categories[i] == TESSERA_PARAMETER)
        g_hash_table_add (work->parameter_sizes, (gpointer) &block->size_bytes);
      if (whose->categories[i] != TESSERA_LOSS)
        continue;
      if (block->size_bytes >= LEAST_LOSS_BYTES)
        g_hash_table_add (work->loss_sizes, (gpointer) &block->size_bytes);
      if (whose->origins.modules != NULL && whose->origins.modules[i] != TESSERA_NONE)
        g_hash_table_add (work->loss_modules,
                          GUINT_TO_POINTER (whose->origins.modules[i]));
    }
  work->optimizer_end = find_phases (work, "optim", false);
  end_with_steps (work);
  work->next_backward = find_phases (work, "backward", true);
  find_left (work);
  find_evaluated (work);
  tessera_passes_find (&work->passes, work->whose);
}

static void
work_clear (Work *work)
{
  g_hash_table_unref (work->parameter_sizes);
  g_hash_table_unref (work->loss_modules);
  g_hash_table_unref (work->loss_sizes);
  g_hash_table_unref (work->left_sizes);
  g_free (work->work_begin);
  g_free (work->evaluated_end);
  g_free (work->optimizer_end);
  g_free (work->next_backward);
  tessera_passes_clear (&work->passes);
}

/* ---- In words ---- */

static bool
uses_file (const TesseraTrace *trace, const char *part)
{
  for (size_t i = 0; i < trace->n_frames; i++)
    if (strstr (tessera_trace_string (trace, trace->frames[i].file), part) != NULL)
      return true;
  return false;
}

typedef struct
{
  const char
      *name; /* its class in torch.optim, and with 8bit behind it in bitsandbytes */
  const char *file; /* that tells it where the run does not; NULL: none does */
  bool has_fused;
  bool
      has_no_other; /* of fewer bytes or on the host: gradients are sparse, or state is not
                        what Adam keeps */
} Optimizer;

/* As the run says, else as a file of its stacks tells, where AdamW has its lines in that of
 * Adam. AdamW is told where nothing is known; what is none of these has no other. */
static const Optimizer *
find_optimizer (const TesseraTrace *trace)
{
  static const Optimizer known[] = {
    { "AdamW", "torch/optim/adamw.py", true },
    { "AdamW", "torch/optim/adam.py", true },
    { "Adam", NULL, true },
    { "SGD", "torch/optim/sgd.py", true },
    { "Adagrad", "torch/optim/adagrad.py", true },
    { "RMSprop", "torch/optim/rmsprop.py", false },
    { "SparseAdam", "torch/optim/sparse_adam.py", false, .has_no_other = true },
    { "LBFGS", "torch/optim/lbfgs.py", false, .has_no_other = true },
    { "Muon", "torch/optim/_muon.py", false, .has_no_other = true },
    { "Adafactor", "torch/optim/_adafactor.py", false, .has_no_other = true },
  };
  static const Optimizer other = { "AdamW", NULL, .has_no_other = true };
  const char *name = tessera_trace_get_meta (trace, "optimizer");

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (name != NULL ? strcmp (name, known[i].name) == 0
                     : known[i].file != NULL && uses_file (trace, known[i].file))
      return &known[i];
  return name != NULL ? &other : &known[0];
}

/* Liger's loss comes in chunks already, and state may be in 8 bits. */
static bool
can_be_made (const Work *work, TesseraTry what)
{
  const TesseraTrace *trace = work->whose->trace;
  const Optimizer *optimizer = find_optimizer (trace);

  return what == TESSERA_TRY_NO_GRAD   ? work->evaluated_end != NULL
         : what == TESSERA_TRY_FUSED   ? optimizer->has_fused
         : what == TESSERA_TRY_OFFLOAD ? !optimizer->has_no_other
         : what == TESSERA_TRY_8BIT
             ? !optimizer->has_no_other && work->state_item_bytes > 1
         : what == TESSERA_TRY_CHUNKS ? !uses_file (trace, "linear_cross_entropy")
                                      : true;
}

/* Whether the peak is in an evaluation. */
static bool
is_evaluated (const TesseraWhose *whose)
{
  const TesseraStructure *structure = whose->structure;
  const uint32_t at = tessera_fullest (whose->layout, 0, whose->blocks->n_events);
  uint32_t phase =
      at < whose->blocks->n_events ? structure->phase_of_event[at] : TESSERA_NONE;

  for (; phase < structure->n_phases; phase = structure->phases[phase].parent)
    {
      const char *name = tessera_phase_name (whose->trace, &structure->phases[phase]);

      if (strcasestr (name, "eval") != NULL || strcasestr (name, "valid") != NULL ||
          strcasestr (name, "test") != NULL)
        return true;
    }
  return false;
}

static char *
say_what (const Work *work, TesseraTry what)
{
  g_autofree char *line = tessera_name_line (work->whose->trace, work->most_stack);
  /* A name that begins so says that there is no line. */
  const bool has_line = tries[what].names_line && *line != '(';

  if (what == TESSERA_TRY_CHECKPOINT)
    return g_strdup_printf ("activations of %s are made again in the backward pass",
                            work->passes.family);
  if (what == TESSERA_TRY_8BIT)
    return g_strdup_printf (
        "the optimizer keeps its state in 1 byte each, not in %u, and "
        "makes no temporaries",
        (unsigned) work->state_item_bytes);
  if (what == TESSERA_TRY_HALF_BATCH && is_evaluated (work->whose))
    return g_strdup ("half of the batch where the peak is, in an evaluation");
  return g_strconcat (tries[what].sentence, has_line ? " (" : NULL, line, ")", NULL);
}

static char *
say_type (const Work *work, TesseraTry what)
{
  const TesseraTrace *trace = work->whose->trace;
  const Optimizer *optimizer = find_optimizer (trace);
  const char *type = tries[what].type;

  if (what == TESSERA_TRY_FUSED)
    return g_strdup_printf ("torch.optim.%s(..., fused=True)", optimizer->name);
  if (what == TESSERA_TRY_8BIT)
    return g_strdup_printf ("bitsandbytes.optim.%s8bit(...)", optimizer->name);
  if (what == TESSERA_TRY_OFFLOAD)
    return g_strdup_printf (
        "torchao.optim.CPUOffloadOptimizer(model.parameters(), torch.optim.%s%s)",
        optimizer->name, optimizer->has_fused ? ", fused=True" : "");
  if (what == TESSERA_TRY_CHUNKS)
    type = uses_file (trace, "transformers/")
               ? "liger_kernel.transformers.AutoLigerKernelForCausalLM.from_"
                 "pretrained(...) # loss in chunks"
               : "sum(checkpoint(loss_of, part, use_reentrant=False) for part "
                 "in hidden.chunk(8))";
  else if (what == TESSERA_TRY_CHECKPOINT)
    type = uses_file (trace, "transformers/models/")
               ? "model.gradient_checkpointing_enable()"
           : uses_file (trace, "diffusers/models/")
               ? "model.enable_gradient_checkpointing()"
               : "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)";
  else if (what == TESSERA_TRY_HALF_BATCH && is_evaluated (work->whose))
    type = "a smaller batch in the evaluation";
  return g_strdup (type);
}

/* What a dry run with the change has shown: the peak that it had, or why there was none. NULL:
 * the trace tells of no such run. */
static const char *
read_tried (const TesseraTrace *trace, TesseraTry what)
{
  g_autofree char *key = g_strconcat (TESSERA_TRIED_KEY, tessera_try_name (what), NULL);

  return tessera_try_is_from_outside (what) ? tessera_trace_get_meta (trace, key) : NULL;
}

/* Adds to the sentence what a dry run with the change has shown, or which would. */
static void
tell_tried (TesseraSuggestion *suggestion, const char *tried)
{
  g_autofree char *sentence = suggestion->sentence;
  const uint64_t predicted_bytes = suggestion->peak_bytes;
  const uint64_t tried_bytes = suggestion->tried_bytes;
  const uint64_t off_bytes =
      MAX (tried_bytes, predicted_bytes) - MIN (tried_bytes, predicted_bytes);

  if (tried == NULL)
    suggestion->sentence = g_strdup_printf ("%s (dry-run --try %s verifies it)", sentence,
                                            tessera_try_name (suggestion->what));
  else if (tried_bytes == 0)
    suggestion->sentence = g_strdup_printf ("%s (not verified: %s)", sentence, tried);
  else if (off_bytes <= tried_bytes / VERIFIED_SHARE)
    suggestion->sentence = g_strdup_printf ("%s (verified: %s in a dry run with it)",
                                            sentence, TESSERA_SIZE (tried_bytes));
  else
    suggestion->sentence = g_strdup_printf (
        "%s (but %s in a dry run with it, where %s were predicted)", sentence,
        TESSERA_SIZE (tried_bytes), TESSERA_SIZE (predicted_bytes));
}

static void
clear_suggestion (gpointer data)
{
  TesseraSuggestion *suggestion = data;

  g_free (suggestion->sentence);
  g_free (suggestion->type);
  g_free (suggestion->modules);
}

static int
compare_suggestions (const void *a, const void *b)
{
  const TesseraSuggestion *x = a, *y = b;

  /* Steps on the host take much longer, and a smaller batch is what people know already. */
  if (MAX (x->what, TESSERA_TRY_8BIT) != MAX (y->what, TESSERA_TRY_8BIT))
    return MAX (x->what, TESSERA_TRY_8BIT) > MAX (y->what, TESSERA_TRY_8BIT) ? 1 : -1;
  if (x->wins_bytes != y->wins_bytes)
    return x->wins_bytes > y->wins_bytes ? -1 : 1;
  return (int) x->what - (int) y->what;
}

/* A path as a shell takes it: people call files what they like. */
static char *
quote_path (const char *path)
{
  return path[strspn (path, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,:@%=")] == '\0'
             ? g_strdup (path)
             : g_shell_quote (path);
}

static char *
type_plan (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *base = g_path_get_basename (path);

  base[strcspn (base, ".")] = '\0';
  g_autofree char *name = g_strconcat (base, ".tsp", NULL);
  /* Beside the trace: another one of this name may have its plan here. */
  g_autofree char *plan =
      strcmp (folder, ".") == 0 ? g_strdup (name) : g_build_filename (folder, name, NULL);
  g_autofree char *from = quote_path (path);
  g_autofree char *to = quote_path (plan);
  return g_strdup_printf ("tessera plan %s -o %s && tessera run --plan %s -- PROGRAM",
                          from, to, to);
}

static GArray *
suggestions_new (void)
{
  GArray *suggestions = g_array_new (FALSE, FALSE, sizeof (TesseraSuggestion));

  g_array_set_clear_func (suggestions, clear_suggestion);
  return suggestions;
}

/* Nothing where @then_bytes is 0, which is not known, or wins little beside
 * @other_bytes. */
static void
suggest_policy (GArray *suggestions,
                TesseraTry what,
                uint64_t now_bytes,
                uint64_t other_bytes,
                uint64_t then_bytes,
                const char *sentence,
                const char *type)
{
  if (then_bytes == 0 || other_bytes <= then_bytes ||
      other_bytes - then_bytes <= other_bytes / LEAST_SHARE || now_bytes <= then_bytes)
    return;
  const TesseraSuggestion suggestion = { .what = what,
                                         .of = "needed",
                                         .peak_bytes = then_bytes,
                                         .wins_bytes = now_bytes - then_bytes,
                                         .sentence = g_strdup (sentence),
                                         .type = g_strdup (type) };

  g_array_append_val (suggestions, suggestion);
}

GArray *
tessera_suggest_policies (const TesseraTrace *trace,
                          const TesseraNeeds *needs,
                          const TesseraPlan *plan,
                          const char *path)
{
  GArray *suggestions = suggestions_new ();
  uint64_t now_bytes =
      trace->settings.is_expandable ? needs->expandable_bytes : needs->native_bytes;

  if (!trace->settings.is_expandable)
    suggest_policy (suggestions, TESSERA_TRY_EXPANDABLE, now_bytes, now_bytes,
                    needs->expandable_bytes,
                    "pieces become of use to requests of any size",
                    "PYTORCH_ALLOC_CONF=expandable_segments:True");
  if (plan != NULL &&
      (plan->followable != TESSERA_FOLLOWABLE_NO || plan->lengths != NULL))
    {
      g_autofree char *type = type_plan (path), *by_length = NULL;

      if (plan->lengths != NULL)
        by_length = g_strdup_printf ("steps of every length up to %" G_GUINT64_FORMAT
                                     " have their places",
                                     plan->lengths->most.length);

      /* Told by what it saves now, and only where expandable segments save less. */
      suggest_policy (suggestions, TESSERA_TRY_PLAN, now_bytes,
                      tessera_needs_pytorch (needs), needs->plan_bytes,
                      by_length != NULL ? by_length
                      : plan->followable == TESSERA_FOLLOWABLE_YES
                          ? "every block has its place"
                          : "every block of the same batches in the same order has its "
                            "place",
                      type);
    }
  return suggestions;
}

GArray *
tessera_suggest (const TesseraWhose *whose)
{
  GArray *suggestions = suggestions_new ();
  Work work;

  work_init (&work, whose);
  const uint64_t now_bytes = find_peak (&work, TESSERA_TRY_EXPANDABLE);
  const uint64_t least_bytes = MAX (now_bytes / LEAST_SHARE, 1);
  for (int what = TESSERA_TRY_FUSED; what < TESSERA_N_TRIES; what++)
    {
      TesseraSuggestion suggestion = { .what = (TesseraTry) what, .of = "live" };

      if (!can_be_made (&work, suggestion.what))
        continue;
      suggestion.peak_bytes = find_peak (&work, suggestion.what);
      if (suggestion.peak_bytes + least_bytes > now_bytes)
        continue;
      const char *tried = read_tried (whose->trace, suggestion.what);
      if (tried != NULL)
        suggestion.tried_bytes = g_ascii_strtoull (tried, NULL, 10);
      if (suggestion.tried_bytes + least_bytes > now_bytes)
        continue;
      suggestion.wins_bytes =
          now_bytes -
          (suggestion.tried_bytes > 0 ? suggestion.tried_bytes : suggestion.peak_bytes);
      suggestion.sentence = say_what (&work, suggestion.what);
      suggestion.type = say_type (&work, suggestion.what);
      if (suggestion.what == TESSERA_TRY_CHECKPOINT)
        suggestion.modules = g_strdup (work.passes.family);
      if (tessera_try_is_from_outside (suggestion.what))
        tell_tried (&suggestion, tried);
      g_array_append_val (suggestions, suggestion);
    }
  work_clear (&work);
  g_array_sort (suggestions, compare_suggestions);
  return suggestions;
}
