/* See simulate.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/simulate.h"

#include <glib.h>

#include "db/lengths.h"
#include "db/size-text.h"

/* A plan reserves at most one part in so many more than the better of PyTorch's own two
 * allocators, or so much in a small program. */
#define MORE_SHARE 50
#define MORE_BYTES ((uint64_t) 4 << 20)

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraProgress *progress;
  uint64_t native_bytes, expandable_bytes; /* most reserved */
} Advice;

static TesseraStatus
run (const Advice *advice,
     TesseraLayoutKind kind,
     const TesseraPlan *plan,
     TesseraError *error,
     TesseraLayout **out_layout)
{
  const TesseraSimulateOptions options = { .kind = kind,
                                           .plan = plan,
                                           .by_length =
                                               plan != NULL && plan->lengths != NULL,
                                           .without_curves = plan == NULL,
                                           .progress = advice->progress };

  return tessera_simulate (advice->trace, advice->blocks, advice->structure, &options,
                           error, out_layout);
}

static TesseraStatus
find_peaks (Advice *advice, TesseraError *error)
{
  static const TesseraLayoutKind kinds[] = { TESSERA_LAYOUT_NATIVE,
                                             TESSERA_LAYOUT_EXPANDABLE };
  uint64_t *const peaks[] = { &advice->native_bytes, &advice->expandable_bytes };
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < G_N_ELEMENTS (kinds); i++)
    {
      TesseraLayout *layout = NULL;

      status = run (advice, kinds[i], NULL, error, &layout);
      if (status == TESSERA_OK)
        *peaks[i] = layout->peak_reserved_bytes;
      tessera_layout_free (layout);
    }
  return status;
}

/* Of so many steps the first half may miss: the first evaluation, the first copy of the
 * best weights come once. */
#define SETTLING_STEPS 8
/* What a step may miss: a part of the pool, and what nobody sees; or more, where all that
 * is reserved stays below what PyTorch's own allocators reserve by a part that is seen. */
#define MISSED_SHARE 1000
#define MISSED_BYTES (UINT64_C (1) << 20)
#define WENT_SHARE 4 /* of what there is to give back, in each step */

/* Requests that missed though the plan has a slot for each: sizes that differ from step
 * to step, and what comes between steps, have none. *@out_most_bytes: what one step, or
 * what comes before the first, missed at most. */
static uint64_t
count_misses (const Advice *advice, const TesseraLayout *layout, uint64_t *out_most_bytes)
{
  const uint16_t not_asked = TESSERA_AT_START | TESSERA_UNKNOWN_START | TESSERA_FAILED;
  const TesseraStructure *structure = advice->structure;
  uint32_t first_step =
      structure->n_steps > 0 ? structure->steps[0].begin_index : layout->n_events;
  uint32_t settled =
      structure->n_steps >= SETTLING_STEPS ? (uint32_t) structure->n_steps / 2 : 0;
  g_autofree uint64_t *missed = g_new0 (uint64_t, structure->n_steps + 1);
  uint64_t n = 0;

  *out_most_bytes = 0;
  for (size_t i = 0; i < advice->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &advice->blocks->blocks[i];
      bool is_before = block->step == TESSERA_NONE;
      uint64_t *of = &missed[is_before ? 0 : block->step + 1];

      if ((block->flags & not_asked) != 0 || layout->is_hit[i] || layout->is_left[i] ||
          block->lifetime_class == TESSERA_CLASS_DYNAMIC ||
          (is_before ? settled > 0 || block->born_index >= first_step
                     : block->step < settled))
        continue;
      n++;
      *of += block->block_bytes;
      *out_most_bytes = MAX (*of, *out_most_bytes);
    }
  return n;
}

/* What a run holds in the end: where memory goes and comes back in each step, for what
 * misses, a run soon keeps the pool and what lies beside it, since it calls the driver for
 * a part of the time only. */
static uint64_t
held_bytes (const Advice *advice, const TesseraLayout *layout)
{
  const TesseraStructure *structure = advice->structure;
  uint64_t went_bytes = 0;
  size_t settled = structure->n_steps / 2, n_steps = structure->n_steps - settled;

  if (structure->n_steps < SETTLING_STEPS)
    return layout->peak_reserved_bytes;
  for (size_t i = 0; i < layout->n_spans; i++)
    if (layout->spans[i].died_index >= structure->steps[settled].begin_index &&
        layout->spans[i].died_index < structure->steps[structure->n_steps - 1].end_index)
      went_bytes += layout->spans[i].size_bytes;
  return went_bytes / n_steps > layout->kept_bytes / WENT_SHARE
             ? layout->kept_bytes
             : layout->peak_reserved_bytes;
}

/* A plan may make the trace reserve. */
static uint64_t
allowed_bytes (const Advice *advice)
{
  uint64_t other_bytes = MIN (advice->native_bytes, advice->expandable_bytes);

  return other_bytes + MAX (other_bytes / MORE_SHARE, MORE_BYTES);
}

/* By length some requests may miss: a size without a law has the place of the largest
 * that was seen. What that costs shows in what is reserved if nothing ever goes back, which
 * a plan that suits does not need; but where most of them miss, the steps contradict the
 * laws.
 *
 * Returns: what speaks against the plan, or NULL */
