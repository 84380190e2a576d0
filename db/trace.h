/*
 * A trace in memory: what one device's allocator did, in order.
 *
 * The event index (0, 1, 2 ...) is the clock of everything; nanoseconds are a label on
 * it. A trace is filled by one writer (an importer, the reader of .tsr files) through the
 * functions below and read-only from then on: any number of threads may read it.
 * Ranges are half-open, [begin, end).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_NONE UINT32_MAX  /* no such string, stack, range ... */
#define TESSERA_NEVER UINT32_MAX /* an event index: alive at the end of the trace */
#define TESSERA_MAX_EVENTS ((uint64_t) UINT32_MAX - 1)

typedef enum
{
  TESSERA_ALLOC = 1,      /* a block was handed out; size as asked for */
  TESSERA_FREE_REQUESTED, /* the program let go of it */
  TESSERA_FREE_COMPLETED, /* ... and its memory may be used again */
  TESSERA_SEGMENT_ALLOC,  /* the driver gave memory (cudaMalloc) */
  TESSERA_SEGMENT_FREE,   /* ... and got it back */
  TESSERA_SEGMENT_MAP,    /* pages of an expandable segment were mapped */
  TESSERA_SEGMENT_UNMAP,  /* ... and unmapped */
  TESSERA_OOM,      /* a request failed; size rounded to blocks; addr = bytes free at
                       the driver at that moment */
  TESSERA_SNAPSHOT, /* somebody looked; changes nothing */
  TESSERA_MARK      /* a label without effect on memory */
} TesseraAction;

typedef struct
{
  uint64_t addr; /* device address; nothing on the CPU may follow it (OOM: bytes free) */
  uint64_t size_bytes; /* as recorded: see TesseraAction */
  int64_t at_ns;   /* since the first event of the trace; 0 where the file has no time */
  uint32_t stack;  /* index into the stacks, or TESSERA_NONE */
  uint16_t stream; /* index into streams, by first use */
  uint16_t pool;   /* index into pools; 0 is the default pool */
  uint8_t action;  /* TesseraAction */
  uint8_t pool_known; /* the file itself said which pool (else it was found by address) */
  uint8_t is_left;    /* of a run that followed a plan: which left the request to the
                         dynamic allocator, a planned miss */
} TesseraEvent;

/* A private pool's identity; (0, 0) is the default pool and always index 0. */
typedef struct
{
  uint64_t owner_id;
  uint64_t user_id;
} TesseraPoolId;

/* What the driver had given at the start or at the end of the trace. */
typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint32_t stack;
  uint16_t stream;
  uint16_t pool;
  bool is_small;      /* serves requests of at most 1 MiB */
  bool is_expandable; /* a maximal mapped range of a reservation */
} TesseraSegment;

typedef enum
{
  TESSERA_BLOCK_FREE,
  TESSERA_BLOCK_PENDING, /* freed, waiting for an event of another stream */
  TESSERA_BLOCK_LIVE
} TesseraBlockState;

/* A block of the state at the start or at the end of the trace. At the start only live
 * and pending ones are listed: what lies between is free. */
typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;  /* as asked for (of a free block: 0) */
  uint64_t block_bytes; /* rounded, with tail: what it really takes; 0 at the start of a
                           trace where only a replay can tell (see tail_open) */
  uint32_t stack;
  uint8_t state;     /* TesseraBlockState */
  uint8_t tail_open; /* at the start: block_bytes is the smallest possible, a replay may
                        have to enlarge it by up to 1 MiB */
} TesseraHeldBlock;

typedef struct
{
  TesseraSegment *segments; /* ascending addr */
  size_t n_segments, cap_segments;
  TesseraHeldBlock *blocks; /* ascending addr */
  size_t n_blocks, cap_blocks;
} TesseraHeld;

typedef struct
{
  uint32_t name; /* string ids */
  uint32_t file;
  int64_t line; /* 0: unknown */
} TesseraFrame;

/* A named stretch of the trace, as the file says it (annotation, mark, CSV column). */
typedef enum
{
  TESSERA_RANGE_OTHER,
  TESSERA_RANGE_STEP,
  TESSERA_RANGE_PHASE,
  TESSERA_RANGE_MODULE
} TesseraRangeKind;

typedef struct
{
  uint32_t name; /* string id */
  uint32_t begin_index;
  uint32_t end_index; /* may equal begin_index: nothing happened inside */
  int64_t begin_ns;   /* like at_ns; may be negative */
  int64_t end_ns;
  uint32_t parent; /* enclosing range or TESSERA_NONE */
  uint8_t kind;    /* TesseraRangeKind */
  uint8_t is_inferred;
} TesseraRange;

