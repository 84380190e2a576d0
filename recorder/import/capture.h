/*
 * A PyTorch memory snapshot while it is being read: what its dicts have become.
 *
 * Trace entries go straight into the trace's events (of all devices, until the whole file
 * is known), frames and stacks into the trace's tables; segments, blocks and annotations
 * wait here. Nothing in a dict is refused while reading: a dict that makes no sense
 * becomes a record marked as flawed, and only if the device in question needs it is the
 * file refused, with the sentence kept for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"
#include "recorder/import/pickle/pickle.h"

typedef enum
{
  TESSERA_RECORD_FRAME = 1, /* index into the trace's frames */
  TESSERA_RECORD_STACK,     /* index into the trace's stacks, or TESSERA_NONE */
  TESSERA_RECORD_ENTRY,     /* index into the trace's events */
  TESSERA_RECORD_SEGMENT,
  TESSERA_RECORD_BLOCK,
  TESSERA_RECORD_HISTORY,
  TESSERA_RECORD_ANNOTATION
} TesseraRecordKind;

/* Texts with a meaning: their ids are these numbers, whatever a file holds. */
#define TESSERA_SNAPSHOT_TEXTS(X)                                                        \
  X (ACTION, "action")                                                                   \
  X (ADDR, "addr")                                                                       \
  X (SIZE, "size")                                                                       \
  X (STREAM, "stream")                                                                   \
  X (TIME_US, "time_us")                                                                 \
  X (FRAMES, "frames")                                                                   \
  X (DEVICE_FREE, "device_free")                                                         \
  X (POOL_ID, "pool_id")                                                                 \
  X (COMPILE_CONTEXT, "compile_context")                                                 \
  X (USER_METADATA, "user_metadata")                                                     \
  X (CATEGORY, "category")                                                               \
  X (NAME, "name")                                                                       \
  X (FILENAME, "filename")                                                               \
  X (LINE, "line")                                                                       \
  X (DEVICE, "device")                                                                   \
  X (ADDRESS, "address")                                                                 \
  X (TOTAL_SIZE, "total_size")                                                           \
  X (SEGMENT_TYPE, "segment_type")                                                       \
  X (SEGMENT_POOL_ID, "segment_pool_id")                                                 \
  X (IS_EXPANDABLE, "is_expandable")                                                     \
  X (BLOCKS, "blocks")                                                                   \
  X (REQUESTED_SIZE, "requested_size")                                                   \
  X (STATE, "state")                                                                     \
  X (HISTORY, "history")                                                                 \
  X (REAL_SIZE, "real_size")                                                             \
  X (STAGE, "stage")                                                                     \
  X (SEGMENTS, "segments")                                                               \
  X (DEVICE_TRACES, "device_traces")                                                     \
  X (ALLOCATOR_SETTINGS, "allocator_settings")                                           \
  X (EXTERNAL_ANNOTATIONS, "external_annotations")                                       \
  X (HOST_SEGMENTS, "host_segments")                                                     \
  X (HOST_TRACES, "host_traces")                                                         \
  X (CONF, "PYTORCH_CUDA_ALLOC_CONF")                                                    \
  X (NEW_CONF, "PYTORCH_ALLOC_CONF")                                                     \
  X (MAX_SPLIT_SIZE, "max_split_size")                                                   \
  X (GC_THRESHOLD, "garbage_collection_threshold")                                       \
  X (EXPANDABLE_SEGMENTS, "expandable_segments")                                         \
  X (ROUNDUP_DIVISIONS, "roundup_power2_divisions")                                      \
  X (STREAM_REUSE, "graph_capture_record_stream_reuse")                                  \
  X (ALLOC, "alloc")                                                                     \
  X (FREE_REQUESTED, "free_requested")                                                   \
  X (FREE_COMPLETED, "free_completed")                                                   \
  X (SEGMENT_ALLOC, "segment_alloc")                                                     \
  X (SEGMENT_FREE, "segment_free")                                                       \
  X (SEGMENT_MAP, "segment_map")                                                         \
  X (SEGMENT_UNMAP, "segment_unmap")                                                     \
  X (OOM, "oom")                                                                         \
  X (SNAPSHOT, "snapshot")                                                               \
  X (ANNOTATE, "annotate")                                                               \
  X (USER_DEFINED, "user_defined")                                                       \
  X (WORKSPACE_SNAPSHOT, "workspace_snapshot")                                           \
  X (ACTIVE_ALLOCATED, "active_allocated")                                               \
  X (ACTIVE_PENDING_FREE, "active_pending_free")                                         \
  X (ACTIVE_AWAITING_FREE, "active_awaiting_free")                                       \
  X (INACTIVE, "inactive")                                                               \
  X (SMALL, "small")                                                                     \
  X (LARGE, "large")                                                                     \
  X (START, "START")                                                                     \
  X (END, "END")

