/*
 * Tests of why a block lies where it lies, against a search byte by byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"

#include "tests/ok.h"
#include "tests/simulator/made-case.h"

#define SEED 20261121

static bool
meet (const Case *c, const TesseraLayout *layout, uint32_t a, uint32_t b)
{
  return c->blocks->blocks[a].born_index < layout->died_index[b] &&
         c->blocks->blocks[b].born_index < layout->died_index[a];
}

/* Nothing but @block itself lies in [addr, addr + its bytes) during its life. */
static bool
is_free_at (const Case *c, const TesseraLayout *layout, uint32_t block, uint64_t addr)
{
  for (uint32_t i = 0; i < layout->n_blocks; i++)
    if (i != block && meet (c, layout, i, block) && layout->addr[i] != TESSERA_NOWHERE &&
        layout->addr[i] < addr + layout->block_bytes[block] &&
        addr < layout->addr[i] + layout->block_bytes[i])
      return false;
  return true;
}

static bool
contains (const uint32_t *list, size_t n, uint32_t block)
{
  for (size_t i = 0; i < n; i++)
    if (list[i] == block)
      return true;
  return false;
}

static void
check_neighbours (const Case *c,
                  const TesseraLayout *layout,
                  uint32_t block,
                  const TesseraPlaceReason *reason)
{
  for (uint32_t i = 0; i < layout->n_blocks; i++)
    {
      bool meets =
          i != block && layout->addr[i] != TESSERA_NOWHERE && meet (c, layout, i, block);

      g_assert_true (contains (reason->below, reason->n_below, i) ==
                     (meets && layout->addr[i] + layout->block_bytes[i] == reason->addr));
      g_assert_true (contains (reason->above, reason->n_above, i) ==
                     (meets && layout->addr[i] == reason->addr + reason->block_bytes));
    }
  for (size_t i = 1; i < reason->n_below; i++)
    g_assert_cmpuint (layout->block_bytes[reason->below[i - 1]], >=,
                      layout->block_bytes[reason->below[i]]);
}

static void
check_chain (const Case *c,
             const TesseraLayout *layout,
             const TesseraPlaceReason *reason,
             uint32_t block)
{
  for (size_t i = 0; i < reason->n_chain; i++)
    {
      g_assert_true (meet (c, layout, reason->chain[i], block));
      g_assert_cmpuint (layout->addr[reason->chain[i]] +
                            layout->block_bytes[reason->chain[i]],
                        ==, layout->addr[block]);
      block = reason->chain[i];
    }
}

static void
check_lower (const Case *c,
             const TesseraLayout *layout,
             uint32_t block,
             const TesseraPlaceReason *reason)
{
  uint64_t lowest = reason->base_addr;

  while (lowest < reason->addr && !is_free_at (c, layout, block, lowest))
    lowest += 512;
  g_assert_cmpuint (reason->lower_addr, ==, lowest);
}

static void
test_random (void)
{
  for (guint k = 0; k < 3; k++)
    {
      Case c = case_new (case_trace (250, 1 + k % 2, k == 2 ? 8 : 0, SEED + k));
      TesseraSimulateOptions options = { .kind = k == 1 ? TESSERA_LAYOUT_EXPANDABLE
                                                        : TESSERA_LAYOUT_NATIVE,
                                         .first_step = -1,
                                         .last_step = -1 };
      TesseraLayout *layout = case_simulate (&c, &options);
      guint n_lower = 0;

      for (uint32_t block = 0; block < layout->n_blocks; block++)
        {
          TesseraPlaceReason reason;

          g_assert_true (tessera_explain_place (c.blocks, layout, block, &reason));
          g_assert_cmpuint (reason.addr, ==, layout->addr[block]);
          g_assert_cmpuint (reason.base_addr, <=, reason.addr);
          check_neighbours (&c, layout, block, &reason);
          check_chain (&c, layout, &reason, block);
          check_lower (&c, layout, block, &reason);
          n_lower += reason.lower_addr < reason.addr;
          tessera_place_reason_clear (&reason);
        }
      g_assert_cmpuint (n_lower, >, 0); /* the search was put to the test */
      tessera_layout_free (layout);
      case_clear (&c);
    }
}

static void
test_failed (void)
{
  TesseraTrace *trace;
  TesseraEvent oom = { .action = TESSERA_OOM,
                       .size_bytes = 1 << 20,
                       .stack = TESSERA_NONE };
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_NATIVE,
                                     .first_step = -1,
                                     .last_step = -1 };
  TesseraPlaceReason reason;
  TesseraLayout *layout;
  Case c;

  OK (tessera_trace_new (&trace));
  trace->alignment_bytes = 512;
  case_add_event (trace, TESSERA_ALLOC, 512, 512, 0);
  OK (tessera_trace_add_event (trace, &oom));
  c = case_new (trace);
  layout = case_simulate (&c, &options);
  g_assert_cmpuint (layout->n_blocks, ==, 2);
  g_assert_false (tessera_explain_place (c.blocks, layout, 2, &reason));
  layout->addr[1] = TESSERA_NOWHERE;
  g_assert_false (tessera_explain_place (c.blocks, layout, 1, &reason));
  tessera_layout_free (layout);
  case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/explain/random", test_random);
  g_test_add_func ("/simulator/explain/failed", test_failed);
  return g_test_run ();
}
