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

bool
tessera_frame_is_own (const TesseraTrace *trace, uint32_t frame)
{
  static const char *const libraries[] = { "/torch/", "site-packages/", "dist-packages/",
                                           "/lib/python", "python/tessera/" };
  static const char cell[] = "<ipython-input";
  const char *file = tessera_trace_string (trace, trace->frames[frame].file);

  if (strncmp (file, cell, sizeof cell - 1) == 0)
    return true;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (strstr (file, libraries[i]) != NULL)
      return false;
  return g_str_has_suffix (file, ".py") && file[0] != '<';
}

bool
tessera_frame_is_model (const TesseraTrace *trace, uint32_t frame)
{
  /* What wraps models says nothing. */
  static const char *const libraries[] = {
    "transformers/models/",
    "transformers/loss/",
    "transformers/cache_utils.py",
    "diffusers/models/",
    "diffusers/schedulers",
    "timm/models/",
    "timm/layers/",
    "torchvision/models/",
    "torchvision/ops/",
    "megatron/core/models",
    "megatron/core/transformer",
    "megatron/core/tensor_parallel/layers",
    "peft/tuners/",
    "trl/trainer/",
    "flash_attn/",
    "liger_kernel/",
    "xformers/",
    "fla/layers/",
    "fla/models/",
    "open_clip/",
    "torchtune/modules/",
  };

  const char *file = tessera_trace_string (trace, trace->frames[frame].file);

  for (size_t i = 0; i < G_N_ELEMENTS (libraries); i++)
    if (strstr (file, libraries[i]) != NULL)
      return true;
  return tessera_frame_is_own (trace, frame);
}

bool
tessera_frame_is_optimizer (const TesseraTrace *trace, uint32_t frame)
{
  const char *file = tessera_trace_string (trace, trace->frames[frame].file);

  return strstr (file, "torch/optim/") != NULL && strstr (file, "swa_utils.py") == NULL;
}

/* PyTorch's own call of the autograd engine: all of a backward pass is in it. Or of one of its
 * operators that is written in Python, which the engine's threads call, too. */
static bool
is_engine_call (const TesseraTrace *trace, const TesseraFrame *frame)
{
  const char *name = tessera_trace_string (trace, frame->name);
  const char *file = tessera_trace_string (trace, frame->file);

  return strstr (file, "torch/_native/") != NULL ||
         (strstr (file, "torch/autograd/") != NULL &&
          (strcmp (name, "_engine_run_backward") == 0 || strcmp (name, "backward") == 0));
}

uint32_t
tessera_line_of_stack (const TesseraTrace *trace, uint32_t stack)
{
  uint32_t python = TESSERA_NONE;
  bool is_engine = false;

  if (stack >= trace->n_stacks)
    return TESSERA_NONE;
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const uint32_t frame = trace->stack_frames[i];
      const char *file = tessera_trace_string (trace, trace->frames[frame].file);

      if (tessera_frame_is_model (trace, frame))
        return frame;
      if (python == TESSERA_NONE && g_str_has_suffix (file, ".py"))
        {
          python = frame;
          is_engine = is_engine_call (trace, &trace->frames[frame]);
        }
    }
  return is_engine ? TESSERA_NONE : python;
}

char *
tessera_name_frame (const TesseraTrace *trace, uint32_t frame)
{
  const TesseraFrame *one = &trace->frames[frame];
  g_autofree char *file = g_path_get_basename (tessera_trace_string (trace, one->file));

  return g_strdup_printf ("%s:%" G_GINT64_FORMAT " %s", file, one->line,
                          tessera_trace_string (trace, one->name));
}

char *
tessera_name_line (const TesseraTrace *trace, uint32_t stack)
{
  const uint32_t line = tessera_line_of_stack (trace, stack);

  return line == TESSERA_NONE ? g_strdup ("(no stack)")
                              : tessera_name_frame (trace, line);
}
