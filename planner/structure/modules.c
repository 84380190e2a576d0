/*
 * Modules of events: see modules.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/modules.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_find_modules (const TesseraTrace *trace, uint32_t **out_modules)
{
  uint32_t *open, *modules;
  size_t n_modules = 0, n_open = 0, next = 0;

  *out_modules = NULL;
  for (size_t i = 0; i < trace->n_ranges; i++)
    n_modules += trace->ranges[i].kind == TESSERA_RANGE_MODULE;
  if (n_modules == 0)
    return TESSERA_OK;
  open = malloc (n_modules * sizeof *open);
  modules = malloc ((trace->n_events + 1) * sizeof *modules);
  if (!open || !modules)
    {
      free (open);
      free (modules);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      for (; next < trace->n_ranges && trace->ranges[next].begin_index <= i; next++)
        if (trace->ranges[next].kind == TESSERA_RANGE_MODULE)
          open[n_open++] = (uint32_t) next;
      while (n_open && trace->ranges[open[n_open - 1]].end_index <= i)
        n_open--;
      modules[i] = n_open ? trace->ranges[open[n_open - 1]].name : TESSERA_NONE;
    }
  free (open);
  *out_modules = modules;
  return TESSERA_OK;
}

const char *
tessera_module_of_stack (const TesseraTrace *trace, uint32_t stack)
{
  if (stack == TESSERA_NONE || stack >= trace->n_stacks)
    return NULL;
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];
      const char *file = tessera_trace_string (trace, frame->file);
      const char *slash = strrchr (file, '/');

      if (strcmp (tessera_trace_string (trace, frame->name), "forward") == 0)
        return slash ? slash + 1 : file;
    }
  return NULL;
}

const char *
tessera_module_of_birth (const TesseraTrace *trace,
                         const uint32_t *modules,
                         uint32_t event,
                         uint32_t stack)
{
  if (!modules)
    return tessera_module_of_stack (trace, stack);
  if (event >= trace->n_events || modules[event] == TESSERA_NONE)
    return NULL;
  return tessera_trace_string (trace, modules[event]);
}
