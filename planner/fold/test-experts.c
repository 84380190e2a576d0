/* See test-experts.h. SPDX-License-Identifier: Apache-2.0 */
#include "planner/fold/test-experts.h"

/* Addresses of their own, whatever the size. */
typedef struct
{
  TesseraTrace *trace;
  GRand *rand;
  uint64_t next_addr;
  uint32_t scale;
  gboolean may_be_equal; /* dynamic sizes may be those of planned requests */
} Maker;

typedef struct
{
  uint64_t addr, size_bytes;
} Made;

static Made
ask (Maker *maker, uint64_t size_bytes)
{
  Made made = { maker->next_addr, size_bytes * maker->scale };

  maker->next_addr += 1 << 28;
  test_alloc (maker->trace, made.addr, made.size_bytes);
  return made;
}

static void
drop (Maker *maker, Made made)
{
  test_free (maker->trace, made.addr, made.size_bytes);
}

/* No planned request's: those are multiples of 2048. */
static uint64_t
draw (Maker *maker)
{
  uint64_t units = (uint64_t) g_rand_int_range (maker->rand, 1, 30);

  return maker->may_be_equal ? units * 2048 : units * 2048 + 512;
}

/* A layer's forward: gives what it keeps. */
static void
forward (Maker *maker, uint32_t layer, Made *kept, uint32_t *n_kept)
{
  kept[(*n_kept)++] = ask (maker, 65536 + 2048 * layer);
  for (uint32_t e = 0; e < TEST_EXPERTS_EXPERTS; e++)
    {
      Made mask = ask (maker, 8192);
      Made in, out;

      if (g_rand_int_range (maker->rand, 0, 8) > 0)
        {
          in = ask (maker, draw (maker));
          out = ask (maker, draw (maker));
          drop (maker, in);
          kept[(*n_kept)++] = out;
        }
      drop (maker, ask (maker, 131072));
      drop (maker, mask);
    }
}

TesseraTrace *
test_experts_new (uint32_t seed, gboolean may_be_equal, uint32_t n_steps, uint32_t scale)
{
  Maker maker = { test_trace_new (), g_rand_new_with_seed (seed), 1 << 28, scale,
                  may_be_equal };
  Made kept[TEST_EXPERTS_LAYERS * (TEST_EXPERTS_EXPERTS + 1)];

  for (uint32_t l = 0; l < TEST_EXPERTS_LAYERS; l++)
    ask (&maker, 262144 + 2048 * l);
  for (uint32_t s = 0; s < n_steps; s++)
    {
      uint32_t begin = (uint32_t) maker.trace->n_events, backward, n_kept = 0;

      for (uint32_t l = 0; l < TEST_EXPERTS_LAYERS; l++)
        forward (&maker, l, kept, &n_kept);
      drop (&maker, ask (&maker, 1 << 20));
      backward = (uint32_t) maker.trace->n_events;
      while (n_kept > 0)
        {
          Made gradient = ask (&maker, 40960);

          drop (&maker, kept[--n_kept]);
          drop (&maker, gradient);
        }
      test_step (maker.trace, s, begin);
      test_range (maker.trace, TESSERA_RANGE_PHASE, "forward", begin, backward);
      test_range (maker.trace, TESSERA_RANGE_PHASE, "backward", backward,
                  (uint32_t) maker.trace->n_events);
    }
  tessera_trace_settle_ranges (maker.trace);
  g_rand_free (maker.rand);
  return maker.trace;
}
