/*
 * Phases: the trace's ranges that are neither steps nor modules, nested as the file says;
 * where these cover less than half of what happens, stretches of inferred labels fill
 * the rest.
 *
 * Labels are read off stacks: an optimizer's file anywhere on the stack says optimizer;
 * else a frame of the autograd engine says backward; else a module's call says forward.
 * The engine's own threads have no Python frames: what has no stack after a forward is
 * taken for the backward.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <glib.h>
#include <string.h>
#include <strings.h>

#include "db/hash.h"
#include "planner/modules.h"

/* ---- Labels from stacks ---- */

/* Shorter stretches belong to what they lie in: single tensors freed late, or callbacks.
 */
#define SHORTEST_STRETCH 6

enum
{
  SAYS_NOTHING = 0,
  SAYS_FORWARD,
  SAYS_BACKWARD,
  SAYS_OPTIMIZER /* the largest word on a stack wins */
};

static const char *const labels_of[] = { "other", "forward", "backward", "optimizer" };

static uint8_t
frame_says (const TesseraTrace *trace, uint32_t index)
{
  static const char *const forward[] = { "forward", "_call_impl", "_wrapped_call_impl",
                                         "__call__", NULL };
  /* A hook of what was saved makes again what a checkpoint left out. */
  static const char *const backward[] = { "backward", "run_backward",
                                          "_engine_run_backward", "unpack_hook", NULL };
  const char *name = tessera_trace_string (trace, trace->frames[index].name);

  if (tessera_frame_is_optimizer (trace, index) || strstr (name, "torch::optim"))
    return SAYS_OPTIMIZER;
  if (g_strv_contains (backward, name) || strstr (name, "autograd::Engine") ||
      strstr (name, "autograd::Node"))
    return SAYS_BACKWARD;
  return g_strv_contains (forward, name) ? SAYS_FORWARD : SAYS_NOTHING;
}

/* Whether nobody but the engine called: all of @stack, which has some, are frames of
 * torch/autograd. */
static bool
is_called_by_engine (const TesseraTrace *trace, size_t stack)
{
  uint32_t i = trace->stack_begin[stack];

  while (i < trace->stack_begin[stack + 1] &&
         strstr (tessera_trace_string (trace, trace->frames[trace->stack_frames[i]].file),
                 "torch/autograd/") != NULL)
    i++;
  return i == trace->stack_begin[stack + 1] && i > trace->stack_begin[stack];
}

static uint8_t *
read_stacks (const TesseraTrace *trace)
{
  g_autofree uint8_t *of_frame = g_new (uint8_t, trace->n_frames + 1);
  uint8_t *says = g_new0 (uint8_t, trace->n_stacks + 1);

  for (size_t i = 0; i < trace->n_frames; i++)
    of_frame[i] = frame_says (trace, (uint32_t) i);
  for (size_t i = 0; i < trace->n_stacks; i++)
    {
      for (uint32_t k = trace->stack_begin[i]; k < trace->stack_begin[i + 1]; k++)
        if (of_frame[trace->stack_frames[k]] > says[i])
          says[i] = of_frame[trace->stack_frames[k]];
      if (says[i] == SAYS_NOTHING && is_called_by_engine (trace, i))
        says[i] = SAYS_BACKWARD;
    }
  return says;
}

static const char *
label_event (const TesseraEvent *event, const uint8_t *says, const char *before)
{
  if (event->stack != TESSERA_NONE)
    return labels_of[says[event->stack]];
  if (before == labels_of[SAYS_FORWARD])
    return labels_of[SAYS_BACKWARD];
  return before ? before : labels_of[SAYS_NOTHING];
}

/* Stretches of fewer than SHORTEST_STRETCH requests take the label before them. What comes behind
 * the optimizer, and says nothing, is no more of it: the next batch. */
