/*
 * A reader of pickles that hold plain data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle.h"

#include <inttypes.h>
#include <string.h>

#include "db/array.h"
#include "recorder/import/opcode.h"

/* A writer numbers its memo entries one after the other; optimisers leave some out. */
#define MEMO_SLACK 4096
#define LONG_BYTES 9 /* of a long number that are looked at: 64 bits and a sign */

typedef TesseraStatus (*Run) (TesseraPickle *pickle, const uint8_t *argument);

typedef struct
{
  Run run;
  uint8_t n_argument_bytes;
} Step;

static TesseraStatus
refuse (TesseraPickle *pickle, const char *what)
{
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT, "%s: %s at byte %" PRIu64 ": %s",
                       pickle->stream->name, pickle->op_name, pickle->op_at, what);
}

static TesseraStatus
no_memory (TesseraPickle *pickle)
{
  return tessera_fail (pickle->error, TESSERA_NO_MEMORY,
                       "no memory left to read %s, at byte %" PRIu64,
                       pickle->stream->name, pickle->op_at);
}

static inline TesseraStatus
push (TesseraPickle *pickle, TesseraValue value)
{
  if (pickle->n_stack == pickle->cap_stack)
    {
      if (pickle->n_stack >= TESSERA_PICKLE_MAX_STACK)
        return refuse (pickle, "more values wait on the stack than a snapshot ever has");
      if (!TESSERA_RESERVE (pickle->stack, pickle->cap_stack, pickle->n_stack + 1))
        return no_memory (pickle);
    }
  pickle->stack[pickle->n_stack++] = value;
  return TESSERA_OK;
}

/* How many values lie above the last mark: those an opcode may take. */
static inline size_t
above_mark (const TesseraPickle *pickle)
{
  size_t floor = pickle->n_marks > 0 ? pickle->marks[pickle->n_marks - 1] : 0;

  return pickle->n_stack - floor;
}

