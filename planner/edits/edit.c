/*
 * The life of selectors and edits: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/block-names.h"

#include <stdlib.h>
#include <string.h>

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
  tessera_block_names_unref (selector->names);
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
static bool
copy_text (const char *from, char **out_copy)
{
  *out_copy = from ? strdup (from) : NULL;
  return *out_copy || !from;
}

static bool
copy_bytes (const void *from, size_t n_bytes, void **out_copy)
{
  *out_copy = from ? malloc (n_bytes + 1) : NULL;
  if (*out_copy)
    memcpy (*out_copy, from, n_bytes);
  return *out_copy || !from;
}

TesseraStatus
tessera_selector_copy (const TesseraSelector *from, TesseraSelector *out_copy)
{
  TesseraSelector copy = *from;
  void *blocks;
  bool is_whole =
      copy_bytes (from->blocks, from->n_blocks * sizeof *from->blocks, &blocks);

  copy.blocks = blocks;
  copy.names = tessera_block_names_ref (from->names);
  is_whole = copy_text (from->phase, &copy.phase) && is_whole;
  is_whole = copy_text (from->died_phase, &copy.died_phase) && is_whole;
  is_whole = copy_text (from->module, &copy.module) && is_whole;
  is_whole = copy_text (from->source, &copy.source) && is_whole;
  is_whole = copy_text (from->group, &copy.group) && is_whole;
  if (!is_whole)
    tessera_selector_clear (&copy);
  *out_copy = copy;
  return is_whole ? TESSERA_OK : TESSERA_NO_MEMORY;
}

TesseraStatus
tessera_edit_copy (const TesseraEdit *from, TesseraEdit *out_copy)
{
  TesseraEdit copy = *from;
  TesseraStatus status;
  void *shape;
  bool is_whole =
      copy_bytes (from->shape, from->what.n_blocks * sizeof *from->shape, &shape);

  copy.shape = shape;
  is_whole = copy_text (from->name, &copy.name) && is_whole;
  is_whole = copy_text (from->group, &copy.group) && is_whole;
  status = tessera_selector_copy (&from->what, &copy.what);
  is_whole = status == TESSERA_OK && is_whole;
  status = tessera_selector_copy (&from->with, &copy.with);
  is_whole = status == TESSERA_OK && is_whole;
  if (!is_whole)
    tessera_edit_clear (&copy);
  *out_copy = copy;
  return is_whole ? TESSERA_OK : TESSERA_NO_MEMORY;
}
