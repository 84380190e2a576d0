/*
 * What a program was doing, read off its stacks: forward, backward, optimizer, other.
 *
 * An optimizer's file anywhere on the stack says optimizer; else a frame of the autograd
 * engine says backward; else a module's call says forward. The engine's own threads have
 * no Python frames: what has no stack after a forward is taken for the backward.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <stdlib.h>
#include <string.h>

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

static bool
is_any (const char *text, const char *const *words)
{
  for (; *words; words++)
    if (strcmp (text, *words) == 0)
      return true;
  return false;
}

static uint8_t
frame_says (const TesseraTrace *trace, const TesseraFrame *frame)
{
  static const char *const forward[] = { "forward", "_call_impl", "_wrapped_call_impl",
                                         "__call__", NULL };
  static const char *const backward[] = { "backward", "run_backward",
                                          "_engine_run_backward", NULL };
  const char *name = tessera_trace_string (trace, frame->name);
  const char *file = tessera_trace_string (trace, frame->file);

  if (strstr (file, "torch/optim/") || strstr (name, "torch::optim"))
    return SAYS_OPTIMIZER;
  if (is_any (name, backward) || strstr (name, "autograd::Engine") ||
      strstr (name, "autograd::Node"))
    return SAYS_BACKWARD;
  return is_any (name, forward) ? SAYS_FORWARD : SAYS_NOTHING;
}

static TesseraStatus
read_stacks (const TesseraTrace *trace, uint8_t **out_says)
{
  uint8_t *of_frame = malloc (trace->n_frames + 1);
  uint8_t *says = calloc (trace->n_stacks + 1, 1);

  *out_says = says;
  if (!of_frame || !says)
    {
      free (of_frame);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < trace->n_frames; i++)
    of_frame[i] = frame_says (trace, &trace->frames[i]);
  for (size_t i = 0; i < trace->n_stacks; i++)
    for (uint32_t k = trace->stack_begin[i]; k < trace->stack_begin[i + 1]; k++)
      if (of_frame[trace->stack_frames[k]] > says[i])
        says[i] = of_frame[trace->stack_frames[k]];
  free (of_frame);
  return TESSERA_OK;
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

/* Stretches of fewer than SHORTEST_STRETCH requests take the label before them. */
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
      if (!settled || n_requests >= SHORTEST_STRETCH)
        settled = labels[i];
      for (; i < end; i++)
        labels[i] = settled;
    }
}

TesseraStatus
tessera_infer_labels (const TesseraTrace *trace, const char **labels)
{
  const char *before = NULL;
  uint8_t *says = NULL;
  TesseraStatus status = read_stacks (trace, &says);

  for (size_t i = 0; status == TESSERA_OK && i < trace->n_events; i++)
    {
      if (tessera_is_request (&trace->events[i]))
        before = label_event (&trace->events[i], says, before);
      labels[i] = before;
    }
  if (status == TESSERA_OK)
    smooth (trace, labels);
  free (says);
  return status;
}