static void
smooth (const TesseraTrace *trace, const char **labels)
{
  const char *settled = NULL;
  size_t i = 0;

  while (i < trace->n_events)
    {
      size_t end = i, n_requests = 0;

      for (; end < trace->n_events && labels[end] == labels[i]; end++)
        n_requests += tessera_is_request (&trace->events[end]);
      const bool is_behind = settled == labels_of[SAYS_OPTIMIZER] &&
                             labels[i] == labels_of[SAYS_NOTHING] &&
                             (end == trace->n_events || labels[end] != settled);
      if (!settled || n_requests >= SHORTEST_STRETCH || is_behind)
        settled = labels[i];
      for (; i < end; i++)
        labels[i] = settled;
    }
}

/* Labels of events. Returns: [n_events] */
static const char **
infer_labels (const TesseraTrace *trace)
{
  const char **labels = g_new0 (const char *, trace->n_events + 1);
  const char *before = NULL;
  g_autofree uint8_t *says = read_stacks (trace);

  for (size_t i = 0; i < trace->n_events; i++)
    {
      if (tessera_is_request (&trace->events[i]))
        before = label_event (&trace->events[i], says, before);
      labels[i] = before;
    }
  smooth (trace, labels);
  return labels;
}

/* ---- Phases ---- */

/* Names by which people and frameworks call the parts of a step; compared as prefixes,
 * without case. Everything nested inside one belongs to it. */
static const char *const computation_names[] = {
  "forward",   "fwd",  "backward", "bwd",  "optim", "recompute",
  "zero_grad", "eval", "valid",    "test", "loss",
};

typedef struct
{
  const TesseraTrace *trace;
  TesseraStructure *out; /* its phases are those of @phases once all are there */
  GArray *phases;        /* TesseraPhase */
  uint32_t *phase_of_range;
} Build;

static bool
is_phase (const TesseraTrace *trace, const TesseraRange *range)
{
  return (range->kind == TESSERA_RANGE_PHASE || range->kind == TESSERA_RANGE_OTHER) &&
         range->begin_index < range->end_index && range->end_index <= trace->n_events;
}

static bool
is_computation (const char *name)
{
  for (size_t i = 0; i < sizeof computation_names / sizeof *computation_names; i++)
    if (strncasecmp (name, computation_names[i], strlen (computation_names[i])) == 0)
      return true;
  return false;
}

static TesseraPhase *
phase_at (const Build *build, size_t index)
{
  return &g_array_index (build->phases, TesseraPhase, index);
}

/* The nearest enclosing phase of range @index; ranges between may be steps or modules. */
static uint32_t
parent_phase (const Build *build, size_t index)
{
  uint32_t parent = build->trace->ranges[index].parent;

  while (parent < index && build->phase_of_range[parent] == TESSERA_NONE)
    parent = build->trace->ranges[parent].parent;
  return parent < index ? build->phase_of_range[parent] : TESSERA_NONE;
}

/* Adds the phase of range @index, if it is one. A computation phase is its own; others
 * belong to an enclosing one, else to the outermost. */
static void
add_range (Build *build, size_t index)
{
  const TesseraRange *range = &build->trace->ranges[index];
  TesseraPhase phase = { .begin_index = range->begin_index,
                         .end_index = range->end_index,
                         .name = range->name,
                         .main = build->phases->len,
                         .is_inferred = range->is_inferred };

  build->phase_of_range[index] = TESSERA_NONE;
  if (!is_phase (build->trace, range))
    return;
  phase.parent = parent_phase (build, index);
  if (phase.parent != TESSERA_NONE)
    {
      phase.depth = phase_at (build, phase.parent)->depth + 1;
      if (!is_computation (tessera_phase_name (build->trace, &phase)))
        phase.main = phase_at (build, phase.parent)->main;
    }
  build->phase_of_range[index] = build->phases->len;
  g_array_append_val (build->phases, phase);
}

/* Adds the stretch of equal labels that begins at event @begin_index. */
static void
add_stretch (Build *build, const char **labels, uint32_t begin_index, uint32_t end_index)
{
  TesseraPhase phase = { .begin_index = begin_index,
                         .end_index = end_index,
                         .name = TESSERA_NONE,
                         .label = labels[begin_index],
                         .parent = TESSERA_NONE,
                         .main = build->phases->len,
                         .is_inferred = 1 };

  build->out->phases_inferred = true;
  g_array_append_val (build->phases, phase);
}