typedef enum
{
#define TESSERA_TEXT_ID(name, text) TESSERA_TEXT_##name,
  TESSERA_SNAPSHOT_TEXTS (TESSERA_TEXT_ID)
#undef TESSERA_TEXT_ID
      TESSERA_N_TEXTS
} TesseraTextId;

/* A dict's values by the texts above. */
typedef struct
{
  uint64_t present; /* bit per TesseraTextId */
  TesseraValue values[TESSERA_N_TEXTS];
} TesseraFields;

/* Events while reading; neither is ever left in a trace. */
#define TESSERA_ACTION_FLAWED 0
#define TESSERA_ACTION_UNKNOWN 255 /* its name is the text id in @stack */
#define TESSERA_TIME_MISSING INT64_MIN

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint32_t device;
  uint32_t stack;
  uint32_t first_block; /* or TESSERA_NONE */
  uint16_t stream;      /* index into the capture's streams */
  uint16_t pool;        /* index into the capture's pools */
  bool is_small;
  bool is_expandable;
  bool is_flawed;
} TesseraSegmentRecord;

typedef struct
{
  uint64_t addr; /* 0 where the file leaves it to be counted up (2.0) */
  uint64_t size_bytes;
  uint64_t requested_bytes;
  uint32_t stack;
  uint32_t next; /* in the same segment, or TESSERA_NONE */
  uint8_t state; /* TesseraBlockState */
  bool is_flawed;
  bool is_taken; /* by a segment */
} TesseraBlockRecord;

typedef struct
{
  uint64_t real_bytes;
  uint32_t stack;
} TesseraHistoryRecord;

typedef struct
{
  int64_t time_us;
  uint32_t name; /* text id */
  uint32_t device;
  bool is_end;
  bool is_flawed;
} TesseraAnnotationRecord;

/* Why a record is flawed. */
typedef struct
{
  TesseraRecordKind kind;
  uint32_t index;
  TesseraTextId key;
  bool is_missing;
  const char *found; /* "a text" ... */
  uint64_t at;       /* where the dict ends in the file */
} TesseraFlaw;

#define TESSERA_MAX_FLAWS 64     /* kept with their place; further ones only marked */
#define TESSERA_MAX_STREAMS 4096 /* real files have fewer than 20 */
#define TESSERA_MAX_DEVICES 4096

typedef struct
{
  TesseraPickle pickle;
  TesseraTrace *trace;
  TesseraError *error;

  uint64_t *streams; /* handles, by first use in the file */
  size_t n_streams, cap_streams;
  TesseraPoolId *pools; /* by first use in the file; (0, 0) first */
  size_t n_pools, cap_pools;
  TesseraSegmentRecord *segments;
  size_t n_segments, cap_segments;
  TesseraBlockRecord *blocks;
  size_t n_blocks, cap_blocks;
  TesseraHistoryRecord *histories;
  size_t n_histories, cap_histories;
  TesseraAnnotationRecord *annotations;
  size_t n_annotations, cap_annotations;
  size_t n_records; /* of all kinds; some frames of a stack count as one */
  TesseraFlaw flaws[TESSERA_MAX_FLAWS];
  size_t n_flaws;

  uint32_t *scratch; /* frames of the stack at hand */
  size_t cap_scratch;
  uint32_t *strings; /* text id -> string of the trace, TESSERA_NONE: not yet */
  size_t n_strings, cap_strings;

  uint64_t seen; /* keys of entries, segments and blocks: tells the era */
} TesseraCapture;

TESSERA_MUST_USE TesseraStatus tessera_capture_init (TesseraCapture *capture,
                                                     TesseraStream *stream,
                                                     TesseraTrace *trace,
                                                     TesseraError *error);