typedef enum
{
  TESSERA_TENSOR_PARAMETER = 1,   /* of a module, or what an optimizer steps */
  TESSERA_TENSOR_GRADIENT,        /* of a parameter, between backward and zero_grad */
  TESSERA_TENSOR_OPTIMIZER_STATE, /* momentum, a copy in another precision ... */
  TESSERA_TENSOR_BUFFER           /* of a module, what is no parameter */
} TesseraTensorKind;

/* What the program said of a tensor: at that moment its storage begins at addr, in the block
 * that is alive there after the events [0, event_index). Several tensors may lie in one block
 * (views of one storage), and the same may be told again after it has moved. Nothing is
 * promised of addr: no block of the trace need be there. */
typedef struct
{
  uint32_t event_index; /* may equal n_events: told after the last */
  uint32_t name;        /* string id: as the program calls it, "layers.0.weight" */
  uint64_t addr;
  uint8_t kind; /* TesseraTensorKind */
} TesseraTensor;

/* Settings of PyTorch's allocator that change its decisions. */
typedef struct
{
  uint64_t max_split_bytes;              /* UINT64_MAX: no limit */
  uint64_t max_non_split_rounding_bytes; /* default 20 MiB */
  uint64_t large_segment_bytes;          /* default 20 MiB */
  double garbage_collection_threshold;   /* 0: off */
  uint32_t roundup_divisions[16]; /* for sizes of 1 MiB, 2 MiB ... 32 GiB; 0 or 1: off */
  bool is_expandable;
  bool
      oldest_segment_first; /* of equal free blocks, not the lowest address: from 2.13 on */
} TesseraSettings;

/* A device named in the file this trace came from. */
typedef struct
{
  uint32_t device;
  uint64_t n_events;
  uint64_t n_segments;
} TesseraDeviceInfo;

typedef struct
{
  char *key;
  char *value;
} TesseraMeta;

typedef struct TesseraStrings TesseraStrings; /* interned strings */

typedef struct TesseraTrace
{
  char *source;    /* base name of the file it was read from */
  uint32_t device; /* which device of that file */
  TesseraDeviceInfo *devices;
  size_t n_devices, cap_devices;
  TesseraMeta *meta; /* format, pytorch era, notes of the importer ... */
  size_t n_meta, cap_meta;
  TesseraSettings settings;
  uint64_t device_bytes;    /* memory of the device; 0: not told */
  uint64_t limit_bytes;     /* memory fraction limit; 0: none */
  uint32_t alignment_bytes; /* 512 for PyTorch; 1 for planner instances */
  bool has_addresses;       /* addr of blocks is what was recorded, not made up */
  bool has_segments;        /* segment events and states are there */
  bool has_time;            /* at_ns means something */
  bool starts_empty;        /* nothing was allocated before the first event */

  TesseraEvent *events;
  size_t n_events, cap_events;
  TesseraHeld start, end;
  uint64_t *streams; /* raw handles, by first use; index 0 is the default stream (0) */
  size_t n_streams, cap_streams;
  TesseraPoolId *pools;
  size_t n_pools, cap_pools;

  TesseraFrame *frames;
  size_t n_frames, cap_frames;
  uint32_t *stack_frames; /* frame ids, innermost first, stack after stack */
  size_t n_stack_frames, cap_stack_frames;
  uint32_t
      *stack_begin; /* stack s is stack_frames[stack_begin[s] .. stack_begin[s + 1]) */
  size_t n_stacks, cap_stacks;
  TesseraRange *ranges; /* by begin_index, outer before inner */
  size_t n_ranges, cap_ranges;
  TesseraTensor *tensors; /* as told: event_index never falls */
  size_t n_tensors, cap_tensors;

  TesseraStrings *strings;
  void *frame_table; /* hash tables of the builder */
  void *stack_table;
} TesseraTrace;

/* An empty trace with PyTorch's default settings, the default stream and pool. */
TESSERA_MUST_USE TesseraStatus tessera_trace_new (TesseraTrace **out_trace);
void tessera_trace_free (TesseraTrace *trace); /* NULL is fine */

/* All of these return TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_BAD_INPUT where a count
 * would leave its range (65,536 streams or pools, TESSERA_MAX_EVENTS ...); a failed call
 * changes nothing. */
