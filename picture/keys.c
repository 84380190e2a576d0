/*
 * Keys of blocks, by every kind of colouring.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/keys.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "db/size-text.h"

#define LEAST_SIZE_BITS 12 /* up to 4 KiB is one bucket */
#define N_SIZES 24         /* the last is everything above 16 GiB */
#define N_AGES 9           /* up to 10, 100 ... 10^8 events; the last: to the end */

static bool
has_modules (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_ranges; i++)
    if (trace->ranges[i].kind == TESSERA_RANGE_MODULE)
      return true;
  return false;
}

/* Ranges come outer before inner: the last to write is the innermost. */
static void
find_modules (TesseraKeys *keys)
{
  uint32_t n_events = keys->blocks->n_events;
  keys->module_of_event = g_new (uint32_t, (size_t) n_events + 1);
  for (uint32_t i = 0; i <= n_events; i++)
    keys->module_of_event[i] = TESSERA_NONE;
  for (size_t r = 0; r < keys->trace->n_ranges; r++)
    {
      const TesseraRange *range = &keys->trace->ranges[r];
      if (range->kind == TESSERA_RANGE_MODULE)
        for (uint32_t i = range->begin_index; i < range->end_index && i < n_events; i++)
          keys->module_of_event[i] = (uint32_t) r;
    }
}

void
tessera_keys_init (TesseraKeys *keys)
{
  const TesseraTrace *trace = keys->trace;
  switch (keys->kind)
    {
    case TESSERA_COLOUR_GROUP:
      keys->n_keys = keys->n_groups + 1;
      break;
    case TESSERA_COLOUR_SIZE:
      keys->n_keys = N_SIZES;
      break;
    case TESSERA_COLOUR_STREAM:
      keys->n_keys = UINT16_MAX + 1;
      break;
    case TESSERA_COLOUR_PHASE:
      keys->n_keys = (keys->structure != NULL ? keys->structure->n_phases : 0) + 1;
      break;
    case TESSERA_COLOUR_MODULE:
      keys->n_keys = trace->n_stacks + trace->n_ranges + 1;
      if (has_modules (trace))
        find_modules (keys);
      break;
    case TESSERA_COLOUR_AGE:
      keys->n_keys = N_AGES;
      break;
    default:
      keys->n_keys = TESSERA_CLASS_DYNAMIC + 1;
      break;
    }
}

void
tessera_keys_clear (TesseraKeys *keys)
{
  g_clear_pointer (&keys->module_of_event, g_free);
}

static size_t
size_key (uint64_t size_bytes)
{
  size_t key = 0;
  while (key < N_SIZES - 1 && size_bytes > UINT64_C (1) << (LEAST_SIZE_BITS + key))
    key++;
  return key;
}

static size_t
age_key (const TesseraBlocks *blocks, const TesseraBlock *block)
{
  if (block->died_index >= blocks->n_events)
    return N_AGES - 1;
  uint32_t age = block->died_index - block->born_index;
  size_t key = 0;
  for (uint32_t limit = 10; age > limit && key < N_AGES - 2; limit *= 10)
    key++;
  return key;
}

/* Keys: stacks, then ranges, then "neither". */
static size_t
module_key (const TesseraKeys *keys, const TesseraBlock *block)
{
  size_t n_stacks = keys->trace->n_stacks;
  if (keys->module_of_event != NULL && (block->flags & TESSERA_AT_START) == 0 &&
      block->born_index < keys->blocks->n_events &&
      keys->module_of_event[block->born_index] != TESSERA_NONE)
    return n_stacks + keys->module_of_event[block->born_index];
  return block->stack < n_stacks ? block->stack : n_stacks + keys->trace->n_ranges;
}

size_t
tessera_key_of (const TesseraKeys *keys, const TesseraBlock *block)
{
  switch (keys->kind)
    {
    case TESSERA_COLOUR_GROUP:
      return block->group < keys->n_groups ? block->group : keys->n_groups;
    case TESSERA_COLOUR_SIZE:
      return size_key (block->size_bytes);
    case TESSERA_COLOUR_STREAM:
      return block->stream;
    case TESSERA_COLOUR_PHASE:
      return block->born_phase < keys->n_keys - 1 ? block->born_phase : keys->n_keys - 1;
    case TESSERA_COLOUR_MODULE:
      return module_key (keys, block);
    case TESSERA_COLOUR_AGE:
      return age_key (keys->blocks, block);
    default:
      return block->lifetime_class < keys->n_keys ? block->lifetime_class : 0;
    }
}

