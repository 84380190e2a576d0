/*
 * The random settings and requests of made-options.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/made-options.h"

#define MIB ((uint64_t) 1 << 20)

static uint64_t
pick (GRand *rand, const uint64_t *values, guint n)
{
  return values[g_rand_int_range (rand, 0, (gint32) n)];
}

bool
made_happens (GRand *rand, double probability)
{
  return g_rand_double (rand) < probability;
}

uint64_t
made_request_bytes (GRand *rand)
{
  static const uint64_t edges[] = { 1,        511,          512,      513,
                                    MIB - 1,  MIB,          MIB + 1,  10 * MIB - 512,
                                    10 * MIB, 10 * MIB + 1, 19 * MIB, 20 * MIB,
                                    24 * MIB };
  double kind = g_rand_double (rand);

  if (kind < 0.15)
    return pick (rand, edges, G_N_ELEMENTS (edges));
  if (kind < 0.5)
    return (uint64_t) g_rand_int_range (rand, 1, (gint32) MIB);
  if (kind < 0.8)
    return 512 * (uint64_t) g_rand_int_range (rand, 2048, 8192);
  return MIB / 4 * (uint64_t) g_rand_int_range (rand, 16, 180);
}

void
made_options (GRand *rand, TesseraCachingOptions *out_options)
{
  static const uint64_t handles[MADE_N_STREAMS] = { 0, 0x9000, 0x5000 };
  static const uint64_t segments[] = { 20 * MIB, 20 * MIB, 32 * MIB };
  TesseraSettings *settings = &out_options->settings;
  g_autoptr (GRand) aside = NULL;

  *out_options =
      (TesseraCachingOptions){ .stream_handles = handles, .n_streams = MADE_N_STREAMS };
  tessera_settings_default (settings);
  settings->is_expandable = made_happens (rand, 0.4);
  settings->large_segment_bytes = pick (rand, segments, G_N_ELEMENTS (segments));
  if (made_happens (rand, 0.4))
    {
      /* PyTorch refuses less than a large segment. */
      settings->max_split_bytes =
          settings->large_segment_bytes + MIB * (uint64_t) g_rand_int_range (rand, 0, 16);
      settings->max_non_split_rounding_bytes =
          MIB * (uint64_t) g_rand_int_range (rand, 1, 24);
    }
  if (made_happens (rand, 0.3))
    for (guint i = 0; i < 16; i++)
      settings->roundup_divisions[i] = 1u << g_rand_int_range (rand, 0, 5);
  if (made_happens (rand, 0.5))
    out_options->limit_bytes = MIB * (uint64_t) g_rand_int_range (rand, 60, 300);
  if (made_happens (rand, 0.6))
    settings->garbage_collection_threshold =
        made_happens (rand, 0.3) ? 0.5 : g_rand_double_range (rand, 0.2, 0.95);
  /* Drawn aside, so that the histories of a seed are the same either way. */
  aside = g_rand_copy (rand);
  settings->oldest_segment_first = made_happens (aside, 0.5);
}

uint64_t
made_device_bytes (GRand *rand)
{
  return made_happens (rand, 0.2) ? 0 : MIB * (uint64_t) g_rand_int_range (rand, 50, 300);
}

uint32_t
made_stream (GRand *rand)
{
  return (uint32_t) g_rand_int_range (rand, 0, MADE_N_STREAMS);
}

uint32_t
made_pool (GRand *rand)
{
  return made_happens (rand, 0.85) ? 0
                                   : (uint32_t) g_rand_int_range (rand, 0, MADE_N_POOLS);
}
