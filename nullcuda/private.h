/*
 * What the null CUDA shows to the outside, functions under CUDA's own names, and what its
 * files share.
 *
 * CUDA's types are declared here by hand, since the library must build where no CUDA Toolkit
 * is; layout-test.c compares every number below with the real headers where they are
 * installed. Handles are opaque pointers, device addresses are numbers in an address range
 * of our own that nothing on the CPU may follow. The numbers of errors are the same in
 * CUDA's runtime and driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "nullcuda/settings.h"

/* An exported function: declares and begins the definition. */
#define NULL_API(type, name, ...)                                                        \
  __attribute__ ((visibility ("default"))) type name (__VA_ARGS__);                      \
  type name (__VA_ARGS__)

/* Another name of the function @other of the same file: further arguments are not read. */
#define NULL_ALSO(name, other)                                                           \
  extern __typeof__ (other) name __attribute__ ((visibility ("default"), alias (#other)))

enum
{
  NULL_OK = 0,
  NULL_INVALID_VALUE = 1,
  NULL_OUT_OF_MEMORY = 2,
  NULL_NO_DEVICE = 100,
  NULL_INVALID_DEVICE = 101,
  NULL_INVALID_CONTEXT = 201,
  NULL_INVALID_HANDLE = 400,
  NULL_NOT_FOUND = 500,
  NULL_NOT_READY = 600,
  NULL_ILLEGAL_ADDRESS = 700,
  NULL_PEER_ACCESS_UNSUPPORTED = 217,
  NULL_HOST_MEMORY_ALREADY_REGISTERED = 712,
  NULL_HOST_MEMORY_NOT_REGISTERED = 713,
  NULL_NOT_SUPPORTED = 801,
  NULL_CAPTURE_UNSUPPORTED = 900,
  NULL_CAPTURE_INVALIDATED = 901,
  NULL_CAPTURE_UNMATCHED = 903,
  NULL_CAPTURED_EVENT = 907,
};

/* cudaMemoryType */
enum
{
  NULL_MEMORY_UNREGISTERED = 0,
  NULL_MEMORY_HOST = 1,
  NULL_MEMORY_DEVICE = 2,
  NULL_MEMORY_MANAGED = 3,
};

typedef struct
{
  unsigned x, y, z;
} NullDim;

/* cudaLaunchConfig_t: the part that is read. */
typedef struct
{
  NullDim grid, block;
  size_t shared_bytes;
  void *stream;
  void *attributes;
  unsigned n_attributes;
} NullLaunchConfig;

/* cudaFuncAttributes: CUDA 12 and 13 agree. */
typedef struct
{
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, n_registers, ptx_version, binary_version, cache_mode;
  int max_dynamic_shared_bytes, preferred_carveout, cluster_must_be_set;
  int cluster_width, cluster_height, cluster_depth, cluster_policy, cluster_non_portable;
  int reserved[16];
} NullFunctionAttributes;

/* cudaPointerAttributes: what CUDA 12 knows; CUDA 13 has eight words more behind it. */
typedef struct
{
  int type, device;
  void *device_pointer, *host_pointer;
} NullPointerAttributes;

/* CUmemLocation and CUmemAllocationProp. */
typedef struct
{
  int type, id;
} NullLocation;

typedef struct
{
  int type, handle_types;
  NullLocation location;
  void *win32_meta;
  unsigned char flags[8];
} NullAllocationProp;

/* Which device a thread uses, and how calls fail. */

/* The calling thread's device, or -1 where the library refuses to serve. */
int null_device_current (void);

/* Writes up to 16 bytes, told apart by the device's number. */
void null_device_uuid (int device, char *out_uuid);

/* Keeps @error as the last one of the thread, unless that is NULL_OK, where @name is a
 * function of the runtime. Returns @error. */
int null_report (int error, const char *name);
/* The same for what is not supported, said on stderr where logging is on, unless it
 * @was_said. Returns @error, in the numbers of the library that @name belongs to. */
int null_unsupported (const char *name, int error, atomic_flag *was_said);
/* A sentence that names the last call that was not supported on this thread, or NULL. */
const char *null_unsupported_text (void);

/* Functions that nobody wrote by hand: generated from symbols.txt under policy.txt.
 *
 * One that only computes does nothing and says that it worked. Any other fails, with an
 * error of its library, and is named in the text of that error. Their arguments are not
 * read, so that they are declared without any, but for those that open a handle or say how
 * large a work area is. */

/* Where no device is offered, nothing works. */
#define NULL_STUB(name, arguments, body)                                                 \
  __attribute__ ((visibility ("default"), weak)) long name arguments;                    \
  long name arguments { body; }

#define NULL_QUIET(name)                                                                 \
  NULL_STUB (name, (void), return null_settings ()->refuses ? NULL_NO_DEVICE : NULL_OK)
#define NULL_FAILS(name, error)                                                          \
  NULL_STUB (name, (void), static atomic_flag was_said = ATOMIC_FLAG_INIT;               \
             return null_unsupported (#name, error, &was_said))
#define NULL_OPENS(name)                                                                 \
  NULL_STUB (name, (void **out_handle), *out_handle = out_handle;                        \
             return null_settings ()->refuses ? NULL_NO_DEVICE : NULL_OK)
#define NULL_WORK_ELEMENTS(out, n)                                                       \
  *(out) = (n) > INT_MAX ? INT_MAX : (int) (n);                                          \
  return NULL_OK
/* Eight bytes for each: a guess, as its type is not looked at. */
#define NULL_WORK_BYTES(out, n, out_host)                                                \
  *(out) = 8 * (n);                                                                      \
  *(out_host) = 0;                                                                       \
  return NULL_OK

/*
 * What the null CUDA keeps: ranges of addresses, and objects behind handles. Not locked: the
 * owner's lock guards each of them.
 */

/* Ranges of addresses that do not overlap, sorted: what lies where.
 *
 * An array with binary search: a job holds some thousands of ranges, and looks up far
 * more often than it inserts. */

typedef struct
{
  uint64_t addr, n_bytes;
  uint64_t value; /* the owner's */
  void *data;     /* the owner's */
} NullRange;

typedef struct
{
  NullRange *items;
  size_t n, capacity;
} NullRanges;

/* Index of the first range that ends after @addr; n where there is none. */
size_t null_ranges_at (const NullRanges *ranges, uint64_t addr);
/* The range that holds all of [addr, addr + n_bytes), or NULL. Valid until a change. */
NullRange *null_ranges_find (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes);
/* Whether any byte of it is taken. */
bool null_ranges_overlap (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes);
/* False: no memory. The range must be free. */
bool null_ranges_insert (NullRanges *ranges, NullRange range);
void null_ranges_remove (NullRanges *ranges, size_t index);
/* The lowest free address of @n_bytes at a multiple of @alignment within [from, to), or
 * 0. */
uint64_t null_ranges_gap (const NullRanges *ranges,
                          uint64_t from,
                          uint64_t to,
                          uint64_t n_bytes,
                          uint64_t alignment);

/* Objects behind handles: never given back to the heap, so that a stale or invented
 * handle is recognised instead of followed.
 *
 * All of a slab lies in one mapping, at the same address in every run where that is free:
 * streams appear in snapshots, which shall be equal from run to run. */

/* Objects begin so. */
typedef struct
{
  bool is_used;
  uint32_t next_vacant; /* number of the object, plus one; 0: none */
} NullSlabHead;

typedef struct
{
  uint64_t wanted_addr; /* set by the owner, as the size is */
  size_t object_bytes;
  char *objects;
  size_t n_objects;      /* numbers that were ever in use */
  uint32_t first_vacant; /* as next_vacant */
} NullSlab;

/* A zeroed object, in use; NULL: no memory. */
void *null_slab_take (NullSlab *slab);
/* Whether @handle is an object of this slab that is in use. */
bool null_slab_has (const NullSlab *slab, const void *handle);
void null_slab_give (NullSlab *slab, void *object);
/* The object in use behind @object (NULL: the first), or NULL. */
void *null_slab_next (const NullSlab *slab, const void *object);

/*
 * What small copies put on the device, given back to the host once.
 *
 * Kernels compute nothing here, so that device memory has no content but what a program
 * sent there itself. Programs do send numbers round (DistributedDataParallel its bucket
 * indices) and die on zeros. Nobody knows which kernel overwrites it later, or
 * whether the program's own allocator gave the address to another tensor: so each byte is
 * given back once, a copy as a whole for 1024 kernels, parts of it until the next one
 * (what PyTorch sends for a kernel's own use is freed when that one is launched, and a
 * count may come to lie there); copies, memsets and frees forget what they cover.
 */

#define NULL_REMEMBERED_COPY_BYTES 65536 /* longer copies are not remembered */
#define NULL_REMEMBERED_KERNELS 1024     /* how long a copy is given back whole */
#define NULL_REMEMBERED_BYTES                                                            \
  (UINT64_C (64) << 20) /* of all copies: then all are forgotten */

void null_remembered_put (uint64_t addr, const void *bytes, size_t n_bytes);
/* Fills the parts of @out that are known, and forgets them. Returns: whether any was. */
bool null_remembered_take (uint64_t addr, void *out, size_t n_bytes);
/* A kernel was launched: what is known is older by one. */
void null_remembered_age (void);
void null_remembered_forget (uint64_t addr, uint64_t n_bytes);

/* The answer queue of nullcuda_answer(): true where one of @n_bytes was waiting. */
bool null_answer_take (void *out, size_t n_bytes);

/*
 * Device memory: addresses and a budget, no bytes.
 *
 * Addresses come from one range of the process's own address space, reserved with
 * PROT_NONE: the kernel maps nothing else there, so an address tells exactly whether it
 * is the device's, and a program that follows one on the CPU stops at once. All kinds of
 * memory (plain, pools, physical handles of the virtual memory calls) draw on one budget
 * per device.
 *
 * The functions lock by themselves. Any thread.
 */

/* A number of bytes of @device's budget, or give them back. False: over the budget. */
bool null_budget_take (int device, uint64_t n_bytes);
void null_budget_give (int device, uint64_t n_bytes);

/* Addresses without memory. @wanted_addr 0: anywhere. */
int null_memory_reserve (uint64_t n_bytes,
                         uint64_t alignment,
                         uint64_t wanted_addr,
                         uint64_t *out_addr);
int null_memory_unreserve (uint64_t addr, uint64_t n_bytes);
/* Whether all of it lies in one reservation. */
bool null_memory_is_reserved (uint64_t addr, uint64_t n_bytes);

/* Whether @addr lies in the device's address range, backed or not. */
bool null_memory_is_ours (uint64_t addr);
/* The backed range that holds @addr. False: no memory is there. */
bool null_memory_find (uint64_t addr,
                       uint64_t *out_base,
                       uint64_t *out_n_bytes,
                       int *out_device);
/* Whether every byte may be read and written by a copy. Host memory always may. */
bool null_memory_is_backed (uint64_t addr, uint64_t n_bytes);
/* What the driver would say: of the device, even where the budget is larger. */
void null_memory_info (int device, size_t *out_free_bytes, size_t *out_total_bytes);

/*
 * Host memory that CUDA knows: pinned, registered, managed.
 */

/* The kind of memory at @addr (NULL_MEMORY_...), where CUDA knows it; else unregistered.
 */
int null_host_kind (uint64_t addr);

/* Makes the bytes zero. Whole pages of pinned memory are given back instead of written,
 * so that a run may move more to the host than the machine has memory. */
void null_host_clear (void *addr, size_t n_bytes);

/*
 * The driver's virtual memory calls: physical handles mapped into reserved addresses.
 *
 * A handle takes its bytes from the budget when it is made and gives them back when it is
 * released and mapped nowhere. Mappings cover handles whole, as CUDA demands.
 */

/* Whether any byte of the range has memory behind it. */
bool null_vmm_is_mapped (uint64_t addr, uint64_t n_bytes);
/* The mapping that holds @addr. */
bool
null_vmm_find (uint64_t addr, uint64_t *out_base, uint64_t *out_n_bytes, int *out_device);

/*
 * The virtual clock: when work would be done, were there a GPU.
 *
 * The host has one time, which grows with every call it makes (5 us a launch or copy).
 * Each stream has the time at which what was queued on it ends, each event the time at
 * which it is reached. An event is done when the host's time has passed it; a wait moves
 * the host there. A queue is at most 200 ms deep: who goes further waits. With
 * NULLCUDA_LAG=0 work takes no time, so that everything is done at once.
 *
 * The clock depends on the order of calls alone, never on real time: one thread's run
 * gives the same times whenever it is repeated. One lock guards clock, streams, events
 * and captures.
 */

typedef struct NullStream NullStream;
typedef struct NullEvent NullEvent;
typedef struct NullGraph NullGraph;

/* Whoever watches calls, not under a lock. */
void null_tell (const char *call, void *stream, void *event);

void null_clock_lock (void);
void null_clock_unlock (void);

/* Under the lock. */
double null_clock_now (void);
void null_clock_spend (double ns);    /* the host is busy that long */
void null_clock_reach (double at_ns); /* the host waits until then */

/* Takes the lock. The host is busy that long. */
void null_clock_pass (double ns);
/* Takes the lock. The host waits for all that is queued on @device. */
void null_clock_wait_for_all (int device);

/*
 * Streams: queues of work that takes modelled time.
 */

struct NullStream
{
  NullSlabHead head;
  bool is_blocking; /* waits for the default stream, and that one for it */
  int device, priority;
  double end_ns; /* when what is queued is done */
  unsigned long long id;
  NullGraph *capture; /* NULL: it does not capture */
  bool began_capture; /* else it joined through an event */
};

/* Under the clock's lock. NULL where the handle is none. 0, 1 and 2 are the default
 * streams of the thread's device. */
NullStream *null_stream_find (void *handle);
/* The end of all that is queued on @device, on streams destroyed since as well. */
double null_stream_last_end (int device);
void null_stream_wait (NullStream *stream,
                       double at_ns); /* its next work begins no sooner */
/* Work of @ns: queued, or recorded where the stream captures. */
void null_stream_queue (NullStream *stream, double ns);
/* The stream in use behind @stream (NULL: the first), or NULL. */
NullStream *null_stream_next (const NullStream *stream);

/* Takes the lock: a call named @name puts work of @ns on the stream. An error code. */
int null_submit (const char *name, void *stream, double ns);

/*
 * Graphs: what a capture recorded. A graph remembers how much work it holds, not which.
 */

/* Under the clock's lock. */
void null_graph_add (NullGraph *graph, double ns);
unsigned long long null_graph_id (const NullGraph *graph);
/* @stream takes part in the capture of that id, where it still goes on. */
void null_graph_join (NullStream *stream, unsigned long long capture_id);
/* Captures in which a stream of @device takes part yield no graph any more. Returns: whether
 * there are any. */
bool null_graph_invalidate (int device);
