/*
 * Plans for every length that take more than there ever is, and are not made: expandable
 * rules serve better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/pins.h"

enum
{
  DEAR_SHARE = 4 /* above the trace's own load by more, expandable rules serve better */
};

static TesseraStatus
refuse_height (const TesseraLengthsBuild *build, double percent, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint32_t pin = tessera_lengths_pins_highest (build);

  if (pin != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" %s that a step would take %.0f %% "
                         "of the most that is ever alive, since what moves with the "
                         "length lies above: no plan for every length is made with it",
                         edits->edits[pin].name,
                         edits->edits[pin].kind == TESSERA_EDIT_PIN
                             ? "pins so high"
                             : "keeps so much together",
                         percent);
  if (edits->fixing != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" keeps so much apart that a step would take "
                         "%.0f %% of the most that is ever alive: no plan for every "
                         "length is made with it",
                         edits->edits[edits->fixing].name, percent);
  return tessera_fail (error, TESSERA_REFUSED,
                       "sizes vary by a law, but what can't move with the length "
                       "is too much: a step would take %.0f %% of the most that is "
                       "ever alive: no plan for every length",
                       percent);
}

/* What can't move with the length (blocks that live into the next step in sizes that
 * vary, requests that each step makes otherwise) may take more than there ever is, and so
 * may what an edit fixes. */
TesseraStatus
tessera_lengths_refuse_dear (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);

  for (uint32_t k = 0; k < out->n_observed; k++)
    {
      TesseraLengthsNeed need;
      TesseraStatus status = tessera_lengths_measure (out, &out->observed[k], &need);

      if (status == TESSERA_INVALID) /* a law gives no size there */
        continue;
      if (status != TESSERA_OK)
        return status;
      if (need.height_bytes > load + load / DEAR_SHARE)
        return refuse_height (build, 100.0 * (double) need.height_bytes / (double) load,
                              error);
    }
  return TESSERA_OK;
}
