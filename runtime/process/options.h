/*
 * What tessera_configure() was told.
 *
 * Filled before the start by one thread, read-only afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

/* What of a plan is followed. */
typedef enum
{
  TESSERA_FOLLOW_BEST, /* by length where it can be */
  TESSERA_FOLLOW_LENGTH,
  TESSERA_FOLLOW_TRACE /* the plan of the trace as it was */
} TesseraFollow;

typedef struct
{
  TesseraPolicyKind policy;
  TesseraFollow follow;
  char record[4096]; /* patterns expanded at the start; "": none */
  char plan[4096];
  char torch[64]; /* "": not told */
  uint32_t rank, world;
  bool has_rank, has_world; /* told, not taken from the environment */
  char alloc_conf[4096];
  bool has_alloc_conf;
  double limit_fraction; /* 0: none */
  uint32_t flush_ms, ring_events;
  bool has_stacks;
  bool overwrites; /* a file that is no trace, by one */
} TesseraOptions;

extern TesseraOptions tessera_options;

/* What the environment says where nobody told: RANK, WORLD_SIZE, the allocator's
 * settings, TESSERA_FORCE. */
void tessera_options_settle (TesseraOptions *options);
/* %r rank, %h host, %p process, %% a percent sign. False: too long, or another letter. */
bool tessera_options_expand (const TesseraOptions *options,
                             const char *pattern,
                             char *out_path,
                             size_t n_bytes);
/* "native", "expandable" ... */
const char *tessera_policy_kind_name (TesseraPolicyKind kind);