/* ---- names ------------------------------------------------------------------------ */

static void
set_name (char *name, const char *text)
{
  tessera_show_text (text, name, TESSERA_KEY_NAME_BYTES);
}

static void
name_size (size_t key, char *name)
{
  bool is_last = key == N_SIZES - 1;
  unsigned bits = LEAST_SIZE_BITS + (unsigned) key - is_last;
  snprintf (name, TESSERA_KEY_NAME_BYTES, "%s %u %s", is_last ? "over" : "to",
            1u << (bits % 10), tessera_size_units[bits / 10].name);
}

static void
name_age (size_t key, char *name)
{
  static const char *const names[N_AGES] = {
    "to 10 events",         "to 100 events",          "to 1,000 events",
    "to 10,000 events",     "to 100,000 events",      "to 1 million events",
    "to 10 million events", "over 10 million events", "to the end"
  };
  set_name (name, names[key]);
}

static void
name_stream (const TesseraKeys *keys, size_t key, char *name)
{
  if (key == 0)
    set_name (name, "stream 0 (default)");
  else
    snprintf (name, TESSERA_KEY_NAME_BYTES, "stream %zu", key);
}

bool
tessera_frame_is_own (const TesseraTrace *trace, uint32_t frame)
{
  static const char *const libraries[] = { "/torch/", "site-packages/", "dist-packages/",
                                           "/lib/python" };
  static const char cell[] = "<ipython-input";
  const char *file = tessera_trace_string (trace, trace->frames[frame].file);

  if (strncmp (file, cell, sizeof cell - 1) == 0)
    return true;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (strstr (file, libraries[i]) != NULL)
      return false;
  return g_str_has_suffix (file, ".py") && file[0] != '<';
}

/* Python source that is neither PyTorch's own nor made up by the interpreter. */
static bool
is_program (const char *file)
{
  return g_str_has_suffix (file, ".py") && strstr (file, "/torch/") == NULL &&
         strncmp (file, "torch/", 6) != 0;
}

/* The innermost frame of the program itself: "model.py:forward". */
static void
name_stack (const TesseraTrace *trace, size_t stack, char *name)
{
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];
      const char *file = tessera_trace_string (trace, frame->file);
      if (!is_program (file))
        continue;
      const char *slash = strrchr (file, '/');
      char shown[45], function[49];
      snprintf (name, TESSERA_KEY_NAME_BYTES, "%s:%s",
                tessera_show_text (slash != NULL ? slash + 1 : file, shown, sizeof shown),
                tessera_show_text (tessera_trace_string (trace, frame->name), function,
                                   sizeof function));
      return;
    }
  set_name (name, "inside PyTorch");
}

static void
name_module (const TesseraKeys *keys, size_t key, char *name)
{
  const TesseraTrace *trace = keys->trace;
  if (key < trace->n_stacks)
    name_stack (trace, key, name);
  else if (key - trace->n_stacks < trace->n_ranges)
    set_name (name,
              tessera_trace_string (trace, trace->ranges[key - trace->n_stacks].name));
  else
    set_name (name, "no stack");
}

/* A group of one step and the same of the next are one entry: "forward -> backward". */
static void
name_group (const TesseraKeys *keys, size_t key, char *name)
{
  bool is_known = key < keys->n_groups && keys->groups[key].name != NULL;
  set_name (name, is_known ? keys->groups[key].name : "no group");
  char *step = strstr (name, ", step ");
  if (step != NULL)
    *step = '\0';
}

void
tessera_key_name (const TesseraKeys *keys, size_t key, char *name)
{
  static const char *const classes[] = { "not classified", "persistent", "scoped",
                                         "transient", "dynamic" };
  switch (keys->kind)
    {
    case TESSERA_COLOUR_GROUP:
      name_group (keys, key, name);
      return;
    case TESSERA_COLOUR_SIZE:
      name_size (key, name);
      return;
    case TESSERA_COLOUR_STREAM:
      name_stream (keys, key, name);
      return;
    case TESSERA_COLOUR_PHASE:
      set_name (name,
                key < keys->n_keys - 1
                    ? tessera_phase_name (keys->trace, &keys->structure->phases[key])
                    : "outside of phases");
      return;
    case TESSERA_COLOUR_MODULE:
      name_module (keys, key, name);
      return;
    case TESSERA_COLOUR_AGE:
      name_age (key, name);
      return;
    default:
      set_name (name, classes[key]);
      return;
    }
}
