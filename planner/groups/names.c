/*
 * Names of groups, for people: "forward -> backward, step 1", "64 x 16.00 MiB, forward".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups/private.h"

#include <inttypes.h>
#include <stdio.h>
#include "db/size-text.h"
#include "planner/memory.h"

typedef struct
{
  const char *name;
  uint32_t step;
  uint32_t phase;
} Named;

static int
by_name (const void *a, const void *b)
{
  const Named *x = a, *y = b;
  int order;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  order = strcmp (x->name, y->name);
  if (order)
    return order;
  return x->phase < y->phase ? -1 : x->phase > y->phase;
}

/* The step that an event lies in; phases are in order, so the search moves on. */
static uint32_t
step_from (const TesseraStructure *structure, uint32_t event, uint32_t from)
{
  while (from < structure->n_steps && structure->steps[from].end_index <= event)
    from++;
  return from;
}

uint32_t *
tessera_phase_ordinals (const TesseraTrace *trace, const TesseraStructure *structure)
{
  size_t n = structure->n_phases;
  g_autofree Named *named = g_new (Named, n + 1);
  uint32_t *ordinals = g_new0 (uint32_t, n + 1), step = 0, count = 0;

  for (uint32_t i = 0; i < n; i++)
    {
      step = step_from (structure, structure->phases[i].begin_index, step);
      named[i] = (Named){ tessera_phase_name (trace, &structure->phases[i]), step, i };
    }
  qsort (named, n, sizeof *named, by_name);
  for (size_t i = 0; i < n; i++)
    {
      bool follows = i && named[i].step == named[i - 1].step &&
                     strcmp (named[i].name, named[i - 1].name) == 0;

      count = follows ? count + 1 : 1;
      ordinals[named[i].phase] = count;
      if (count == 2)
        ordinals[named[i - 1].phase] = 1;
      if (count == 1)
        ordinals[named[i].phase] = 0;
    }
  return ordinals;
}

/* "forward", "forward 2" where the step has several; @phase may be TESSERA_NONE. */
static void
write_end (const TesseraTrace *trace,
           const TesseraStructure *structure,
           const uint32_t *phase_ordinals,
           const TesseraGroupKey *key,
           uint32_t end,
           char *text,
           size_t n_text)
{
  text[0] = '\0';
  if (end == TESSERA_NONE)
    return;
  if (key->are_modules)
    snprintf (text, n_text, "%s", tessera_trace_string (trace, end));
  else if (phase_ordinals[end] && key->kind != TESSERA_GROUP_HOMO_LAYER &&
           key->kind != TESSERA_GROUP_PERSISTENT)
    snprintf (text, n_text, "%s %" PRIu32,
              tessera_phase_name (trace, &structure->phases[end]), phase_ordinals[end]);
  else
    snprintf (text, n_text, "%s", tessera_phase_name (trace, &structure->phases[end]));
}

char *
tessera_group_name (const TesseraTrace *trace,
                    const TesseraStructure *structure,
                    const uint32_t *phase_ordinals,
                    const TesseraGroupKey *key,
                    size_t n_members)
{
  char from[160], to[160], size[32], head[64] = "", step[48] = "", name[512], shown[512];
  const char *of;

  write_end (trace, structure, phase_ordinals, key, key->from, from, sizeof from);
  write_end (trace, structure, phase_ordinals, key, key->to, to, sizeof to);
  of = from[0]                     ? from
       : to[0]                     ? "before"
       : key->step == TESSERA_NONE ? "no phase"
                                   : "rest";
  tessera_format_bytes (key->size_bytes, size, sizeof size);
  if (key->kind == TESSERA_GROUP_PERSISTENT)
    snprintf (head, sizeof head, "persistent, from ");
  else if (key->kind == TESSERA_GROUP_HOMO_LAYER)
    snprintf (head, sizeof head, "dynamic, ");
  else if (key->kind == TESSERA_GROUP_HOMO_SIZE)
    snprintf (head, sizeof head, "%zu x %s, ", n_members, size);
  if (key->step != TESSERA_NONE)
    snprintf (step, sizeof step, ", step %" PRId64, structure->steps[key->step].number);
  if (key->kind == TESSERA_GROUP_PERSISTENT)
    snprintf (name, sizeof name, "%s%s", head, from[0] ? from : "the start");
  else if (key->from == key->to || (!to[0] && !from[0]))
    snprintf (name, sizeof name, "%s%s%s", head, of, step);
  else
    snprintf (name, sizeof name, "%s%s -> %s%s", head, of, to[0] ? to : "after", step);
  return g_strdup (tessera_show_text (name, shown, sizeof shown));
}
