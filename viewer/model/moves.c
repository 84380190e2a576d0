/*
 * What lies elsewhere in the next picture: blocks that the eye can follow on their way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <stdlib.h>

static void
moves_clear (gpointer user)
{
  g_free (((TesseraMoves *) user)->moves);
}

TesseraMoves *
tessera_moves_ref (TesseraMoves *moves)
{
  return g_atomic_rc_box_acquire (moves);
}

void
tessera_moves_unref (TesseraMoves *moves)
{
  if (moves != NULL)
    g_atomic_rc_box_release_full (moves, moves_clear);
}

static double
area (const TesseraMove *move)
{
  return (move->to.t1 - move->to.t0) * (move->to.y1 - move->to.y0);
}

static int
compare_areas (const void *x, const void *y)
{
  double a = area (x), b = area (y);

  return (a < b) - (a > b);
}

TesseraMoves *
tessera_moves_new (const TesseraSheet *from, const TesseraSheet *to)
{
  TesseraMoves *moves = g_atomic_rc_box_new0 (TesseraMoves);
  size_t n_blocks = to->data->blocks->n_blocks;
  GArray *found = g_array_new (FALSE, FALSE, sizeof (TesseraMove));

  for (size_t i = 0; i < n_blocks; i++)
    {
      TesseraMove move = { .block = (uint32_t) i };
      TesseraView was;

      if (!tessera_scene_block_rect (from->scene, move.block, &was) ||
          !tessera_scene_block_rect (to->scene, move.block, &move.to) ||
          was.y0 == move.to.y0)
        continue;
      move.from_y0 = was.y0;
      g_array_append_val (found, move);
    }
  moves->n_moved = found->len;
  if (found->len > 0)
    qsort (found->data, found->len, sizeof (TesseraMove), compare_areas);
  g_array_set_size (found, MIN (found->len, TESSERA_MOST_MOVES));
  moves->n_moves = found->len;
  moves->moves = (TesseraMove *) (void *) g_array_free (found, FALSE);
  return moves;
}
