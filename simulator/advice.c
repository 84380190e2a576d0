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
     bool by_length,
     TesseraError *error,
     TesseraLayout **out_layout)
{
  const TesseraSimulateOptions options = { .kind = kind,
                                           .plan = plan,
                                           .by_length = by_length,
                                           .first_step = -1,
                                           .last_step = -1,
                                           .without_curves = true,
                                           .progress = advice->progress };

  return tessera_simulate (advice->trace, advice->blocks, advice->structure, &options,
                           error, out_layout);
}

static TesseraStatus
find_peak (const Advice *advice,
           TesseraLayoutKind kind,
           TesseraError *error,
           uint64_t *out_bytes)
{
  TesseraLayout *layout = NULL;
  TesseraStatus status = run (advice, kind, NULL, false, error, &layout);

  if (status == TESSERA_OK)
    *out_bytes = layout->peak_reserved_bytes;
  tessera_layout_free (layout);
  return status;
}

/* Of so many steps the first half may miss: the first evaluation, the first copy of the
 * best weights come once. */
#define SETTLING_STEPS 8
/* What a step may miss: a part of the pool, and what nobody sees; or more, where all that
 * is reserved stays below what PyTorch's own allocators reserve by a part that is seen. */
#define MISSED_SHARE 1000
#define MISSED_BYTES (UINT64_C (1) << 20)

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

/* By length some requests may miss: a size without a law has the place of the largest
 * that was seen. What that costs shows in what is reserved; but where most of them miss,
 * the steps contradict the laws.
 *
 * Returns: what speaks against the plan, or NULL */
static char *
find_fault (const Advice *advice, const TesseraLayout *layout, bool by_length)
{
  bool is_native = advice->native_bytes <= advice->expandable_bytes;
  uint64_t other_bytes = MIN (advice->native_bytes, advice->expandable_bytes);
  uint64_t more_bytes = MAX (other_bytes / MORE_SHARE, MORE_BYTES);
  uint64_t missed_bytes = 0;
  uint64_t n_misses = by_length ? layout->n_misses - layout->n_planned_misses
                                : count_misses (advice, layout, &missed_bytes);
  bool misses = by_length
                    ? n_misses > layout->n_hits
                    : missed_bytes > MAX (layout->peak_reserved_bytes / MISSED_SHARE,
                                          MISSED_BYTES) &&
                          layout->peak_reserved_bytes + more_bytes > other_bytes;

  if (layout->declined_index != 0)
    return g_strdup_printf ("the trace that it was made from declines it at event %u",
                            layout->declined_index);
  if (misses)
    return g_strdup_printf ("of the %" G_GUINT64_FORMAT
                            " requests of the trace that it was made from "
                            "%" G_GUINT64_FORMAT " miss their slots",
                            layout->n_hits + layout->n_misses, n_misses);
  if (layout->peak_reserved_bytes > other_bytes + more_bytes)
    return g_strdup_printf (
        "with it the trace that it was made from reserves %s, and %s %s",
        TESSERA_SIZE (layout->peak_reserved_bytes),
        is_native ? "natively" : "with expandable segments", TESSERA_SIZE (other_bytes));
  return NULL;
}

/* @layout: (nullable): where it is known already */
static TesseraStatus
judge (const Advice *advice,
       const TesseraPlan *plan,
       bool by_length,
       const TesseraLayout *layout,
       TesseraError *error,
       char **out_fault)
{
  TesseraLayout *own = NULL;
  TesseraStatus status = TESSERA_OK;

  *out_fault = NULL;
  if (layout == NULL)
    status = run (advice, TESSERA_LAYOUT_PLAN, plan, by_length, error, &own);
  if (status == TESSERA_OK)
    *out_fault = find_fault (advice, layout != NULL ? layout : own, by_length);
  tessera_layout_free (own);
  return status;
}

TesseraStatus
tessera_advise_plan (const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure,
                     TesseraPlan *plan,
                     const TesseraLayout *planned,
                     const TesseraProgress *progress,
                     TesseraError *error,
                     char **out_no_lengths)
{
  Advice advice = { trace, blocks, structure, progress, 0, 0 };
  g_autofree char *fault = NULL, *fault_by_length = NULL;
  TesseraStatus status;

  *out_no_lengths = NULL;
  if (plan->followable == TESSERA_FOLLOWABLE_NO && plan->lengths == NULL)
    return TESSERA_OK;
  status = find_peak (&advice, TESSERA_LAYOUT_NATIVE, error, &advice.native_bytes);
  if (status == TESSERA_OK)
    status =
        find_peak (&advice, TESSERA_LAYOUT_EXPANDABLE, error, &advice.expandable_bytes);
  if (status == TESSERA_OK && plan->lengths != NULL)
    {
      status = judge (&advice, plan, true, NULL, error, &fault_by_length);
      if (status != TESSERA_OK || fault_by_length == NULL)
        return status;
      *out_no_lengths = g_strconcat ("no plan for every length: ", fault_by_length, NULL);
      g_clear_pointer (&plan->lengths, tessera_lengths_free);
    }
  if (status == TESSERA_OK && plan->followable != TESSERA_FOLLOWABLE_NO)
    status = judge (&advice, plan, false, planned, error, &fault);
  if (status != TESSERA_OK || fault == NULL)
    return status;
  g_free (plan->follow_reason);
  plan->followable = TESSERA_FOLLOWABLE_NO;
  plan->follow_reason = g_steal_pointer (&fault);
  return TESSERA_OK;
}
