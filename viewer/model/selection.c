/*
 * A set of blocks: what is selected.
 *
 * One byte for each block of the trace and a list of those that are in it: drawing asks
 * for the byte, panels walk the list. A million blocks are made in about a millisecond.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <string.h>

static void
selection_clear (gpointer user)
{
  TesseraSelection *selection = user;

  g_free (selection->blocks);
  g_free (selection->is_in);
}

TesseraSelection *
tessera_selection_ref (TesseraSelection *selection)
{
  return selection != NULL ? g_atomic_rc_box_acquire (selection) : NULL;
}

void
tessera_selection_unref (TesseraSelection *selection)
{
  if (selection != NULL)
    g_atomic_rc_box_release_full (selection, selection_clear);
}

TesseraSelection *
tessera_selection_new (size_t n_all, uint8_t *is_in)
{
  TesseraSelection *selection;
  size_t n = 0;

  for (size_t i = 0; i < n_all; i++)
    n += is_in[i];
  if (n == 0)
    {
      g_free (is_in);
      return NULL;
    }
  selection = g_atomic_rc_box_new0 (TesseraSelection);
  selection->blocks = g_new (uint32_t, n);
  selection->is_in = is_in;
  selection->n_all = n_all;
  for (size_t i = 0; i < n_all; i++)
    if (is_in[i])
      selection->blocks[selection->n_blocks++] = (uint32_t) i;
  return selection;
}

TesseraSelection *
tessera_selection_of_blocks (size_t n_all, const uint32_t *blocks, size_t n_blocks)
{
  uint8_t *is_in = g_malloc0 (MAX (n_all, 1));

  for (size_t i = 0; i < n_blocks; i++)
    if (blocks[i] < n_all)
      is_in[blocks[i]] = 1;
  return tessera_selection_new (n_all, is_in);
}

TesseraSelection *
tessera_selection_join (TesseraSelection *selection,
                        TesseraSelection *found,
                        TesseraSelectHow how)
{
  uint8_t *is_in;

  if (how == TESSERA_SELECT_ONLY || (selection == NULL && how == TESSERA_SELECT_MORE))
    return tessera_selection_ref (found);
  if (selection == NULL || found == NULL)
    return tessera_selection_ref (selection);
  is_in = g_memdup2 (selection->is_in, selection->n_all);
  for (size_t i = 0; i < found->n_blocks; i++)
    is_in[found->blocks[i]] = how == TESSERA_SELECT_MORE;
  return tessera_selection_new (selection->n_all, is_in);
}

gboolean
tessera_selection_has (const TesseraSelection *selection, uint32_t block)
{
  return selection != NULL && block < selection->n_all && selection->is_in[block];
}

gboolean
tessera_selection_equals (const TesseraSelection *a, const TesseraSelection *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->n_all == b->n_all && a->n_blocks == b->n_blocks &&
         memcmp (a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks) == 0;
}