static inline uint64_t
little_endian (const uint8_t *bytes, size_t n_bytes)
{
  uint64_t number = 0;

  for (size_t i = 0; i < n_bytes; i++)
    number |= (uint64_t) bytes[i] << (8 * i);
  return number;
}

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
    return refuse (pickle, "there is no open dict to put a key into");
  if ((pickle->n_stack - first) % 2 != 0)
    return refuse (pickle, "a key has no value");
  was_empty = dict->n_items == 0;
  if (tessera_heap_append (&pickle->heap, dict, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return no_memory (pickle);
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
    return refuse (pickle, "there is no open list to append to");
  if (tessera_heap_append (&pickle->heap, list, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return no_memory (pickle);
  pickle->n_stack = first;
  return TESSERA_OK;
}

/* A dict that became a record gave its slot back: what is held at once stays small. */
static TesseraStatus
new_object (TesseraPickle *pickle, TesseraObjectKind kind, TesseraValue *out_value)
{
  if (pickle->heap.n_objects >= TESSERA_PICKLE_MAX_OBJECTS &&
      pickle->heap.unused == UINT32_MAX)
    return refuse (pickle, "more lists and dicts at once than a snapshot ever has");
  if (tessera_heap_new_object (&pickle->heap, kind, out_value) != TESSERA_OK)
    return no_memory (pickle);
  return TESSERA_OK;
}

static TesseraStatus
make (TesseraPickle *pickle, TesseraObjectKind kind)
{
  TesseraValue value;
  TesseraStatus status = new_object (pickle, kind, &value);

  return status == TESSERA_OK ? push (pickle, value) : status;
}

/* Replaces the values from @first on by one object that holds them. */
static TesseraStatus
gather (TesseraPickle *pickle, size_t first, TesseraObjectKind kind)
{
  TesseraValue value;
  TesseraObject *object;
  TesseraStatus status = new_object (pickle, kind, &value);

  if (status != TESSERA_OK)
    return status;
  object = tessera_heap_object (&pickle->heap, value, kind);
  if (tessera_heap_append (&pickle->heap, object, pickle->stack + first,
                           pickle->n_stack - first) != TESSERA_OK)
    return no_memory (pickle);
  pickle->n_stack = first;
  return push (pickle, value);
}

static TesseraStatus
take_mark (TesseraPickle *pickle, size_t *out_first)
{
  *out_first = 0;
  if (pickle->n_marks == 0)
    return refuse (pickle, "there is no MARK before it");
  *out_first = pickle->marks[--pickle->n_marks];
  return TESSERA_OK;
}

static TesseraStatus
run_setitems (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (above_mark (pickle) < pickle->n_stack - first + 1)
    return refuse (pickle, "there is no dict to put keys into");
  return set_items (pickle, first, true);
}

static TesseraStatus
run_setitem (TesseraPickle *pickle, const uint8_t *argument)
{
  if (above_mark (pickle) < 3)
    return refuse (pickle, "there is no dict to put a key into");
  return set_items (pickle, pickle->n_stack - 2, false);
}

static TesseraStatus
run_appends (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (above_mark (pickle) < pickle->n_stack - first + 1)
    return refuse (pickle, "there is no list to append to");
  return append_items (pickle, first);
}

static TesseraStatus
run_append (TesseraPickle *pickle, const uint8_t *argument)
{
  if (above_mark (pickle) < 2)
    return refuse (pickle, "there is no list to append to");
  return append_items (pickle, pickle->n_stack - 1);
}

static TesseraStatus
run_empty_dict (TesseraPickle *pickle, const uint8_t *argument)
{
  return make (pickle, TESSERA_OBJECT_DICT);
}

static TesseraStatus
run_empty_list (TesseraPickle *pickle, const uint8_t *argument)
{
  return make (pickle, TESSERA_OBJECT_LIST);
}

static TesseraStatus
run_dict (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if ((pickle->n_stack - first) % 2 != 0)
    return refuse (pickle, "a key has no value");
  status = gather (pickle, first, TESSERA_OBJECT_DICT);
  return status == TESSERA_OK ? show_dict (pickle, &pickle->stack[first]) : status;
}

static TesseraStatus
run_list (TesseraPickle *pickle, const uint8_t *argument)
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

  if (above_mark (pickle) < n)
    return refuse (pickle, "there are too few values for a tuple");
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

static TesseraStatus
run_empty_tuple (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 0);
}

static TesseraStatus
run_tuple1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 1);
}

static TesseraStatus
run_tuple2 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 2);
}

static TesseraStatus
run_tuple3 (TesseraPickle *pickle, const uint8_t *argument)
{
  return tuple_of (pickle, 3);
}

static TesseraStatus
run_tuple (TesseraPickle *pickle, const uint8_t *argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  return status == TESSERA_OK ? tuple_of (pickle, pickle->n_stack - first) : status;
}

static TesseraStatus
run_mark (TesseraPickle *pickle, const uint8_t *argument)
{
  if (pickle->n_marks >= TESSERA_PICKLE_MAX_NESTING)
    return refuse (pickle, "nested more than 10000 deep; a memory snapshot is not");
  if (!TESSERA_RESERVE (pickle->marks, pickle->cap_marks, pickle->n_marks + 1))
    return no_memory (pickle);
  pickle->marks[pickle->n_marks++] = pickle->n_stack;
  return TESSERA_OK;
}

/* Numbers, texts, constants */

static TesseraStatus
push_int (TesseraPickle *pickle, int64_t number)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_INT, (uint64_t) number));
}

static TesseraStatus
run_binint1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, argument[0]);
}

static TesseraStatus
run_binint2 (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, argument[0] | argument[1] << 8);
}

static TesseraStatus
run_binint (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, (int32_t) little_endian (argument, 4));
}

/* The first @n_bytes (at most LONG_BYTES) of a number, @is_huge: more follow that matter.
 */
static TesseraStatus
push_long (TesseraPickle *pickle, const uint8_t *bytes, size_t n_bytes, bool is_huge)
{
  TesseraBig big = { .is_negative = n_bytes > 0 && bytes[n_bytes - 1] >= 0x80,
                     .is_huge = is_huge };
  TesseraValue value;

  big.bits = little_endian (bytes, n_bytes < 8 ? n_bytes : 8);
  if (big.is_negative && n_bytes < 8)
    big.bits |= UINT64_MAX << (8 * n_bytes);
  if (n_bytes == LONG_BYTES && bytes[8] != (big.is_negative ? 0xff : 0))
    big.is_huge = true;
  if (tessera_heap_new_big (&pickle->heap, big, &value) != TESSERA_OK)
    return no_memory (pickle);
  return push (pickle, value);
}

