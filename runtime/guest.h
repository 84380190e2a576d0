/*
 * What the parts of the library have in common: what the process was told, what a person
 * should read, and its files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"
#include "db/status.h"
#include "db/trace.h"
#include "recorder/recorder.h"

/* ---- What the process was told ---- */

/* What the process was told, and whether it serves already.
 *
 * Options are filled before the start by one thread, read-only afterwards. Of the text of
 * PYTORCH_CUDA_ALLOC_CONF keys that have no meaning here, and values that PyTorch would
 * refuse, are left out; the rest is obeyed. */

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
  char alloc_conf[4096];
  double limit_fraction;          /* 0: none */
  uint32_t flush_ms, ring_events; /* 0: not told */
  uint32_t stacks;                /* 1: they are recorded */
  bool overwrites;                /* a file that is no trace, by one */
  uint32_t given;                 /* a bit for each key that was told, in order */
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

/* @complain: one sentence for each part that was left out. @settings keeps
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

/* ---- What a person should read ---- */

/* What a person should read: sentences that wait until somebody asks for them, and the
 * exception by which PyTorch is told of an allocation that failed.
 *
 * A guest does not print. Each sentence is kept once, however often it is said; the
 * newest are dropped where nobody ever asks. Any thread, no other lock is taken. */

/* For whoever calls tessera_take_notice(). */
void tessera_notice (const char *format, ...) TESSERA_PRINTF (1, 2);
/* In a forked child: whoever held the lock is not there. */
void tessera_notice_after_fork (void);

/* The calling thread's sentence for tessera_last_error(). Returns: -1. */
int tessera_set_last_error (const char *format, ...) TESSERA_PRINTF (1, 2);

/* Looks for what it takes, once, before the first throw: a forked child may not ask the
 * loader, whose locks a thread of its parent may have held. */
void tessera_throw_prepare (void);

/* PyTorch's OutOfMemoryError with @text; where the process has none that we know how to
 * build, std::runtime_error, which is its base in Python too. The caller holds no lock
 * and nothing to be freed. Returns only where the process has no libstdc++. */
void tessera_throw (const char *text);

/* ---- The files of the process ---- */

/* The files of the process: the trace that its recorder writes, the plan that it follows.
 *
 * The recorder is opened once, used by every thread, closed under them: it is used between
 * enter and leave, which cost an atomic addition each. */

/* NULL where nothing is recorded; else to be left again. */
TesseraRecorder *tessera_recorder_enter (void);
void tessera_recorder_leave (TesseraRecorder *recorder); /* NULL is fine */
/* Under a device's lock: @recorder, or NULL where recording ended in the meantime. */
TesseraRecorder *tessera_recorder_still (TesseraRecorder *recorder);

/* Opens the trace at @path. @policy: what the devices are opened with. @plan: (nullable): to
 * be followed. Returns: NULL and @error where it cannot be, or something is recorded. */
TesseraRecorder *tessera_recording_open (const char *path,
                                         bool stacks,
                                         TesseraPolicyKind policy,
                                         const TesseraPlan *plan,
                                         TesseraError *error);
/* From here on it is entered. */
void tessera_recording_begin (TesseraRecorder *opened);
/* Nobody enters any more. Returns: (nullable): what is to be ended, once the devices have
 * told it what they hold. */
TesseraRecorder *tessera_recording_take (void);
/* Waits a while for those who entered before, and closes it. */
void tessera_recording_end (TesseraRecorder *taken);
/* In a forked child: the parent's is not ours to close. */
void tessera_recording_forget (void);

/* Loads, has it checked, and looks whether it was made for a run like this one. Returns
 * NULL after a notice where it is declined. */
TesseraPlan *tessera_plan_file_open (const TesseraOptions *options, const char *path);

/* Whether this device may follow it; else a notice says why not. */
bool
tessera_plan_file_suits (const TesseraPlan *plan, int ordinal, uint64_t device_bytes);
