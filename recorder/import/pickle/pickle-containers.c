/*
 * The opcodes of lists, dicts and tuples.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle/pickle-internal.h"

/* Dicts */

static TesseraStatus
show_dict (TesseraPickle *pickle, TesseraValue *value)
{
  TesseraObject *dict = tessera_heap_object (&pickle->heap, *value, TESSERA_OBJECT_DICT);
  TesseraValue becomes = *value;
  TesseraStatus status;

  if (dict == NULL || pickle->dict_done == NULL ||
      dict->n_items > 2 * TESSERA_PICKLE_MAX_RECORD_PAIRS)
    return TESSERA_OK;
  status =
      pickle->dict_done (pickle->user, pickle, dict->items, dict->n_items / 2, &becomes);
  if (status != TESSERA_OK || becomes == *value)
    return status;
  status = tessera_pickle_become (pickle, *value, becomes);
  pickle->has_records = true;
  *value = becomes;
  return status;
}

/* Moves what lies above @first into the dict just below it. */
static TesseraStatus
set_items (TesseraPickle *pickle, size_t first, bool is_whole)
{
  TesseraValue *at = &pickle->stack[first - 1];
  TesseraObject *dict;
  bool was_empty;

  *at = tessera_heap_resolve (&pickle->heap, *at);
  dict = tessera_heap_object (&pickle->heap, *at, TESSERA_OBJECT_DICT);
  if (dict == NULL)
    return tessera_pickle_refuse (pickle, "there is no open dict to put a key into");
  if ((pickle->n_stack - first) % 2 != 0)
    return tessera_pickle_refuse (pickle, "a key has no value");
  was_empty = dict->n_items == 0;
  if (tessera_heap_append (&pickle->heap, dict, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  pickle->n_stack = first;
  return was_empty && is_whole ? show_dict (pickle, at) : TESSERA_OK;
}

static TesseraStatus
append_items (TesseraPickle *pickle, size_t first)
{
  TesseraObject *list;

  for (size_t i = first; i < pickle->n_stack; i++)
    if (tessera_value_kind (pickle->stack[i]) == TESSERA_VALUE_OBJECT)
      {
        TesseraStatus status;

        pickle->stack[i] = tessera_heap_resolve (&pickle->heap, pickle->stack[i]);
        status = show_dict (pickle, &pickle->stack[i]);
        if (status != TESSERA_OK)
          return status;
      }
  list =
      tessera_heap_object (&pickle->heap, pickle->stack[first - 1], TESSERA_OBJECT_LIST);
  if (list == NULL)
    return tessera_pickle_refuse (pickle, "there is no open list to append to");
  if (tessera_heap_append (&pickle->heap, list, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  pickle->n_stack = first;
  return TESSERA_OK;
}

static TesseraStatus
make (TesseraPickle *pickle, TesseraObjectKind kind)
{
  TesseraValue value;

  if (tessera_heap_new_object (&pickle->heap, kind, &value) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  return tessera_pickle_push (pickle, value);
}

/* Replaces the values from @first on by one object that holds them. */
static TesseraStatus
gather (TesseraPickle *pickle, size_t first, TesseraObjectKind kind)
{
  TesseraValue value;
  TesseraObject *object;

  if (tessera_heap_new_object (&pickle->heap, kind, &value) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  object = tessera_heap_object (&pickle->heap, value, kind);
  if (tessera_heap_append (&pickle->heap, object, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  pickle->n_stack = first;
  return tessera_pickle_push (pickle, value);
}

static TesseraStatus
take_mark (TesseraPickle *pickle, size_t *out_first)
{
  *out_first = 0;
  if (pickle->n_marks == 0)
    return tessera_pickle_refuse (pickle, "there is no MARK before it");
  *out_first = pickle->marks[--pickle->n_marks];
  return TESSERA_OK;
}

TesseraStatus
tessera_run_setitems (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (tessera_pickle_above_mark (pickle) < pickle->n_stack - first + 1)
    return tessera_pickle_refuse (pickle, "there is no dict to put keys into");
  return set_items (pickle, first, true);
}

TesseraStatus
tessera_run_setitem (TesseraPickle *pickle, const uint8_t *argument)
{
  if (tessera_pickle_above_mark (pickle) < 3)
    return tessera_pickle_refuse (pickle, "there is no dict to put a key into");
  return set_items (pickle, pickle->n_stack - 2, false);
}

TesseraStatus
tessera_run_appends (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (tessera_pickle_above_mark (pickle) < pickle->n_stack - first + 1)
    return tessera_pickle_refuse (pickle, "there is no list to append to");
  return append_items (pickle, first);
}

TesseraStatus
tessera_run_append (TesseraPickle *pickle, const uint8_t *argument)
{
  if (tessera_pickle_above_mark (pickle) < 2)
    return tessera_pickle_refuse (pickle, "there is no list to append to");
  return append_items (pickle, pickle->n_stack - 1);
}

TesseraStatus
tessera_run_empty_dict (TesseraPickle *pickle, const uint8_t *argument)
{
  return make (pickle, TESSERA_OBJECT_DICT);
}

TesseraStatus
tessera_run_empty_list (TesseraPickle *pickle, const uint8_t *argument)
{
  return make (pickle, TESSERA_OBJECT_LIST);
}

TesseraStatus
tessera_run_dict (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if ((pickle->n_stack - first) % 2 != 0)
    return tessera_pickle_refuse (pickle, "a key has no value");
  status = gather (pickle, first, TESSERA_OBJECT_DICT);
  return status == TESSERA_OK ? show_dict (pickle, &pickle->stack[first]) : status;
}

TesseraStatus
tessera_run_list (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  return status == TESSERA_OK ? gather (pickle, first, TESSERA_OBJECT_LIST) : status;
}

/* Tuples */

static bool
is_small (TesseraValue value)
{
  return tessera_value_kind (value) == TESSERA_VALUE_INT &&
         value >> TESSERA_VALUE_TAG_BITS < (uint64_t) 1 << 30;
}

static TesseraStatus
tuple_of (TesseraPickle *pickle, size_t n)
{
  TesseraValue *at;

  if (tessera_pickle_above_mark (pickle) < n)
    return tessera_pickle_refuse (pickle, "there are too few values for a tuple");
  at = pickle->stack + pickle->n_stack - n;
  if (n == 2 && is_small (at[0]) && is_small (at[1]))
    {
      at[0] = tessera_value_make (TESSERA_VALUE_PAIR,
                                  (at[0] >> TESSERA_VALUE_TAG_BITS) << 30 |
                                      at[1] >> TESSERA_VALUE_TAG_BITS);
      pickle->n_stack--;
      return TESSERA_OK;
    }
  return gather (pickle, pickle->n_stack - n, TESSERA_OBJECT_LIST);
}

TesseraStatus
tessera_run_empty_tuple (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 0);
}

TesseraStatus
tessera_run_tuple1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 1);
}

TesseraStatus
tessera_run_tuple2 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 2);
}

TesseraStatus
tessera_run_tuple3 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 3);
}

TesseraStatus
tessera_run_tuple (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  return status == TESSERA_OK ? tuple_of (pickle, pickle->n_stack - first) : status;
}