static char *
find_fault (const Advice *advice, const TesseraPlan *plan, const TesseraLayout *layout)
{
  const bool by_length = plan->lengths != NULL;
  bool is_native = advice->native_bytes <= advice->expandable_bytes;
  uint64_t other_bytes = MIN (advice->native_bytes, advice->expandable_bytes);
  uint64_t more_bytes = allowed_bytes (advice) - other_bytes;
  uint64_t reserved_bytes = by_length ? layout->kept_bytes : layout->peak_reserved_bytes;
  uint64_t missed_bytes = 0;
  uint64_t n_misses = by_length ? layout->n_misses - layout->n_planned_misses
                                : count_misses (advice, layout, &missed_bytes);
  bool misses = by_length
                    ? n_misses > layout->n_hits
                    : missed_bytes > MAX (layout->peak_reserved_bytes / MISSED_SHARE,
                                          MISSED_BYTES) &&
                          held_bytes (advice, layout) + more_bytes > other_bytes;

  if (layout->declined_index != 0)
    return g_strdup_printf (
        "%sthe recording that it was made from gives it up at event %u",
        by_length ? "steps differ by more than length and batch: " : "",
        layout->declined_index);
  if (misses)
    return g_strdup_printf ("of the %" G_GUINT64_FORMAT
                            " requests of the trace that it was made from "
                            "%" G_GUINT64_FORMAT " miss their slots",
                            layout->n_hits + layout->n_misses, n_misses);
  if (reserved_bytes > allowed_bytes (advice))
    return g_strdup_printf (
        "with it the trace that it was made from %s %s, and %s %s",
        by_length ? "may reserve" : "reserves", TESSERA_SIZE (reserved_bytes),
        is_native ? "natively" : "with expandable segments", TESSERA_SIZE (other_bytes));
  return NULL;
}

/* Steps differ by length, and PyTorch's allocators are better than a plan for that: this one
 * has rooms for the sizes that were seen, and another run's are others. */
static void
limit_to_same_batches (TesseraPlan *plan)
{
  plan->followable = TESSERA_FOLLOWABLE_SAME_BATCHES;
  g_free (plan->follow_reason);
  plan->follow_reason =
      g_strdup ("steps differ by length: a run follows this plan only with the same "
                "batches in the same order");
}

/* @layout: the trace under @plan. What speaks against it becomes a part of the plan. */
static void
judge (const Advice *advice,
       TesseraPlan *plan,
       const TesseraLayout *layout,
       char **out_no_lengths)
{
  char *fault = find_fault (advice, plan, layout);

  if (fault == NULL)
    return;
  if (plan->lengths != NULL)
    {
      *out_no_lengths = g_strconcat ("no plan for every length: ", fault, NULL);
      g_clear_pointer (&plan->lengths, tessera_lengths_free);
      if (layout->kept_bytes > allowed_bytes (advice) &&
          plan->followable == TESSERA_FOLLOWABLE_YES && plan->n_rooms > 0)
        limit_to_same_batches (plan);
      g_free (fault);
      return;
    }
  g_free (plan->follow_reason);
  plan->followable = TESSERA_FOLLOWABLE_NO;
  plan->follow_reason = fault;
}

/* That there is no plan for every length is no failure: the other one stands alone. */
static TesseraStatus
plan_lengths (const Advice *advice,
              const TesseraFollowOptions *options,
              TesseraPlan *plan,
              TesseraError *error,
              char **out_no_lengths)
{
  TesseraError declined = { 0 };
  TesseraStatus status =
      tessera_lengths_plan (advice->trace, advice->blocks, advice->structure,
                            options->laws, &options->lengths, &declined, &plan->lengths);

  if (status != TESSERA_REFUSED && status != TESSERA_INVALID)
    return status == TESSERA_OK ? status
                                : tessera_fail (error, status, "%s", declined.text);
  *out_no_lengths =
      g_strdup (declined.text[0] != '\0'
                    ? declined.text
                    : "sizes are beyond what can be computed: no plan for every length");
  return TESSERA_OK;
}

TesseraStatus
tessera_follow_plan (const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure,
                     const TesseraFollowOptions *options,
                     TesseraPlan *plan,
                     TesseraError *error,
                     TesseraLayout **out_layout,
                     char **out_no_lengths)
{
  Advice advice = { trace, blocks, structure, options->progress, 0, 0 };
  TesseraStatus status = TESSERA_OK;
  bool is_again = true;

  *out_layout = NULL;
  *out_no_lengths = NULL;
  if (options->laws != NULL)
    status = plan_lengths (&advice, options, plan, error, out_no_lengths);
  if (status == TESSERA_OK && !options->without_advice &&
      (plan->followable != TESSERA_FOLLOWABLE_NO || plan->lengths != NULL))
    status = find_peaks (&advice, error);
  while (status == TESSERA_OK && is_again)
    {
      const bool by_length = plan->lengths != NULL;

      g_clear_pointer (out_layout, tessera_layout_free);
      status = run (&advice, TESSERA_LAYOUT_PLAN, plan, error, out_layout);
      if (status == TESSERA_OK && !options->without_advice &&
          (by_length || plan->followable != TESSERA_FOLLOWABLE_NO))
        judge (&advice, plan, *out_layout, out_no_lengths);
      is_again = by_length && plan->lengths == NULL;
    }
  return status;
}
