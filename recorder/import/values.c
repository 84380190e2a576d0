/*
 * The values a pickle is made of, and the lists and dicts they refer to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "recorder/import/private.h"

/* A slot used again keeps a buffer of at most so many items: a dict or a stack, never a
 * list of a million things. */
#define KEEP_ITEMS 512
#define TEXT_BYTES 40       /* a text's pointer and places in an index half full */
#define ALLOCATION_BYTES 16 /* what malloc() adds */
#define INT_MAX_60 (((int64_t) 1 << 59) - 1)
#define INT_MIN_60 (-((int64_t) 1 << 59))

void
tessera_heap_init (TesseraHeap *heap)
{
  memset (heap, 0, sizeof *heap);
  heap->unused = UINT32_MAX;
  import_must (tessera_strings_new (&heap->texts));
}

void
tessera_heap_clear (TesseraHeap *heap)
{
  for (size_t i = 0; i < heap->n_objects; i++)
    free (heap->objects[i].items);
  free (heap->objects);
  free (heap->numbers);
  tessera_strings_free (heap->texts);
  memset (heap, 0, sizeof *heap);
}

TesseraValue
tessera_heap_new_object (TesseraHeap *heap, TesseraObjectKind kind)
{
  TesseraObject *object;
  uint32_t slot = heap->unused;

  if (slot != UINT32_MAX)
    {
      object = &heap->objects[slot];
      heap->unused = object->memo;
    }
  else
    {
      import_need (heap->n_objects < UINT32_MAX - 1);
      IMPORT_RESERVE (heap->objects, heap->cap_objects, heap->n_objects + 1);
      slot = (uint32_t) heap->n_objects++;
      object = &heap->objects[slot];
      memset (object, 0, sizeof *object);
    }
  object->n_items = 0;
  object->memo = UINT32_MAX;
  object->kind = (uint8_t) kind;
  object->is_shared = false;
  return tessera_value_make (TESSERA_VALUE_OBJECT, slot);
}

TesseraValue
tessera_heap_new_number (TesseraHeap *heap, TesseraValueKind kind, TesseraBig number)
{
  int64_t as_signed = (int64_t) number.bits;

  if (kind != TESSERA_VALUE_FLOAT && (as_signed < 0) == number.is_negative &&
      as_signed <= INT_MAX_60 && as_signed >= INT_MIN_60)
    return tessera_value_make (TESSERA_VALUE_INT, number.bits);
  IMPORT_RESERVE (heap->numbers, heap->cap_numbers, heap->n_numbers + 1);
  heap->numbers[heap->n_numbers] = number;
  return tessera_value_make (kind, heap->n_numbers++);
}

static void
lengthen (TesseraHeap *heap, TesseraObject *object)
{
  size_t cap_before = object->cap_items;

  IMPORT_RESERVE (object->items, object->cap_items, object->n_items + 1);
  heap->item_bytes += (object->cap_items - cap_before) * sizeof *object->items +
                      (cap_before == 0 ? ALLOCATION_BYTES : 0);
}

/* Joins records that carry on where the list's last run ends. */
static bool
lengthen_run (TesseraObject *object, TesseraValue value)
{
  TesseraValue last;

  if (tessera_value_kind (value) != TESSERA_VALUE_RECORD || object->n_items == 0)
    return false;
  last = object->items[object->n_items - 1];
  if (!tessera_value_is_record (last, tessera_record_kind (value)) ||
      tessera_record_first (last) + tessera_record_count (last) !=
          tessera_record_first (value) ||
      tessera_record_count (last) + tessera_record_count (value) >
          TESSERA_RECORD_MAX_COUNT)
    return false;
  object->items[object->n_items - 1] =
      tessera_value_record (tessera_record_kind (last), tessera_record_first (last),
                            tessera_record_count (last) + tessera_record_count (value));
  return true;
}

void
tessera_heap_append (TesseraHeap *heap,
                     TesseraObject *object,
                     const TesseraValue *values,
                     size_t n_values)
{
  bool is_list = object->kind == TESSERA_OBJECT_LIST;

  for (size_t i = 0; i < n_values; i++)
    {
      TesseraValue value = tessera_heap_resolve (heap, values[i]);

      if (is_list && lengthen_run (object, value))
        continue;
      if (object->n_items == object->cap_items)
        lengthen (heap, object);
      object->items[object->n_items++] = value;
    }
}

