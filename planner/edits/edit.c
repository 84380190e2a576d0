/*
 * The life of selectors and edits: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edit.h"

#include <string.h>

#include "planner/memory.h"

bool
tessera_edit_is_of_groups (const TesseraEdit *edit)
{
  return edit->kind <= TESSERA_EDIT_MOVE || edit->kind == TESSERA_EDIT_CLASS;
}

void
tessera_selector_init (TesseraSelector *selector)
{
  *selector = (TesseraSelector){
    .step = -1, .stream = -1, .ordinal = TESSERA_NONE, .alive_at = TESSERA_NONE
  };
}

void
tessera_selector_clear (TesseraSelector *selector)
{
  free (selector->blocks);
  g_clear_pointer (&selector->names, g_atomic_rc_box_release);
  free (selector->phase);
  free (selector->died_phase);
  free (selector->module);
  free (selector->source);
  free (selector->group);
  tessera_selector_init (selector);
}

void
tessera_edit_clear (TesseraEdit *edit)
{
  free (edit->name);
  tessera_selector_clear (&edit->what);
  tessera_selector_clear (&edit->with);
  free (edit->group);
  free (edit->shape);
  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
}

/* NULL stays NULL. */
static void *
copy_bytes (const void *from, size_t n_bytes)
{
  void *copy = from ? g_malloc (n_bytes + 1) : NULL;

  if (copy)
    memcpy (copy, from, n_bytes);
  return copy;
}

void
tessera_selector_copy (const TesseraSelector *from, TesseraSelector *out_copy)
{
  *out_copy = *from;
  out_copy->blocks = copy_bytes (from->blocks, from->n_blocks * sizeof *from->blocks);
  if (from->names)
    g_atomic_rc_box_acquire (from->names);
  out_copy->phase = g_strdup (from->phase);
  out_copy->died_phase = g_strdup (from->died_phase);
  out_copy->module = g_strdup (from->module);
  out_copy->source = g_strdup (from->source);
  out_copy->group = g_strdup (from->group);
}

void
tessera_edit_copy (const TesseraEdit *from, TesseraEdit *out_copy)
{
  *out_copy = *from;
  out_copy->shape = copy_bytes (from->shape, from->what.n_blocks * sizeof *from->shape);
  out_copy->name = g_strdup (from->name);
  out_copy->group = g_strdup (from->group);
  tessera_selector_copy (&from->what, &out_copy->what);
  tessera_selector_copy (&from->with, &out_copy->with);
}

TesseraBlockNames *
tessera_block_names_new (size_t n_names)
{
  TesseraBlockNames *names =
      g_atomic_rc_box_alloc0 (sizeof *names + n_names * sizeof (TesseraBlockName));

  names->n_names = n_names;
  return names;
}