/* Ranges and stretches are each in order of their begins: merged, they stay so. @labels
 * may be NULL. */
static void
add_all (Build *build, const char **labels)
{
  const TesseraTrace *trace = build->trace;
  const TesseraStructure *out = build->out;
  size_t range = 0, step = 0;
  uint32_t i = 0;

  while (labels && i < trace->n_events)
    {
      uint32_t end = i + 1;

      for (; range < trace->n_ranges && trace->ranges[range].begin_index <= i; range++)
        add_range (build, range);
      while (step < out->n_steps && out->steps[step].begin_index <= i)
        step++;
      while (end < trace->n_events && labels[end] == labels[i] &&
             (step == out->n_steps || end < out->steps[step].begin_index))
        end++;
      if (labels[i])
        add_stretch (build, labels, i, end);
      i = end;
    }
  for (; range < trace->n_ranges; range++)
    add_range (build, range);
}

/* Innermost: the latest begun of the phases still open. */
static void
assign_events (const Build *build)
{
  const TesseraTrace *trace = build->trace;
  TesseraStructure *out = build->out;
  g_autofree uint32_t *open = g_new (uint32_t, build->phases->len + 1);
  size_t n_open = 0, next = 0;

  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      for (; next < build->phases->len && phase_at (build, next)->begin_index <= i;
           next++)
        open[n_open++] = (uint32_t) next;
      while (n_open && phase_at (build, open[n_open - 1])->end_index <= i)
        n_open--;
      out->phase_of_event[i] = n_open ? open[n_open - 1] : TESSERA_NONE;
    }
}

/* Whether ranges name less than half of the requests, and stacks are there to read. */
static bool
is_to_infer (const TesseraTrace *trace, const TesseraStructure *out)
{
  size_t n_requests = 0, n_named = 0, n_stacks = 0;

  for (uint32_t i = 0; i < trace->n_events; i++)
    if (tessera_is_request (&trace->events[i]))
      {
        n_requests++;
        n_named += out->phase_of_event[i] != TESSERA_NONE;
        n_stacks += trace->events[i].stack != TESSERA_NONE;
      }
  return 2 * n_named < n_requests && 10 * n_stacks >= n_requests;
}

static void
fill_with_inferred (Build *build)
{
  g_autofree const char **labels = infer_labels (build->trace);

  for (uint32_t i = 0; i < build->trace->n_events; i++)
    if (build->out->phase_of_event[i] != TESSERA_NONE)
      labels[i] = NULL;
  g_array_set_size (build->phases, 0);
  add_all (build, labels);
}

void
tessera_find_phases (const TesseraTrace *trace, TesseraStructure *structure)
{
  g_autofree uint32_t *phase_of_range = g_new (uint32_t, trace->n_ranges + 1);
  Build build = { trace, structure, g_array_new (FALSE, FALSE, sizeof (TesseraPhase)),
                  phase_of_range };

  structure->phase_of_event = g_new (uint32_t, trace->n_events + 1);
  add_all (&build, NULL);
  assign_events (&build);
  if (is_to_infer (trace, structure))
    {
      fill_with_inferred (&build);
      assign_events (&build);
    }
  structure->n_phases = build.phases->len;
  structure->phases = (TesseraPhase *) g_array_free (build.phases, FALSE);
}

const char *
tessera_phase_name (const TesseraTrace *trace, const TesseraPhase *phase)
{
  return phase->label ? phase->label : tessera_trace_string (trace, phase->name);
}

uint64_t
tessera_phase_hash (const TesseraTrace *trace,
                    const TesseraStructure *structure,
                    uint32_t phase)
{
  const char *name;

  if (phase == TESSERA_NONE)
    return TESSERA_HASH_START;
  name = tessera_phase_name (trace, &structure->phases[phase]);
  return tessera_hash_bytes (TESSERA_HASH_START, name, strlen (name));
}