/* A number of any length, taken from the stream; bytes past LONG_BYTES only say whether
 * it fits. */
static TesseraStatus
take_long (TesseraPickle *pickle, uint64_t n_bytes)
{
  TesseraStream *stream = pickle->stream;
  size_t n = n_bytes < LONG_BYTES ? (size_t) n_bytes : LONG_BYTES;
  uint8_t head[LONG_BYTES];
  bool is_huge = false;

  if (!tessera_stream_has (stream, n))
    return tessera_stream_cut (stream, pickle->error);
  memcpy (head, stream->at, n);
  stream->at += n;
  for (uint64_t i = n; i < n_bytes; i++)
    {
      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      is_huge |= *stream->at++ != (head[LONG_BYTES - 1] >= 0x80 ? 0xff : 0);
    }
  return push_long (pickle, head, n, is_huge);
}

static TesseraStatus
run_long1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_long (pickle, argument[0]);
}

static TesseraStatus
run_long4 (TesseraPickle *pickle, const uint8_t *argument)
{
  uint64_t n_bytes = little_endian (argument, 4);

  if (n_bytes > INT32_MAX)
    return refuse (pickle, "a number of negative length");
  return take_long (pickle, n_bytes);
}

static TesseraStatus
run_binfloat (TesseraPickle *pickle, const uint8_t *argument)
{
  uint64_t bits = 0;
  double number;
  TesseraValue value;

  for (int i = 0; i < 8; i++)
    bits = bits << 8 | argument[i];
  memcpy (&number, &bits, sizeof number);
  if (tessera_heap_new_float (&pickle->heap, number, &value) != TESSERA_OK)
    return no_memory (pickle);
  return push (pickle, value);
}

/* A text longer than the window is gathered piece by piece: a length that the file only
 * claims costs nothing. */
static TesseraStatus
gather_text (TesseraPickle *pickle, size_t n_bytes)
{
  TesseraStream *stream = pickle->stream;

  for (size_t n = 0; n < n_bytes;)
    {
      size_t part;

      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      part = (size_t) (stream->end - stream->at);
      if (part > n_bytes - n)
        part = n_bytes - n;
      if (!TESSERA_RESERVE (pickle->text, pickle->cap_text, n + part))
        return no_memory (pickle);
      memcpy (pickle->text + n, stream->at, part);
      stream->at += part;
      n += part;
    }
  return TESSERA_OK;
}

static TesseraStatus
take_text (TesseraPickle *pickle, uint64_t n_bytes)
{
  TesseraStream *stream = pickle->stream;
  const void *bytes = NULL;
  uint32_t id;

  if (n_bytes > TESSERA_PICKLE_MAX_TEXT_BYTES)
    return refuse (pickle, "a text of more than 256 MiB; no memory snapshot holds one");
  if (n_bytes <= TESSERA_STREAM_WINDOW_BYTES / 2)
    {
      if (!tessera_stream_has (stream, (size_t) n_bytes))
        return tessera_stream_cut (stream, pickle->error);
      bytes = stream->at;
      stream->at += n_bytes;
    }
  else
    {
      TesseraStatus status = gather_text (pickle, (size_t) n_bytes);

      if (status != TESSERA_OK)
        return status;
      bytes = pickle->text;
    }
  if (tessera_strings_intern (pickle->heap.texts, bytes, (size_t) n_bytes, &id) !=
      TESSERA_OK)
    return no_memory (pickle);
  return push (pickle, tessera_value_make (TESSERA_VALUE_TEXT, id));
}

static TesseraStatus
run_short_binunicode (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, argument[0]);
}

static TesseraStatus
run_binunicode (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, little_endian (argument, 4));
}

static TesseraStatus
run_binunicode8 (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, little_endian (argument, 8));
}