void tessera_capture_clear (TesseraCapture *capture);

static inline bool
tessera_fields_have (const TesseraFields *fields, TesseraTextId key)
{
  return (fields->present >> key & 1) != 0;
}

/* The fields of a generic dict; false when @value is none. */
bool tessera_capture_fields (TesseraCapture *capture,
                             TesseraValue value,
                             TesseraFields *out_fields);

/* A text of the file as a string of the trace: valid UTF-8. "" for anything else. */
TESSERA_MUST_USE TesseraStatus tessera_capture_string (TesseraCapture *capture,
                                                       TesseraValue value,
                                                       uint32_t *out_string);

/* Remembers why a record is flawed. Returns: true, to be stored in is_flawed. */
bool tessera_capture_flaw (TesseraCapture *capture,
                           TesseraRecordKind kind,
                           uint32_t index,
                           TesseraTextId key,
                           const TesseraFields *fields);

/* Refuses the file for a flawed record. @where: "trace entry 12 of device 0" ... */
TesseraStatus tessera_capture_refuse (TesseraCapture *capture,
                                      TesseraRecordKind kind,
                                      uint32_t index,
                                      const char *where);

TesseraStatus tessera_capture_no_memory (TesseraCapture *capture);

/* Whether the field is there, and says @text. */
static inline bool
tessera_fields_say (const TesseraFields *fields, TesseraTextId key, TesseraTextId text)
{
  return tessera_fields_have (fields, key) &&
         fields->values[key] == tessera_value_make (TESSERA_VALUE_TEXT, text);
}

static inline bool
tessera_fields_are_true (const TesseraFields *fields, TesseraTextId key)
{
  return tessera_fields_have (fields, key) &&
         fields->values[key] ==
             tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_TRUE);
}

/* Shared by the makers of records. Numbers: false when missing or no such number. */
bool tessera_capture_u64 (const TesseraCapture *capture,
                          const TesseraFields *fields,
                          TesseraTextId key,
                          uint64_t *out_number);
/* A handle or an address: negative ones are the same bits seen as signed. */
bool tessera_capture_handle (TesseraCapture *capture,
                             const TesseraFields *fields,
                             TesseraTextId key,
                             uint64_t *out_handle);
/* At most 2^60 bytes. */
bool tessera_capture_size (TesseraCapture *capture,
                           const TesseraFields *fields,
                           TesseraTextId key,
                           uint64_t *out_size_bytes);
/* Of the record after @n others, or a sentence where there are too many. */
TESSERA_MUST_USE TesseraStatus tessera_capture_number (TesseraCapture *capture,
                                                       size_t n,
                                                       uint32_t *out_index);
TESSERA_MUST_USE TesseraStatus tessera_capture_stack (TesseraCapture *capture,
                                                      const TesseraFields *fields,
                                                      uint32_t *out_stack);
TESSERA_MUST_USE TesseraStatus tessera_capture_stream (TesseraCapture *capture,
                                                       uint64_t handle,
                                                       uint16_t *out_stream);
/* False when the field is missing or no pair. */
bool tessera_capture_pool_id (TesseraCapture *capture,
                              const TesseraFields *fields,
                              TesseraTextId key,
                              TesseraPoolId *out_id);
TESSERA_MUST_USE TesseraStatus tessera_capture_pool (TesseraCapture *capture,
                                                     TesseraPoolId id,
                                                     uint16_t *out_pool);

/* Makers of records: one for each kind of dict. */
typedef TesseraStatus (*TesseraRecordMaker) (TesseraCapture *capture,
                                             const TesseraFields *fields,
                                             TesseraValue *out_value);
TesseraStatus
tessera_make_entry (TesseraCapture *, const TesseraFields *, TesseraValue *);
TesseraStatus
tessera_make_segment (TesseraCapture *, const TesseraFields *, TesseraValue *);
TesseraStatus
tessera_make_block (TesseraCapture *, const TesseraFields *, TesseraValue *);
TesseraStatus
tessera_make_history (TesseraCapture *, const TesseraFields *, TesseraValue *);
TesseraStatus
tessera_make_annotation (TesseraCapture *, const TesseraFields *, TesseraValue *);
TesseraStatus
tessera_make_frame (TesseraCapture *, const TesseraFields *, TesseraValue *);