TesseraObject *
tessera_heap_object (TesseraHeap *heap, TesseraValue value, TesseraObjectKind kind)
{
  TesseraObject *object;

  if (tessera_value_kind (value) != TESSERA_VALUE_OBJECT)
    return NULL;
  object = &heap->objects[value >> TESSERA_VALUE_TAG_BITS];
  return object->kind == kind ? object : NULL;
}

void
tessera_heap_become (TesseraHeap *heap, TesseraValue value, TesseraValue becomes)
{
  uint32_t slot = (uint32_t) (value >> TESSERA_VALUE_TAG_BITS);
  TesseraObject *object = &heap->objects[slot];

  if (object->cap_items > KEEP_ITEMS)
    {
      free (object->items);
      heap->item_bytes -= object->cap_items * sizeof *object->items + ALLOCATION_BYTES;
      object->items = NULL;
      object->cap_items = 0;
    }
  object->n_items = 0;
  if (object->is_shared)
    {
      lengthen (heap, object);
      object->items[0] = becomes;
      object->n_items = 1;
      object->kind = TESSERA_OBJECT_MOVED;
      return;
    }
  object->kind = TESSERA_OBJECT_UNUSED;
  object->memo = heap->unused;
  heap->unused = slot;
}

uint64_t
tessera_heap_held (const TesseraHeap *heap)
{
  return heap->n_objects * sizeof *heap->objects + heap->item_bytes +
         heap->n_numbers * sizeof *heap->numbers +
         tessera_strings_count (heap->texts) * TEXT_BYTES;
}

/* Returns: whether the value is a whole number. */
static bool
find_number (const TesseraHeap *heap, TesseraValue value, TesseraBig *out_number)
{
  int64_t small = (int64_t) value >> TESSERA_VALUE_TAG_BITS;

  *out_number = (TesseraBig){ .bits = (uint64_t) small, .is_negative = small < 0 };
  if (tessera_value_kind (value) == TESSERA_VALUE_BIG)
    *out_number = heap->numbers[value >> TESSERA_VALUE_TAG_BITS];
  return tessera_value_kind (value) == TESSERA_VALUE_INT ||
         tessera_value_kind (value) == TESSERA_VALUE_BIG;
}

bool
tessera_heap_u64 (const TesseraHeap *heap, TesseraValue value, uint64_t *out_number)
{
  TesseraBig number;
  bool is_number = find_number (heap, value, &number);

  *out_number = is_number ? number.bits : 0;
  return is_number && !number.is_negative;
}

bool
tessera_heap_i64 (const TesseraHeap *heap, TesseraValue value, int64_t *out_number)
{
  TesseraBig number;
  bool is_number = find_number (heap, value, &number);

  *out_number = is_number ? (int64_t) number.bits : 0;
  return is_number && ((int64_t) number.bits < 0) == number.is_negative;
}

bool
tessera_heap_double (const TesseraHeap *heap, TesseraValue value, double *out_number)
{
  int64_t number;
  bool is_whole = tessera_heap_i64 (heap, value, &number);

  *out_number = (double) number;
  if (tessera_value_kind (value) == TESSERA_VALUE_FLOAT)
    memcpy (out_number, &heap->numbers[value >> TESSERA_VALUE_TAG_BITS].bits,
            sizeof *out_number);
  return is_whole || tessera_value_kind (value) == TESSERA_VALUE_FLOAT;
}

uint64_t
tessera_heap_length (const TesseraObject *object)
{
  uint64_t n = 0;

  for (size_t i = 0; i < object->n_items; i++)
    n += tessera_value_kind (object->items[i]) == TESSERA_VALUE_RECORD
             ? tessera_record_count (object->items[i])
             : 1;
  return n;
}

const char *
tessera_heap_describe (const TesseraHeap *heap, TesseraValue value)
{
  static const char *const words[] = { [TESSERA_VALUE_INT] = "a number",
                                       [TESSERA_VALUE_BIG] =
                                           "a number too large or below 0",
                                       [TESSERA_VALUE_FLOAT] = "a fraction",
                                       [TESSERA_VALUE_CONST] = "None, True or False",
                                       [TESSERA_VALUE_TEXT] = "a text",
                                       [TESSERA_VALUE_PAIR] = "a pair of numbers",
                                       [TESSERA_VALUE_OBJECT] = "a list",
                                       [TESSERA_VALUE_RECORD] =
                                           "a dict or a list of dicts" };

  value = tessera_heap_resolve (heap, value);
  if (tessera_value_kind (value) == TESSERA_VALUE_OBJECT &&
      heap->objects[value >> TESSERA_VALUE_TAG_BITS].kind == TESSERA_OBJECT_DICT)
    return "a dict";
  return words[tessera_value_kind (value)];
}
