/*
 * What the importers share: streams, values of pickles, records of a snapshot, tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/array.h"
#include "db/intern.h"
#include "recorder/import/import.h"

/* Failing to allocate ends the command, as GLib has it. */
static inline void
import_need (bool has_memory)
{
  if (!has_memory)
    g_error ("there is no memory left to read the file");
}

#define IMPORT_RESERVE(array, cap, n) import_need (TESSERA_RESERVE (array, cap, n))

/* Of functions whose only failure is that there is no memory. */
static inline void
import_must (TesseraStatus status)
{
  import_need (status == TESSERA_OK);
}

/*
 * Bytes of a file from front to back, gzip undone on the way.
 *
 * Holds one window of the content, never the file: what a reader keeps decides how much
 * memory an import takes. Positions are those of the content, after decompression.
 */

#define TESSERA_STREAM_WINDOW_BYTES ((size_t) 256 * 1024)

/* Readers take bytes at @at and move it; everything else is the stream's own. */
typedef struct
{
  const uint8_t *at;
  const uint8_t *end;  /* of what is in the window */
  uint64_t base;       /* position of the window's first byte */
  uint8_t *window;     /* NULL: the content is memory of somebody else */
  const uint8_t *from; /* the window's first byte */
  bool is_gzip;
  bool is_at_end;       /* nothing follows the window */
  TesseraStatus status; /* why it ended, when not at the end of the content */
  char reason[160];     /* in words: the operating system's, or zlib's */
  char name[300];       /* for sentences: the path as given, valid UTF-8 */
  uint64_t file_bytes;  /* as stored; 0 when not known (a pipe) */
  uint64_t file_at;     /* read so far, as stored */
  uint64_t n_read;      /* bytes of content so far */
  const TesseraProgress *progress;
  double reported;
  struct gzFile_s *file;
} TesseraStream;

/* The file is open, sniffed and its first window filled. A directory, a missing file and
 * one without permission each give their own sentence. @progress may be NULL and must
 * live as long as the stream. */
TESSERA_MUST_USE TesseraStatus tessera_stream_open (const char *path,
                                                    const TesseraProgress *progress,
                                                    TesseraError *error,
                                                    TesseraStream **out_stream);

void tessera_stream_close (TesseraStream *stream); /* NULL is fine */

/*
 * tessera_stream_fill:
 * @n_bytes: at most TESSERA_STREAM_WINDOW_BYTES
 *
 * Returns: true when so many bytes lie at @at in one piece. False at the end of the
 * content (what is left still lies there), on a read error and when told to stop; @status
 * parts these.
 */
bool tessera_stream_fill (TesseraStream *stream, size_t n_bytes);

static inline bool
tessera_stream_has (TesseraStream *stream, size_t n_bytes)
{
  return (size_t) (stream->end - stream->at) >= n_bytes ||
         tessera_stream_fill (stream, n_bytes);
}

static inline uint64_t
tessera_stream_position (const TesseraStream *stream)
{
  return stream->base + (uint64_t) (stream->at - stream->from);
}

/* The sentence for a stream that ended too early: cut off, unreadable or cancelled. */
TesseraStatus tessera_stream_cut (const TesseraStream *stream, TesseraError *error);

/*
 * The values a pickle is made of, 8 bytes each, and the lists and dicts they refer to.
 *
 * Numbers, texts, pairs of small numbers and records live inside the value; lists and
 * dicts are slots of the heap. A *record* is what a reader has made of a dict: the dict's
 * slot is then used again, so that a file of a million trace entries needs a handful of
 * slots. A list of records with consecutive numbers holds them as one value.
 */

typedef uint64_t TesseraValue;

typedef enum
{
  TESSERA_VALUE_INT,    /* 60 bits, signed */
  TESSERA_VALUE_BIG,    /* index into numbers: 61 to 64 bits */
  TESSERA_VALUE_FLOAT,  /* index into numbers: bits of a double */
  TESSERA_VALUE_CONST,  /* TesseraConst */
  TESSERA_VALUE_TEXT,   /* id of an interned text */
  TESSERA_VALUE_PAIR,   /* tuple of two numbers below 2^30 */
  TESSERA_VALUE_OBJECT, /* slot of a list, tuple or dict */
  TESSERA_VALUE_RECORD  /* kind, first number, how many */
} TesseraValueKind;

typedef enum
{
  TESSERA_CONST_NONE,
  TESSERA_CONST_FALSE,
  TESSERA_CONST_TRUE,
  TESSERA_CONST_UNSET /* a memo entry nobody has written */
} TesseraConst;

