/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/settings.h"

#include <string.h>

/* What GPUs of one generation have in common. */
#define A100                                                                             \
  .major = 8, .minor = 0, .n_multiprocessors = 108,                                      \
  .max_threads_per_multiprocessor = 2048, .max_blocks_per_multiprocessor = 32,           \
  .shared_bytes_per_multiprocessor = 167936, .shared_bytes_per_block_optin = 166912,     \
  .l2_bytes = 40 << 20, .bus_bits = 5120, .clock_khz = 1410000
#define HOPPER                                                                           \
  .major = 9, .minor = 0, .n_multiprocessors = 132,                                      \
  .max_threads_per_multiprocessor = 2048, .max_blocks_per_multiprocessor = 32,           \
  .shared_bytes_per_multiprocessor = 233472, .shared_bytes_per_block_optin = 232448,     \
  .clock_khz = 1980000
#define ADA                                                                              \
  .major = 8, .minor = 9, .max_threads_per_multiprocessor = 1536,                        \
  .max_blocks_per_multiprocessor = 24, .shared_bytes_per_multiprocessor = 102400,        \
  .shared_bytes_per_block_optin = 101376, .bus_bits = 384, .clock_khz = 2520000

/* Totals are what the drivers report (torch.cuda.get_device_properties), in whole MiB. */
static const NullProfile profiles[] = {
  { .name = "a100-40",
    .model = "NVIDIA A100-SXM4-40GB",
    .total_bytes = UINT64_C (40536) << 20,
    A100 },
  { .name = "a100-80",
    .model = "NVIDIA A100-SXM4-80GB",
    .total_bytes = UINT64_C (81251) << 20,
    A100 },
  { .name = "h100-80",
    .model = "NVIDIA H100 80GB HBM3",
    .total_bytes = UINT64_C (81079) << 20,
    .l2_bytes = 50 << 20,
    .bus_bits = 5120,
    HOPPER },
  { .name = "h200-141",
    .model = "NVIDIA H200",
    .total_bytes = UINT64_C (143156) << 20,
    .l2_bytes = 60 << 20,
    .bus_bits = 6144,
    HOPPER },
  { .name = "rtx4090-24",
    .model = "NVIDIA GeForce RTX 4090",
    .total_bytes = UINT64_C (24217) << 20,
    .n_multiprocessors = 128,
    .l2_bytes = 72 << 20,
    ADA },
  { .name = "l40s-48",
    .model = "NVIDIA L40S",
    .total_bytes = UINT64_C (45465) << 20,
    .n_multiprocessors = 142,
    .l2_bytes = 96 << 20,
    ADA },
};

const NullProfile *
null_profile_find (const char *name)
{
  for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
    if (strcmp (profiles[i].name, name) == 0)
      return &profiles[i];
  return NULL;
}

const NullProfile *
null_profile_least (uint64_t bytes)
{
  const NullProfile *least = NULL;

  for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
    if (profiles[i].total_bytes >= bytes &&
        (least == NULL || profiles[i].total_bytes < least->total_bytes))
      least = &profiles[i];
  return least;
}
