/*
 * What the environment asks of the null CUDA, read once (docs/NULLCUDA.md has the table).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NULL_MAX_DEVICES 16
#define NULL_GRANULE (UINT64_C (2) << 20) /* of memory, as the driver's */

/* A kind of GPU: what PyTorch reads of it. */
typedef struct
{
  const char *name;     /* as NULLCUDA_DEVICE calls it */
  const char *model;    /* as the driver calls it */
  uint64_t total_bytes; /* as the driver reports it: less than the name says */
  int major, minor;     /* compute capability */
  int n_multiprocessors;
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
  int shared_bytes_per_multiprocessor;
  int shared_bytes_per_block_optin;
  int l2_bytes;
  int bus_bits;
  int clock_khz;
} NullProfile;

typedef struct
{
  NullProfile profile;   /* total_bytes replaced where a size was asked for */
  uint64_t budget_bytes; /* of each device: what allocations may take */
  int n_devices;         /* 0 where the library refuses to serve */
  int log_level;         /* 0 quiet, 1 what was refused, 2 every call that matters */
  int cuda_version;      /* 12040 or 13020: that of the PyTorch in this process */
  bool is_lagging;       /* the virtual clock runs */
  bool refuses;          /* a real driver is here and nobody insisted */
} NullSettings;

const NullSettings *null_settings (void);

/* NULL: there is no profile of that name. */
const NullProfile *null_profile_find (const char *name);
/* The smallest that has so many bytes; NULL: none has. */
const NullProfile *null_profile_least (uint64_t bytes);

/* One line on stderr, where the log level is at least @level. */
void null_log (int level, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
