/*
 * What the process was told, and whether it serves already.
 *
 * Options are filled before the start by one thread, read-only afterwards. Of the text of
 * PYTORCH_CUDA_ALLOC_CONF keys that have no meaning here, and values that PyTorch would
 * refuse, are left out; the rest is obeyed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"
#include "db/trace.h"

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

/* @complain: one sentence for each part that was left out; may be NULL. @settings keeps
 * what the text does not name. @out_fraction: per_process_memory_fraction, else left. */
void tessera_alloc_conf_parse (const char *text,
                               TesseraSettings *settings,
                               double *out_fraction,
                               void (*complain) (const char *sentence));

typedef enum
{
  TESSERA_PROCESS_NEW,
  TESSERA_PROCESS_SERVING,
  TESSERA_PROCESS_FORKED /* a child: no device, no file */
} TesseraProcessState;

TesseraProcessState tessera_process_state (void);
/* The state to come; any thread, called with the process's lock but in a forked child. */
void tessera_process_enter (TesseraProcessState state);

/* What PyTorch said before the device was there: the memory fraction (0: nothing), and
 * whether the record_stream hook is in place. */
double tessera_torch_fraction (int ordinal);
bool tessera_torch_tells_streams (void);
/* ... and whether the program computes on streams of its own, which need not allocate. */
bool tessera_torch_uses_streams (int ordinal);
