/*
 * Modules of events: see modules.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/modules.h"

#include <glib.h>
#include <string.h>

uint32_t *
tessera_find_modules (const TesseraTrace *trace)
{
  g_autofree uint32_t *open = NULL;
  uint32_t *modules;
  size_t n_modules = 0, n_open = 0, next = 0;

  for (size_t i = 0; i < trace->n_ranges; i++)
    n_modules += trace->ranges[i].kind == TESSERA_RANGE_MODULE;
  if (n_modules == 0)
    return NULL;
  open = g_new (uint32_t, n_modules);
  modules = g_new (uint32_t, trace->n_events + 1);
  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      for (; next < trace->n_ranges && trace->ranges[next].begin_index <= i; next++)
        if (trace->ranges[next].kind == TESSERA_RANGE_MODULE)
          open[n_open++] = (uint32_t) next;
      while (n_open && trace->ranges[open[n_open - 1]].end_index <= i)
        n_open--;
      modules[i] = n_open ? trace->ranges[open[n_open - 1]].name : TESSERA_NONE;
    }
  return modules;
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