TESSERA_MUST_USE TesseraStatus tessera_trace_add_event (TesseraTrace *trace,
                                                        const TesseraEvent *event);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_segment (TesseraHeld *held,
                                                          const TesseraSegment *segment);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_block (TesseraHeld *held,
                                                        const TesseraHeldBlock *block);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_range (TesseraTrace *trace,
                                                        const TesseraRange *range);
/* Also TESSERA_BAD_INPUT: it was told before the last one that was added. */
TESSERA_MUST_USE TesseraStatus tessera_trace_add_tensor (TesseraTrace *trace,
                                                         const TesseraTensor *tensor);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_device (TesseraTrace *trace,
                                                         const TesseraDeviceInfo *device);
TESSERA_MUST_USE TesseraStatus tessera_trace_set_source (TesseraTrace *trace,
                                                         const char *path);
TESSERA_MUST_USE TesseraStatus tessera_trace_set_meta (TesseraTrace *trace,
                                                       const char *key,
                                                       const char *value);
#define TESSERA_PYTORCH_2_13 "2.13 or later" /* meta pytorch: oldest_segment_first */
/* Returns: (nullable): the value. */
const char *tessera_trace_get_meta (const TesseraTrace *trace, const char *key);
/* 0: there is none. */
uint64_t tessera_trace_get_number (const TesseraTrace *trace, const char *key);
/* Whether several streams were at work: that asked for memory, or that the program made
 * (meta makes_streams). */
bool tessera_trace_has_streams (const TesseraTrace *trace);

/* Meta "format" of what libtessera records. Such a trace without a segment at the end is
 * that of a process that was killed, or gave everything back. */
#define TESSERA_FORMAT_RECORDED "recorded by libtessera"
/* Key of meta: "no" while a recording goes on, "yes" once it was closed. */
#define TESSERA_META_CLOSED "closed"
/* Key of meta of a dry run: bytes of the device that are not for tensors, decimal. */
#define TESSERA_META_HEADROOM "headroom_bytes"
/* Key of meta: a person's own rules for categories (answers/categories.rules). */
#define TESSERA_META_RULES "rules"

/* The following find or add; equal content gives the same index. Text ends at its first
 * NUL byte. */
TESSERA_MUST_USE TesseraStatus tessera_trace_intern (TesseraTrace *trace,
                                                     const char *text,
                                                     size_t n_bytes,
                                                     uint32_t *out_string);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_frame (TesseraTrace *trace,
                                                        const TesseraFrame *frame,
                                                        uint32_t *out_frame);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_stack (TesseraTrace *trace,
                                                        const uint32_t *frames,
                                                        size_t n_frames,
                                                        uint32_t *out_stack);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_stream (TesseraTrace *trace,
                                                         uint64_t handle,
                                                         uint16_t *out_stream);
TESSERA_MUST_USE TesseraStatus tessera_trace_add_pool (TesseraTrace *trace,
                                                       TesseraPoolId id,
                                                       uint16_t *out_pool);

/* As PyTorch calls it in snapshots. */
const char *tessera_action_name (uint8_t action);

/* Puts segments and blocks in the order of their addresses, of equal ones the smaller
 * first. */
void tessera_held_sort (TesseraHeld *held);
void tessera_held_clear (TesseraHeld *held);

/* Of the blocks that were held the first at or above @addr, and the one at it; n_blocks
 * where there is none. */
size_t tessera_held_first (const TesseraHeld *held, uint64_t addr);
size_t tessera_held_find (const TesseraHeld *held, uint64_t addr);

/* Borrowed, valid as long as the trace; NUL-terminated; "" for TESSERA_NONE. */
const char *tessera_trace_string (const TesseraTrace *trace, uint32_t string);
size_t tessera_trace_n_strings (const TesseraTrace *trace);

/* Sorts ranges by begin (outer first), sets their parents. Call once after the last. */
void tessera_trace_settle_ranges (TesseraTrace *trace);

/*
 * tessera_trace_fingerprint:
 *
 * A digest of what a plan depends on: sizes, streams, pools, actions and order (not
 * addresses, time or stacks). 64-bit FNV-1a over alignment, blocks of the start, events.
 */
uint64_t tessera_trace_fingerprint (const TesseraTrace *trace);

/* The settings PyTorch has when nobody sets any. */
void tessera_settings_default (TesseraSettings *settings);
/* Tells whether segments can be made by them: of whole blocks, and within reason. */
bool tessera_settings_make_sense (const TesseraSettings *settings);