static TesseraStatus
run_none (TesseraPickle *pickle, const uint8_t *argument)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_NONE));
}

static TesseraStatus
run_newtrue (TesseraPickle *pickle, const uint8_t *argument)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_TRUE));
}

static TesseraStatus
run_newfalse (TesseraPickle *pickle, const uint8_t *argument)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_FALSE));
}

/* The memo */

static TesseraStatus
put (TesseraPickle *pickle, uint64_t index)
{
  TesseraValue value;

  if (above_mark (pickle) == 0)
    return refuse (pickle, "there is nothing to remember");
  if (index >= pickle->n_memo)
    {
      if (index > 2 * (uint64_t) pickle->n_memo + MEMO_SLACK)
        return refuse (pickle, "it leaves out thousands of memo numbers");
      if (!TESSERA_RESERVE (pickle->memo, pickle->cap_memo, (size_t) index + 1))
        return no_memory (pickle);
      while (pickle->n_memo <= index)
        pickle->memo[pickle->n_memo++] =
            tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_UNSET);
    }
  value = tessera_heap_resolve (&pickle->heap, pickle->stack[pickle->n_stack - 1]);
  pickle->memo[index] = value;
  if (tessera_value_kind (value) == TESSERA_VALUE_OBJECT)
    {
      TesseraObject *object = &pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS];

      if (object->memo == UINT32_MAX && index < UINT32_MAX)
        object->memo = (uint32_t) index;
      else
        object->is_shared = true;
    }
  return TESSERA_OK;
}

static TesseraStatus
run_memoize (TesseraPickle *pickle, const uint8_t *argument)
{
  return put (pickle, pickle->n_memo);
}

static TesseraStatus
run_binput (TesseraPickle *pickle, const uint8_t *argument)
{
  return put (pickle, argument[0]);
}

static TesseraStatus
run_long_binput (TesseraPickle *pickle, const uint8_t *argument)
{
  return put (pickle, little_endian (argument, 4));
}

static TesseraStatus
get (TesseraPickle *pickle, uint64_t index)
{
  TesseraValue value;

  if (index >= pickle->n_memo)
    return refuse (pickle, "it refers to a memo entry that was never written");
  value = tessera_heap_resolve (&pickle->heap, pickle->memo[index]);
  if (value == tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_UNSET))
    return refuse (pickle, "it refers to a memo entry that was never written");
  if (tessera_value_kind (value) == TESSERA_VALUE_OBJECT)
    pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS].is_shared = true;
  return push (pickle, value);
}

static TesseraStatus
run_binget (TesseraPickle *pickle, const uint8_t *argument)
{
  return get (pickle, argument[0]);
}

static TesseraStatus
run_long_binget (TesseraPickle *pickle, const uint8_t *argument)
{
  return get (pickle, little_endian (argument, 4));
}

TesseraStatus
tessera_pickle_become (TesseraPickle *pickle, TesseraValue value, TesseraValue becomes)
{
  const TesseraObject *object = &pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS];

  if (object->memo < pickle->n_memo && pickle->memo[object->memo] == value)
    pickle->memo[object->memo] = becomes;
  if (tessera_heap_become (&pickle->heap, value, becomes) != TESSERA_OK)
    return no_memory (pickle);
  return TESSERA_OK;
}

/* The machine */

static TesseraStatus
run_proto (TesseraPickle *pickle, const uint8_t *argument)
{
  pickle->protocol = argument[0];
  if (argument[0] < 2 || argument[0] > 5)
    return refuse (pickle, "only pickle protocols 2 to 5 are known");
  return TESSERA_OK;
}

/* A hint for readers that want to slurp; the stream has its own window. */
static TesseraStatus
run_frame (TesseraPickle *pickle, const uint8_t *argument)
{
  return TESSERA_OK;
}

static TesseraStatus
run_stop (TesseraPickle *pickle, const uint8_t *argument)
{
  if (pickle->n_marks != 0 || pickle->n_stack != 1)
    return refuse (pickle, "the data is not finished");
  pickle->is_done = true;
  return TESSERA_OK;
}

