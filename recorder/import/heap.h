/*
 * The values a pickle is made of, 8 bytes each, and the lists and dicts they refer to.
 *
 * Numbers, texts, pairs of small numbers and records live inside the value; lists and
 * dicts are slots of the heap. A *record* is what a reader has made of a dict: the dict's
 * slot is then used again, so that a file of a million trace entries needs a handful of
 * slots. A list of records with consecutive numbers holds them as one value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/intern.h"

typedef uint64_t TesseraValue;

typedef enum
{
  TESSERA_VALUE_INT,    /* 60 bits, signed */
  TESSERA_VALUE_BIG,    /* index into bigs: 61 to 64 bits, or flagged as larger */
  TESSERA_VALUE_FLOAT,  /* index into floats */
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

/* A number that does not fit 60 bits. */
typedef struct
{
  uint64_t bits; /* two's complement of the low 64 */
  bool is_negative;
  bool is_huge; /* beyond 64 bits: @bits means nothing */
} TesseraBig;

typedef struct
{
  TesseraObject *objects;
  size_t n_objects, cap_objects;
  uint32_t unused; /* first slot to use again, UINT32_MAX: none */
  TesseraBig *bigs;
  size_t n_bigs, cap_bigs;
  double *floats;
  size_t n_floats, cap_floats;
  TesseraStrings *texts;
  size_t item_bytes; /* of all objects' items */
} TesseraHeap;

TESSERA_MUST_USE TesseraStatus tessera_heap_init (TesseraHeap *heap);
void tessera_heap_clear (TesseraHeap *heap);

/* Each returns TESSERA_OK or TESSERA_NO_MEMORY and leaves the heap as it was then. */
TESSERA_MUST_USE TesseraStatus tessera_heap_new_object (TesseraHeap *heap,
                                                        TesseraObjectKind kind,
                                                        TesseraValue *out_value);
TESSERA_MUST_USE TesseraStatus tessera_heap_new_big (TesseraHeap *heap,
                                                     TesseraBig big,
                                                     TesseraValue *out_value);
TESSERA_MUST_USE TesseraStatus tessera_heap_new_float (TesseraHeap *heap,
                                                       double number,
                                                       TesseraValue *out_value);
TESSERA_MUST_USE TesseraStatus tessera_heap_append (TesseraHeap *heap,
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
TESSERA_MUST_USE TesseraStatus tessera_heap_become (TesseraHeap *heap,
                                                    TesseraValue value,
                                                    TesseraValue becomes);

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