#define TESSERA_VALUE_TAG_BITS 4
#define TESSERA_RECORD_MAX_COUNT (((uint32_t) 1 << 24) - 1)

static inline TesseraValueKind
tessera_value_kind (TesseraValue value)
{
  return (TesseraValueKind) (value & 15);
}

static inline TesseraValue
tessera_value_make (TesseraValueKind kind, uint64_t payload)
{
  return payload << TESSERA_VALUE_TAG_BITS | (uint64_t) kind;
}

static inline TesseraValue
tessera_value_record (uint32_t record_kind, uint32_t first, uint32_t count)
{
  return (uint64_t) first << 32 | (uint64_t) count << 8 | (uint64_t) record_kind << 4 |
         TESSERA_VALUE_RECORD;
}

static inline uint32_t
tessera_record_kind (TesseraValue value)
{
  return (uint32_t) (value >> 4) & 15;
}

static inline uint32_t
tessera_record_count (TesseraValue value)
{
  return (uint32_t) (value >> 8) & TESSERA_RECORD_MAX_COUNT;
}

static inline uint32_t
tessera_record_first (TesseraValue value)
{
  return (uint32_t) (value >> 32);
}

static inline bool
tessera_value_is_record (TesseraValue value, uint32_t record_kind)
{
  return tessera_value_kind (value) == TESSERA_VALUE_RECORD &&
         tessera_record_kind (value) == record_kind;
}

typedef enum
{
  TESSERA_OBJECT_UNUSED, /* in the list of slots to use again */
  TESSERA_OBJECT_LIST,   /* lists and longer tuples */
  TESSERA_OBJECT_DICT,   /* key, value, key, value ... */
  TESSERA_OBJECT_MOVED   /* became items[0], while others still hold the slot */
} TesseraObjectKind;

typedef struct
{
  TesseraValue *items;
  size_t n_items;
  size_t cap_items;
  uint32_t memo;     /* where the memo holds it, or UINT32_MAX */
  uint8_t kind;      /* TesseraObjectKind */
  uint8_t is_shared; /* held more than once beside the memo */
} TesseraObject;

/* A number that does not fit 60 bits, or a fraction. */
typedef struct
{
  uint64_t bits; /* two's complement, or those of a double */
  bool is_negative;
} TesseraBig;

typedef struct
{
  TesseraObject *objects;
  size_t n_objects, cap_objects;
  uint32_t unused; /* first slot to use again, UINT32_MAX: none */
  TesseraBig *numbers;
  size_t n_numbers, cap_numbers;
  TesseraStrings *texts;
  size_t item_bytes; /* of all objects' items */
} TesseraHeap;

void tessera_heap_init (TesseraHeap *heap);
void tessera_heap_clear (TesseraHeap *heap);
TesseraValue tessera_heap_new_object (TesseraHeap *heap, TesseraObjectKind kind);
/* Inside the value where it fits. */
TesseraValue
tessera_heap_new_number (TesseraHeap *heap, TesseraValueKind kind, TesseraBig number);
void tessera_heap_append (TesseraHeap *heap,
                          TesseraObject *object,
                          const TesseraValue *values,
                          size_t n_values);

/* What a value stands for now: follows a slot that became something else. */
static inline TesseraValue
tessera_heap_resolve (const TesseraHeap *heap, TesseraValue value)
{
  const TesseraObject *object;

  if (tessera_value_kind (value) != TESSERA_VALUE_OBJECT)
    return value;
  object = &heap->objects[value >> TESSERA_VALUE_TAG_BITS];
  return object->kind == TESSERA_OBJECT_MOVED ? object->items[0] : value;
}

/* The slot of a list or dict, or NULL when @value is something else. */
TesseraObject *
tessera_heap_object (TesseraHeap *heap, TesseraValue value, TesseraObjectKind kind);

/* The slot @value was holds nothing more; whoever still has it finds @becomes, which is
 * no object. The caller owns the only reference outside memo and sharing. */
void tessera_heap_become (TesseraHeap *heap, TesseraValue value, TesseraValue becomes);

/* False when the value is no number or does not fit. True and False are no numbers. */
bool tessera_heap_u64 (const TesseraHeap *heap, TesseraValue value, uint64_t *out_number);
bool tessera_heap_i64 (const TesseraHeap *heap, TesseraValue value, int64_t *out_number);
bool
tessera_heap_double (const TesseraHeap *heap, TesseraValue value, double *out_number);

/* What all of it takes, in bytes: about, as allocators round. */
uint64_t tessera_heap_held (const TesseraHeap *heap);