static const Step steps[256] = {
  ['('] = { run_mark, 0 },
  [')'] = { run_empty_tuple, 0 },
  ['.'] = { run_stop, 0 },
  ['G'] = { run_binfloat, 8 },
  ['J'] = { run_binint, 4 },
  ['K'] = { run_binint1, 1 },
  ['M'] = { run_binint2, 2 },
  ['N'] = { run_none, 0 },
  ['X'] = { run_binunicode, 4 },
  [']'] = { run_empty_list, 0 },
  ['a'] = { run_append, 0 },
  ['d'] = { run_dict, 0 },
  ['e'] = { run_appends, 0 },
  ['h'] = { run_binget, 1 },
  ['j'] = { run_long_binget, 4 },
  ['l'] = { run_list, 0 },
  ['q'] = { run_binput, 1 },
  ['r'] = { run_long_binput, 4 },
  ['s'] = { run_setitem, 0 },
  ['t'] = { run_tuple, 0 },
  ['u'] = { run_setitems, 0 },
  ['}'] = { run_empty_dict, 0 },
  [0x80] = { run_proto, 1 },
  [0x85] = { run_tuple1, 0 },
  [0x86] = { run_tuple2, 0 },
  [0x87] = { run_tuple3, 0 },
  [0x88] = { run_newtrue, 0 },
  [0x89] = { run_newfalse, 0 },
  [0x8a] = { run_long1, 1 },
  [0x8b] = { run_long4, 4 },
  [0x8c] = { run_short_binunicode, 1 },
  [0x8d] = { run_binunicode8, 8 },
  [0x94] = { run_memoize, 0 },
  [0x95] = { run_frame, 8 },
};

static TesseraStatus
refuse_opcode (TesseraPickle *pickle, uint8_t opcode)
{
  if (pickle->op_name != NULL)
    return refuse (pickle, tessera_opcode_reason (opcode));
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT,
                       "%s: byte %" PRIu64
                       " is 0x%02x, which no pickle has: the file is damaged",
                       pickle->stream->name, pickle->op_at, opcode);
}

TesseraStatus
tessera_pickle_read (TesseraPickle *pickle, TesseraValue *out_value)
{
  TesseraStream *stream = pickle->stream;

  while (!pickle->is_done)
    {
      const Step *step;
      const uint8_t *at;
      TesseraStatus status;

      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      step = &steps[*stream->at];
      pickle->op_at = tessera_stream_position (stream);
      pickle->op_name = tessera_opcode_name (*stream->at);
      if (step->run == NULL)
        return refuse_opcode (pickle, *stream->at);
      if (!tessera_stream_has (stream, 1 + (size_t) step->n_argument_bytes))
        return tessera_stream_cut (stream, pickle->error);
      at = stream->at + 1;
      stream->at += 1 + step->n_argument_bytes;
      status = step->run (pickle, at);
      if (status != TESSERA_OK)
        return status;
    }
  *out_value = tessera_heap_resolve (&pickle->heap, pickle->stack[0]);
  return TESSERA_OK;
}

TesseraStatus
tessera_pickle_init (TesseraPickle *pickle, TesseraStream *stream, TesseraError *error)
{
  memset (pickle, 0, sizeof *pickle);
  pickle->stream = stream;
  pickle->error = error;
  if (tessera_heap_init (&pickle->heap) != TESSERA_OK ||
      !TESSERA_RESERVE (pickle->stack, pickle->cap_stack, 1))
    return no_memory (pickle);
  return TESSERA_OK;
}

void
tessera_pickle_forget_memo (TesseraPickle *pickle)
{
  free (pickle->memo);
  free (pickle->stack);
  free (pickle->marks);
  free (pickle->text);
  pickle->memo = pickle->stack = NULL;
  pickle->marks = NULL;
  pickle->text = NULL;
  pickle->n_memo = pickle->cap_memo = pickle->n_stack = pickle->cap_stack = 0;
  pickle->n_marks = pickle->cap_marks = pickle->cap_text = 0;
}

void
tessera_pickle_clear (TesseraPickle *pickle)
{
  tessera_pickle_forget_memo (pickle);
  tessera_heap_clear (&pickle->heap);
}
