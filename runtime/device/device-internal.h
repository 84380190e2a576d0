/*
 * The inside of a device. Every field is guarded by @lock unless it says otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "allocator/table.h"
#include "runtime/device/device.h"

/* The figures' own layout: whole, small pool, large pool. */
typedef TesseraDeviceStats RuntimeStats;

enum
{
  MAX_SIDES = 6,  /* more side streams than that count as all that are known */
  MAX_ROUTES = 16 /* pools open at once */
};

/* What comes from a stock: must be first. */
typedef struct RuntimeItem RuntimeItem;
struct RuntimeItem
{
  RuntimeItem *next; /* spare; or see below */
};

typedef struct
{
  RuntimeItem item; /* next: put off while a graph is captured */
  uint64_t addr, size_bytes, block_bytes;
  uint16_t stream, pool;
  bool is_small;
  bool uses_all_streams;
  bool has_passed; /* others have its memory already, behind a barrier */
  bool is_stuck;   /* used by a stream that could not be noted: never free again */
  uint8_t n_sides;
  uint16_t sides[MAX_SIDES]; /* streams that use it beside its own */
  uint32_t n_waits;          /* events that are not done */
} RuntimeBlock;

/* A freed block waits for an event of a side stream. */
typedef struct
{
  RuntimeItem item; /* next: of the same stream, later */
  TesseraCudaEvent *event;
  RuntimeBlock *block;
} RuntimeWait;

/* Numbered by first use, of its own blocks or of others'; 0 is the default stream. */
typedef struct
{
  uint64_t handle;
  uint64_t id; /* where memory passes between streams: the driver's */
  RuntimeWait *first, *last;
} RuntimeStream;

typedef struct
{
  TesseraPoolId id;
  uint32_t n_users; /* graphs that were captured into it and are not destroyed */
} RuntimePool;

typedef struct
{
  uint16_t pool;
  pthread_t thread; /* that opened it */
} RuntimeRoute;

struct RuntimeDevice
{
  pthread_mutex_t lock;
  int ordinal;              /* fixed */
  uint64_t memory_bytes;    /* fixed */
  uint64_t limit_bytes;     /* 0: none */
  TesseraSettings settings; /* fixed */
  TesseraPolicyKind kind;   /* fixed: what really serves */
  bool has_record_stream;   /* fixed */
  TesseraCuda *cuda;        /* fixed */
  TesseraPolicy *policy;
  uint64_t most_pool_bytes; /* of its plan, as recorded: the largest so far */
  /* Native only, else NULL: cudaMalloc segments alone have inactive splits. Borrowed. */
  const TesseraCachingStats *native_stats;
  TesseraRecorder *entered; /* by the call under way, to be left with the lock; or NULL */
  TesseraRecorder *recorder; /* ... where it still records */
  TesseraTable table;        /* RuntimeBlock by address: live and pending */
  RuntimeStats stats;

  RuntimeStream *streams;
  size_t n_streams, cap_streams;
  bool watches_streams; /* fixed */
  uint16_t last_stream;
  TesseraTable stream_of; /* handle -> index + 1 */
  size_t n_waits;         /* of all streams */
  RuntimeItem *put_off, **put_off_end;

  RuntimePool *pools; /* [0] is the default one */
  size_t n_pools, cap_pools;
  RuntimeRoute routes[MAX_ROUTES];
  size_t n_routes;

  RuntimeItem *spare_blocks, *spare_waits;
  uint64_t retries_before;            /* a figure that a reset left behind */
  uint64_t step_hash, last_step_hash; /* of a step's requests so far; 0: none */
  char *phase;                        /* the innermost one, or NULL */
  bool step_is_new, phase_is_new;     /* the policy was not told yet */
  bool step_begins;                   /* else one ended, and none begins */
};

/* The lock, and the recorder, where something is to be recorded. tessera_device_unlock()
 * leaves both. */
void tessera_device_enter (RuntimeDevice *device);

/* Before each event: what began since the event before. */
void tessera_device_tell_marks (RuntimeDevice *device);

/* memory.c: what the policy tells */
TesseraObserver tessera_device_observer (RuntimeDevice *device);

/* The plan's pool has another size (@user: the device); recorded: the largest. */
void tessera_device_pool_sized (void *user);

/* figures.c: a block is live, or no more; its memory is used, or free again; the driver
 * gave memory, or has it back. */
void tessera_stats_live (RuntimeStats *stats, const RuntimeBlock *block, bool is_live);
void
tessera_stats_active (RuntimeStats *stats, const RuntimeBlock *block, bool is_active);
void
tessera_stats_reserved (RuntimeStats *stats, const TesseraSegment *memory, bool has_come);
/* As they are now, after one operation. */
void tessera_stats_splits (RuntimeStats *stats, const TesseraCachingStats *now);

/* device.c: false: no memory, or too many */
bool tessera_device_stream (RuntimeDevice *device, uint64_t handle, uint16_t *out_stream);

/* Of a request on it: another stream may have its handle by now. */
void tessera_device_watch_stream (RuntimeDevice *device, uint16_t stream);

/* The pool that serves the stream now. */
uint16_t tessera_device_route (RuntimeDevice *device, uint64_t stream_handle);

/* serve.c */
/* Waits for all that is pending. */
void tessera_device_wait (RuntimeDevice *device);

/* The pending block at @addr ended, as the policy says (@user: the device): its events are
 * of no account any more. */
void tessera_device_pass (void *user, uint64_t addr);
void tessera_device_record (RuntimeDevice *device,
                            TesseraAction action,
                            const RuntimeBlock *block,
                            uint32_t stack);