/* How many items a list has, a run of records counted one by one. */
uint64_t tessera_heap_length (const TesseraObject *object);

/* "a number", "a text", "a dict" ... */
const char *tessera_heap_describe (const TesseraHeap *heap, TesseraValue value);

/*
 * A reader of pickles that hold plain data: numbers, texts, lists, tuples, dicts.
 *
 * A pickle is a program for a stack machine, and one from elsewhere may say "import this
 * module and call it". This machine knows the opcodes of plain data and nothing else; all
 * others end the reading, by name. It runs in a loop with a stack of its own, so that no
 * file decides how deep we recurse, and it never allocates what a file merely announces:
 * memory follows the bytes that are really there.
 *
 * Dicts are shown to the owner as they complete, who may turn them into records (above);
 * then their memory is used again. That is how files larger than memory are read: what
 * stays is 8 bytes for each memo entry and what the owner keeps.
 */

#define TESSERA_PICKLE_MAX_NESTING 10000
/* Snapshots hold at most one byte of values, lists, dicts and memo for each byte read. A
 * file that piles up lists of a byte each would take fifty times its size: past so many
 * bytes at once no more than so many may be held for each byte read. */
#define TESSERA_PICKLE_FREE_BYTES ((uint64_t) 16 << 20)
#define TESSERA_PICKLE_HELD_PER_BYTE 4
/* By then a snapshot has shown an entry, a block or a frame. */
#define TESSERA_PICKLE_FIRST_RECORD_BYTES ((uint64_t) 1 << 20)
#define TESSERA_PICKLE_MAX_TEXT_BYTES ((uint64_t) 1 << 28) /* one text */
#define TESSERA_PICKLE_MAX_RECORD_PAIRS 256 /* longer dicts are no records */

typedef struct TesseraPickle TesseraPickle;

/*
 * A dict is complete.
 * @pairs: key, value, key, value ..., @n_pairs pairs; borrowed for the call
 * @out_value: preset to "stays a dict"; set it to a record's value to turn it into that
 */
typedef TesseraStatus (*TesseraPickleDict) (void *user,
                                            TesseraPickle *pickle,
                                            const TesseraValue *pairs,
                                            size_t n_pairs,
                                            TesseraValue *out_value);

struct TesseraPickle
{
  TesseraHeap heap;
  TesseraStream *stream;
  TesseraError *error;
  TesseraPickleDict dict_done; /* may be NULL */
  void *user;

  TesseraValue *stack;
  size_t n_stack, cap_stack;
  size_t *marks; /* heights of the stack */
  size_t n_marks, cap_marks;
  TesseraValue *memo;
  size_t n_memo, cap_memo;
  uint64_t op_at;    /* position of the opcode at work */
  uint64_t weigh_at; /* position where what is held is looked at again */
  const char *op_name;
  char *text; /* of a text longer than the stream's window */
  size_t cap_text;
  uint8_t protocol;
  bool has_records;
  bool is_done;
};

void
tessera_pickle_init (TesseraPickle *pickle, TesseraStream *stream, TesseraError *error);
void tessera_pickle_clear (TesseraPickle *pickle);

/* Gives the memo and the stack back, keeps the heap: after the reading. */
void tessera_pickle_forget_memo (TesseraPickle *pickle);

/* Runs to STOP. Failures say file, byte, opcode and what to do. */
TESSERA_MUST_USE TesseraStatus tessera_pickle_read (TesseraPickle *pickle,
                                                    TesseraValue *out_value);

/* "FILE is a pickle of @what, not a memory snapshot ..." */
TesseraStatus tessera_pickle_refuse_top (TesseraPickle *pickle, const char *what);

/* Inside a call of dict_done: the list @value has been used up and stands for the record
 * @becomes from now on, wherever the file refers to it. */
void
tessera_pickle_become (TesseraPickle *pickle, TesseraValue value, TesseraValue becomes);

/*
 * A PyTorch memory snapshot while it is being read: what its dicts have become.
 *
 * Trace entries go straight into the trace's events (of all devices, until the whole file
 * is known), frames and stacks into the trace's tables; segments, blocks and annotations
 * wait here. Nothing in a dict is refused while reading: a dict that makes no sense
 * becomes a record marked as flawed, and only if the device in question needs it is the
 * file refused, with the sentence kept for it.
 */

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
  X (MAX_CACHED_SIZE, "max_cached_size")                                                 \
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

/* Streams and pools are numbers of the whole file. */
typedef struct
{
  TesseraSegment segment;
  uint32_t device;
  uint32_t first_block; /* or TESSERA_NONE */
  bool is_flawed;
} TesseraSegmentRecord;

