/*
 * A plan in memory: birth, end and digest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/hash.h"
#include "db/size-text.h"

TesseraStatus
tessera_plan_new (TesseraPlan **out_plan)
{
  *out_plan = calloc (1, sizeof **out_plan);
  return *out_plan ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_plan_free (TesseraPlan *plan)
{
  if (!plan)
    return;
  for (size_t i = 0; plan->groups && i < plan->n_groups; i++)
    free (plan->groups[i].name);
  for (size_t i = 0; plan->strings && i < plan->n_strings; i++)
    free (plan->strings[i]);
  for (size_t i = 0; plan->edits && i < plan->n_edits; i++)
    {
      free (plan->edits[i].name);
      free (plan->edits[i].rule);
    }
  tessera_lengths_free (plan->lengths);
  free (plan->slots);
  free (plan->unplanned);
  free (plan->sections);
  free (plan->crossings);
  free (plan->rooms);
  free (plan->regions);
  free (plan->groups);
  free (plan->edits);
  free (plan->strings);
  free (plan->follow_reason);
  free (plan->strategy);
  free (plan->source);
  free (plan->torch);
  free (plan);
}

uint64_t
tessera_plan_pool_bytes (const TesseraPlan *plan)
{
  return plan->n_regions > 0 ? plan->regions[plan->n_regions - 1].end_bytes
                             : plan->height_bytes;
}

/* A digest is of these fields in this order. */
#define HASH(hash, ...)                                                                  \
  tessera_hash_numbers ((hash), (const uint64_t[]){ __VA_ARGS__ },                       \
                        sizeof (uint64_t[]){ __VA_ARGS__ } / sizeof (uint64_t))

uint64_t
tessera_plan_digest (const TesseraPlan *plan)
{
  uint64_t hash = TESSERA_HASH_START;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *s = &plan->slots[i];

      hash = HASH (hash, s->section, s->ordinal, s->block_bytes, s->offset_bytes, s->born,
                   s->died, s->stream);
    }
  for (size_t i = 0; i < plan->n_crossings; i++)
    hash = HASH (hash, plan->crossings[i].slot, plan->crossings[i].section,
                 plan->crossings[i].died);
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *r = &plan->rooms[i];

      hash = HASH (hash, r->section, r->before, r->stream, r->is_small, r->begin_bytes,
                   r->end_bytes);
    }
  for (size_t i = 0; i < plan->n_regions; i++)
    hash = HASH (hash, plan->regions[i].stream, plan->regions[i].is_small,
                 plan->regions[i].end_bytes);
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *p = &plan->unplanned[i];

      hash = HASH (hash, p->section, p->before, p->ordinal, p->block_bytes, p->stream,
                   p->pool);
    }
  if (plan->crosses_streams)
    hash = HASH (hash, plan->crosses_streams);
  return hash;
}

/* A gap is never rounded down to nothing. */
#define LEAST_PERCENT 0.01

uint64_t
tessera_plan_proven_bound (const TesseraPlan *plan)
{
  return plan->proven_bound_bytes > plan->bound_bytes ? plan->proven_bound_bytes
                                                      : plan->bound_bytes;
}

uint64_t
tessera_plan_shown_bound (const TesseraPlan *plan,
                          uint64_t load_bound_bytes,
                          uint64_t pytorch_bytes)
{
  /* Of recorded lengths more is proven than of others. */
  bool is_proven = plan != NULL && plan->n_edits == 0 && plan->lengths == NULL;
  uint64_t proven_bytes = is_proven ? tessera_plan_proven_bound (plan) : 0;
  bool is_of_layouts = pytorch_bytes == 0 || proven_bytes <= pytorch_bytes;

  /* Behind a barrier a block ends at its free: so less is alive. */
  if (plan != NULL && plan->crosses_streams && plan->bound_bytes < load_bound_bytes)
    load_bound_bytes = plan->bound_bytes;
  return proven_bytes > load_bound_bytes && is_of_layouts ? proven_bytes
                                                          : load_bound_bytes;
}

bool
tessera_plan_is_optimal (const TesseraPlan *plan)
{
  return plan->height_bytes <= tessera_plan_proven_bound (plan);
}

double
tessera_plan_gap (const TesseraPlan *plan)
{
  uint64_t bound_bytes = tessera_plan_proven_bound (plan);
  return tessera_plan_is_optimal (plan) || bound_bytes == 0
             ? 0
             : (double) (plan->height_bytes - bound_bytes) / (double) bound_bytes;
}

/* No layout of what the edits leave is lower; what they force or leave out is a cost. */
static void
describe_edits (const TesseraPlan *plan, char *text, size_t n_text)
{
  char bytes[32];

  if (plan->n_edits == 0)
    return;
  if (plan->height_bytes > plan->bound_bytes)
    snprintf (text, n_text, ", %s above the load bound",
              tessera_format_bytes (plan->height_bytes - plan->bound_bytes, bytes,
                                    sizeof bytes));
  else if (plan->n_unplanned > 0)
    snprintf (text, n_text, ", %zu requests left out", plan->n_unplanned);
}

void
tessera_plan_describe_proof (const TesseraPlan *plan, char *text, size_t n_text)
{
  double percent = 100 * tessera_plan_gap (plan);
  const char *cut = plan->cut_short ? "; cut short by hand" : "";
  char edits[64] = "";
  const char *with;

  describe_edits (plan, edits, sizeof edits);
  with = edits[0] != '\0' ? " with its edits" : "";
  if (tessera_plan_is_optimal (plan))
    snprintf (text, n_text, "optimal%s (proven)%s%s", with, edits, cut);
  else
    snprintf (text, n_text, "within %.2f %% of the proven bound%s%s%s",
              percent > LEAST_PERCENT ? percent : LEAST_PERCENT, with, edits, cut);
}
