/*
 * Tests of hand-overs under plans across streams, beside a walk over all other blocks for each
 * one: who held its bytes before and who got them after, and how often streams hand
 * memory to each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <stdlib.h>

#include "tests/simulator/made-case.h"

/* Bytes of a block that no other block was found for yet. */
typedef struct
{
  uint64_t begin, end;
} Piece;

/* Takes what @other lies on out of @pieces. Returns: whether it was any. */
static bool
take (GArray *pieces, const TesseraLayout *layout, uint32_t other)
{
  const uint64_t begin = layout->addr[other], end = begin + layout->block_bytes[other];
  bool is_any = false;

  for (guint i = pieces->len; i > 0 && begin != TESSERA_NOWHERE; i--)
    {
      const Piece piece = g_array_index (pieces, Piece, i - 1);
      const Piece low = { piece.begin, begin }, high = { end, piece.end };

      if (begin >= piece.end || end <= piece.begin)
        continue;
      is_any = true;
      g_array_remove_index (pieces, i - 1);
      if (low.begin < low.end)
        g_array_append_val (pieces, low);
      if (high.begin < high.end)
        g_array_append_val (pieces, high);
    }
  return is_any;
}

/* The neighbour that counts, of all in one direction. */
static uint32_t
find_naively (const Case *c, const TesseraLayout *layout, uint32_t b, int direction)
{
  const TesseraBlock *blocks = c->blocks->blocks;
  const Piece all = { layout->addr[b], layout->addr[b] + layout->block_bytes[b] };
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  uint32_t own = TESSERA_NONE, other = TESSERA_NONE;

  g_array_append_val (pieces, all);
  for (int64_t i = (int64_t) b + direction;
       i >= 0 && i < (int64_t) layout->n_blocks && pieces->len > 0; i += direction)
    {
      const uint32_t at = (uint32_t) i;
      uint32_t *found = blocks[at].stream == blocks[b].stream ? &own : &other;

      if (!take (pieces, layout, at))
        continue;
      if (*found == TESSERA_NONE ||
          (direction < 0 && layout->died_index[at] > layout->died_index[*found]))
        *found = at;
    }
  return other != TESSERA_NONE ? other : own;
}

/* Those that ended at once before @b count alike. */
static int64_t
rank_of (const Case *c, const TesseraLayout *layout, uint32_t b, uint32_t before)
{
  if (before == TESSERA_NONE)
    return -1;
  return 2 * (int64_t) layout->died_index[before] +
         (c->blocks->blocks[before].stream == c->blocks->blocks[b].stream);
}

static void
check_links (const Case *c, const TesseraLayout *layout)
{
  for (uint32_t b = 0; b < layout->n_blocks; b++)
    {
      const TesseraLink *link = &layout->links[b];

      if (layout->addr[b] == TESSERA_NOWHERE)
        {
          g_assert_cmpuint (link->before, ==, TESSERA_NONE);
          g_assert_cmpuint (link->after, ==, TESSERA_NONE);
          continue;
        }
      g_assert_cmpuint (rank_of (c, layout, b, link->before), ==,
                        rank_of (c, layout, b, find_naively (c, layout, b, -1)));
      g_assert_cmpuint (link->after, ==, find_naively (c, layout, b, 1));
    }
}

/* Each pair of streams that hands anything over in that step is there once, with what all of
 * its blocks say. */
static void
check_counts (const Case *c, const TesseraLayout *layout)
{
  const TesseraHandovers *handovers = &layout->handovers;
  const TesseraBlock *blocks = c->blocks->blocks;
  uint64_t n_waits = 0, n_handovers = 0, n_step_waits = 0;

  for (uint32_t b = 0; b < layout->n_blocks; b++)
    n_waits += layout->links[b].n_waits;
  g_assert_cmpuint (n_waits, ==, layout->n_barriers);
  for (uint16_t from = 0; from < c->trace->n_streams; from++)
    for (uint16_t to = 0; to < c->trace->n_streams; to++)
      {
        TesseraHandoverCount seen = { 0 }, told = { 0 };

        for (uint32_t b = 0; b < layout->n_blocks; b++)
          {
            const TesseraLink *link = &layout->links[b];
            const uint16_t had =
                blocks[link->before != TESSERA_NONE ? link->before : b].stream;

            if (blocks[b].step != handovers->step || blocks[b].stream != to ||
                had != from || (from == to && link->n_waits == 0))
              continue;
            seen.n_handovers++;
            seen.n_waits += link->n_waits;
          }
        for (size_t i = 0; i < handovers->n_counts; i++)
          if (handovers->counts[i].from == from && handovers->counts[i].to == to)
            {
              told.n_handovers += handovers->counts[i].n_handovers;
              told.n_waits += handovers->counts[i].n_waits;
            }
        g_assert_cmpuint (seen.n_handovers, ==, told.n_handovers);
        g_assert_cmpuint (seen.n_waits, ==, told.n_waits);
        n_handovers += seen.n_handovers > 0;
        n_step_waits += seen.n_waits;
      }
  g_assert_cmpuint (n_handovers, ==, handovers->n_counts);
  g_assert_cmpuint (n_step_waits, ==, handovers->n_waits);
  for (size_t i = 1; i < handovers->n_counts; i++)
    g_assert_cmpuint (handovers->counts[i - 1].n_waits, >=, handovers->counts[i].n_waits);
}

/* Returns: how many pairs of streams hand memory over. */
static size_t
check_all (const Case *c)
{
  const TesseraPlanOptions across = { .streams = TESSERA_STREAMS_ACROSS,
                                      .first_step = -1,
                                      .last_step = -1 };
  g_autoptr (TesseraPlan) plan = case_plan (c, &across);
  g_autoptr (TesseraLayout) layout = case_follow (c, plan);

  g_assert_nonnull (layout->links);
  check_links (c, layout);
  g_assert_cmpuint (layout->handovers.step, ==,
                    c->structure->n_steps > 0 ? c->structure->n_steps / 2 : TESSERA_NONE);
  check_counts (c, layout);
  size_t n_pairs = layout->handovers.n_counts;
  return n_pairs;
}

static void
test_made (void)
{
  guint n_with = 0;

  for (guint seed = 0; seed < 60; seed++)
    {
      g_auto (Case) c = case_new (case_trace (400, 2 + seed % 4, seed % 4, seed));

      n_with += check_all (&c) > 1;
    }
  g_assert_cmpuint (n_with, >, 50);
}

static void
test_job (gconstpointer user)
{
  g_auto (Case) c = { 0 };

  if (!case_open (user, &c))
    return;
  g_assert_cmpuint (check_all (&c), >, 4);
}

/* Where streams are kept apart nothing is told. */
static void
test_apart (void)
{
  g_auto (Case) c = case_new (case_trace (400, 3, 2, 1));
  g_autoptr (TesseraPlan) plan = case_plan (&c, NULL);
  g_autoptr (TesseraLayout) layout = case_follow (&c, plan);
  uint16_t from;

  g_assert_null (layout->links);
  g_assert_cmpuint (layout->handovers.n_counts, ==, 0);
  g_assert_false (tessera_layout_is_handover (layout, c.blocks, 0, &from));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/handovers/made", test_made);
  g_test_add_data_func ("/simulator/handovers/fsdp1",
                        "snapshots/jobs/fsdp1_7b_r3of16_late", test_job);
  g_test_add_data_func ("/simulator/handovers/fsdp2", "snapshots/jobs/fsdp2_7b_r3of16",
                        test_job);
  g_test_add_func ("/simulator/handovers/apart", test_apart);
  return g_test_run ();
}