typedef struct
{
  TesseraHeldBlock held; /* addr 0 where the file leaves it to be counted up (2.0) */
  uint32_t next;         /* in the same segment, or TESSERA_NONE */
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

#define TESSERA_MAX_FLAWS 64     /* kept with their place; further ones only marked */
#define TESSERA_MAX_STREAMS 4096 /* real files have fewer than 20 */
#define TESSERA_MAX_DEVICES 4096

typedef struct
{
  TesseraPickle pickle;
  TesseraTrace *trace;
  TesseraError *error;

  TesseraTrace *file; /* has the streams and pools of all devices, and nothing else */
  GArray *segments, *blocks, *histories, *annotations; /* of such records */
  size_t n_records;  /* of all kinds; some frames of a stack count as one */
  GHashTable *flaws; /* record: what is wrong about it, in words */

  uint32_t *scratch; /* frames of the stack at hand */
  size_t cap_scratch;
  uint32_t *strings; /* text id -> string of the trace, TESSERA_NONE: not yet */
  size_t n_strings, cap_strings;

  uint64_t seen; /* keys of entries, segments, blocks and settings, and of parts that hold
                    something: they tell the era */
} TesseraCapture;

void tessera_capture_init (TesseraCapture *capture,
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

/* The list under @key, or NULL; *@out_value: what is there instead. */
const TesseraObject *tessera_capture_list (TesseraCapture *capture,
                                           const TesseraFields *fields,
                                           TesseraTextId key,
                                           TesseraValue *out_value);

/* A walk over the records of one kind in a list; runs of them are counted one by one. */
typedef struct
{
  const TesseraObject *list;
  TesseraRecordKind kind;
  uint32_t index;     /* of the record at hand */
  uint64_t n_others;  /* items of other kinds so far ... */
  TesseraValue other; /* ... and the first of them */
  size_t n_items;     /* looked at */
  uint32_t n_left;    /* of the run at hand */
} TesseraRecords;

/* Returns: whether there is one more. */
bool tessera_records_next (TesseraCapture *capture, TesseraRecords *records);

/* A text of the file as a string of the trace: valid UTF-8. TESSERA_NONE for anything
 * else. */
uint32_t tessera_capture_string (TesseraCapture *capture, TesseraValue value);

/* Refuses the file for a flawed record. @where: "trace entry 12 of device 0" ... */
TesseraStatus tessera_capture_refuse (TesseraCapture *capture,
                                      TesseraRecordKind kind,
                                      uint32_t index,
                                      const char *where);

/* From numbers of the file to those of the trace: by first use on its device. */
void tessera_capture_renumber (TesseraCapture *capture,
                               uint16_t *inout_stream,
                               uint16_t *inout_pool);

/*
 * From the records of a snapshot to a trace: the steps of snapshot.c.
 */

/* Reads a snapshot from a stream that stands at its first byte. */
TESSERA_MUST_USE TesseraStatus tessera_import_snapshot (TesseraStream *stream,
                                                        const TesseraOpenOptions *options,
                                                        TesseraError *error,
                                                        TesseraTrace **out_trace);

/* Where the parts of the snapshot are; NULL or absent where the file has none. */
typedef struct
{
  const TesseraObject *segments;
  const TesseraObject *device_traces;
  const TesseraObject *annotations;
  TesseraValue settings;
  uint64_t n_host_entries;
  uint64_t n_host_segments;
  bool is_bare; /* a list of segments, as 1.13 and memory_snapshot() give */
} TesseraSnapshotParts;

/* devices.c: lists the file's devices, chooses one (TESSERA_NONE: that with most events)
 * and leaves its events alone in the trace, numbered and timed from the first. */
TESSERA_MUST_USE TesseraStatus tessera_snapshot_choose_device (
    TesseraCapture *capture, const TesseraSnapshotParts *parts, uint32_t wanted);
TESSERA_MUST_USE TesseraStatus tessera_snapshot_take_events (
    TesseraCapture *capture, const TesseraSnapshotParts *parts, int64_t *out_zero_us);

/* annotations.c: ranges from the pairs START and END. */
void tessera_snapshot_take_annotations (TesseraCapture *capture,
                                        const TesseraSnapshotParts *parts,
                                        int64_t zero_us);

/* start.c: walks from the end state backwards. Fills trace->start and the events' pools.
 */
void tessera_rewind (TesseraTrace *trace);

/* What an importer found odd: "note.KEY" of the trace's meta, where @n is not 0:
 * "@n @text". */
void tessera_note (TesseraTrace *trace, const char *key, uint64_t n, const char *text);

/* annotations.c: STEP for "step 7", "ProfilerStep#7" and the like, else PHASE. */
TesseraRangeKind tessera_range_kind_of (const char *name);

/*
 * Comma-separated tables as traces: allocations that another tool wrote down, or an
 * instance of the planning problem.
 */

/* Whether the first line names columns of one of the two tables. */
bool tessera_csv_knows (const TesseraStream *stream);

/*
 * tessera_import_csv:
 * @stream: stands at its first byte
 *
 * Either `action,id,size_bytes` with any of `seq,time_us,stream,iteration,phase,module`,
 * in any order, a row an event; or `id,lower,upper,size`, a row a block that lives over
 * [lower, upper). Addresses are made up, one a block.
 */
TESSERA_MUST_USE TesseraStatus tessera_import_csv (TesseraStream *stream,
                                                   TesseraError *error,
                                                   TesseraTrace **out_trace);

/*
 * tessera_import_kineto:
 * @stream: stands at its first byte, which is of JSON
 *
 * A trace of PyTorch's profiler with profile_memory=True. Addresses are made up, one a block.
 */
TESSERA_MUST_USE TesseraStatus tessera_import_kineto (TesseraStream *stream,
                                                      const TesseraOpenOptions *options,
                                                      TesseraError *error,
                                                      TesseraTrace **out_trace);

/* A table read line by line. */

#define TESSERA_CSV_MAX_COLUMNS 64
#define TESSERA_CSV_MAX_LINE_BYTES ((size_t) 1 << 20)

typedef struct
{
  TesseraStream *stream;
  TesseraError *error;
  TesseraStatus status; /* of the first failure: no row comes after it */
  uint64_t line;        /* of the row at hand, from 1 */
  GString *text;        /* its fields, unquoted, each NUL-terminated */
  char *fields[TESSERA_CSV_MAX_COLUMNS];
  size_t n_fields;
} TesseraCsv;

/* False at the end of the table and after a failure. Empty lines are passed over. */
bool tessera_csv_next (TesseraCsv *csv);

/* The column of that name in the header row at hand, or -1. */
int tessera_csv_column (const TesseraCsv *csv, const char *name);

/* The text in @column, "" when the table has no such column (-1) or the row ends before.
 */
const char *tessera_csv_text (const TesseraCsv *csv, int column);

/* A whole number; 0 after refusing what is none. @name is the column's. */
uint64_t tessera_csv_u64 (TesseraCsv *csv, int column, const char *name);

#define TESSERA_CSV_MOST_BYTES ((uint64_t) 1 << 60)     /* of one block */
#define TESSERA_CSV_MOST_SUM_BYTES ((uint64_t) 7 << 61) /* before one more */

/* Bytes of memory that an import takes at most for each event, block and range: measured
 * by tests/bombs.py, where the arrays and hash tables have just grown. */
#define TESSERA_CSV_EVENT_BYTES 48
#define TESSERA_CSV_BLOCK_BYTES 220
#define TESSERA_CSV_OLDER_BYTES 340 /* a block that is there before the first row */
#define TESSERA_CSV_RANGE_BYTES 100

/* Refuses rows too short for the @held_bytes that they have come to: an import takes at
 * most 256 MiB and twelve times the plain bytes. */
void tessera_csv_weigh (TesseraCsv *csv, uint64_t held_bytes);

/* "x.csv line 7: ...", the first time. */
void tessera_csv_refuse (TesseraCsv *csv, const char *format, ...) TESSERA_PRINTF (2, 3);

/* csv-events.c: the header is the row at hand. */
void tessera_csv_read_events (TesseraCsv *csv, TesseraTrace *trace);

/*
 * csv.c: blocks of a file that says no addresses. Each gets one of its own, where nothing
 * else ever was.
 */

#define TESSERA_MADE_FIRST_ADDR ((uint64_t) 1 << 32)

typedef struct
{
  TesseraTrace *trace;
  uint64_t step_bytes; /* sizes are rounded up to */
  uint64_t n_bytes;    /* given so far; whoever gives sees to it that they fit */
  uint64_t n_empty;    /* blocks of 0 bytes, left out */
} TesseraMade;

uint64_t tessera_made_addr (TesseraMade *made, uint64_t size_bytes);
/* Returns: whether the trace has room for it. */
bool tessera_made_event (TesseraMade *made, TesseraAction action, TesseraEvent event);
/* A live block of the start or the end. */
void tessera_made_hold (const TesseraMade *made,
                        TesseraHeld *held,
                        uint64_t addr,
                        uint64_t size_bytes);
