/*
 * A reader of pickles that hold plain data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "recorder/import/private.h"

/* A writer numbers its memo entries one after the other; optimisers leave some out. */
#define MEMO_SLACK 4096
#define WEIGH_EACH_BYTES 65536

typedef enum
{
  PLAIN,    /* run */
  BUILDS,   /* makes objects or calls functions */
  OUTSIDE,  /* refers to data outside the file */
  OLD,      /* text form of protocols 0 and 1 */
  NOT_OURS, /* harmless, but no snapshot has it */
} Kind;

typedef struct
{
  const char *name; /* NULL: no opcode of any protocol */
  Kind kind;
  TesseraStatus (*run) (TesseraPickle *pickle, uint64_t argument);
  uint8_t n_argument_bytes; /* that follow: a little-endian number */
  uint8_t argument;         /* where none follows */
} Opcode;

/* "FILE: OPCODE at byte N: @what" */
static TesseraStatus
refuse (TesseraPickle *pickle, const char *what)
{
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT, "%s: %s at byte %" PRIu64 ": %s",
                       pickle->stream->name, pickle->op_name, pickle->op_at, what);
}

static TesseraStatus
push (TesseraPickle *pickle, TesseraValue value)
{
  IMPORT_RESERVE (pickle->stack, pickle->cap_stack, pickle->n_stack + 1);
  pickle->stack[pickle->n_stack++] = value;
  return TESSERA_OK;
}

/* How many values lie above the last mark: those an opcode may take. */
static size_t
count_above_mark (const TesseraPickle *pickle)
{
  size_t floor = pickle->n_marks > 0 ? pickle->marks[pickle->n_marks - 1] : 0;

  return pickle->n_stack - floor;
}

static uint64_t
little_endian (const uint8_t *bytes, size_t n_bytes)
{
  uint64_t number = 0;

  for (size_t i = 0; i < n_bytes; i++)
    number |= (uint64_t) bytes[i] << (8 * i);
  return number;
}

static TesseraStatus
run_mark (TesseraPickle *pickle, uint64_t argument)
{
  if (pickle->n_marks >= TESSERA_PICKLE_MAX_NESTING)
    return refuse (pickle, "nested more than 10000 deep; a memory snapshot is not");
  IMPORT_RESERVE (pickle->marks, pickle->cap_marks, pickle->n_marks + 1);
  pickle->marks[pickle->n_marks++] = pickle->n_stack;
  return TESSERA_OK;
}

/* The memo */

static TesseraStatus
put (TesseraPickle *pickle, uint64_t index)
{
  TesseraValue value;

  if (count_above_mark (pickle) == 0)
    return refuse (pickle, "there is nothing to remember");
  if (index >= pickle->n_memo)
    {
      if (index > 2 * (uint64_t) pickle->n_memo + MEMO_SLACK)
        return refuse (pickle, "it leaves out thousands of memo numbers");
      IMPORT_RESERVE (pickle->memo, pickle->cap_memo, (size_t) index + 1);
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
run_memoize (TesseraPickle *pickle, uint64_t argument)
{
  return put (pickle, pickle->n_memo);
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

void
tessera_pickle_become (TesseraPickle *pickle, TesseraValue value, TesseraValue becomes)
{
  const TesseraObject *object = &pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS];

  if (object->memo < pickle->n_memo && pickle->memo[object->memo] == value)
    pickle->memo[object->memo] = becomes;
  tessera_heap_become (&pickle->heap, value, becomes);
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
  tessera_pickle_become (pickle, *value, becomes);
  pickle->has_records = true;
  *value = becomes;
  return TESSERA_OK;
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
  tessera_heap_append (&pickle->heap, dict, pickle->stack + first,
                       pickle->n_stack - first);
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
  tessera_heap_append (&pickle->heap, list, pickle->stack + first,
                       pickle->n_stack - first);
  pickle->n_stack = first;
  return TESSERA_OK;
}

static TesseraStatus
push_object (TesseraPickle *pickle, uint64_t kind)
{
  return push (pickle, tessera_heap_new_object (&pickle->heap, (TesseraObjectKind) kind));
}

/* Replaces the values from @first on by one object that holds them. */
static TesseraStatus
gather (TesseraPickle *pickle, size_t first, TesseraObjectKind kind)
{
  TesseraValue value = tessera_heap_new_object (&pickle->heap, kind);

  tessera_heap_append (&pickle->heap, tessera_heap_object (&pickle->heap, value, kind),
                       pickle->stack + first, pickle->n_stack - first);
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
run_setitems (TesseraPickle *pickle, uint64_t argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (count_above_mark (pickle) < pickle->n_stack - first + 1)
    return refuse (pickle, "there is no dict to put keys into");
  return set_items (pickle, first, true);
}

static TesseraStatus
run_setitem (TesseraPickle *pickle, uint64_t argument)
{
  if (count_above_mark (pickle) < 3)
    return refuse (pickle, "there is no dict to put a key into");
  return set_items (pickle, pickle->n_stack - 2, false);
}

static TesseraStatus
run_appends (TesseraPickle *pickle, uint64_t argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  if (status != TESSERA_OK)
    return status;
  if (count_above_mark (pickle) < pickle->n_stack - first + 1)
    return refuse (pickle, "there is no list to append to");
  return append_items (pickle, first);
}

static TesseraStatus
run_append (TesseraPickle *pickle, uint64_t argument)
{
  if (count_above_mark (pickle) < 2)
    return refuse (pickle, "there is no list to append to");
  return append_items (pickle, pickle->n_stack - 1);
}

static TesseraStatus
run_dict (TesseraPickle *pickle, uint64_t argument)
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
run_list (TesseraPickle *pickle, uint64_t argument)
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
tuple_of (TesseraPickle *pickle, uint64_t n)
{
  TesseraValue *at;

  if (count_above_mark (pickle) < n)
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
run_tuple (TesseraPickle *pickle, uint64_t argument)
{
  size_t first;
  TesseraStatus status = take_mark (pickle, &first);

  return status == TESSERA_OK ? tuple_of (pickle, pickle->n_stack - first) : status;
}

/* Numbers, texts and constants */

static TesseraStatus
push_int (TesseraPickle *pickle, uint64_t number)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_INT, number));
}

static TesseraStatus
run_binint (TesseraPickle *pickle, uint64_t argument)
{
  return push_int (pickle, (uint64_t) (int32_t) argument);
}

static TesseraStatus
push_const (TesseraPickle *pickle, uint64_t constant)
{
  return push (pickle, tessera_value_make (TESSERA_VALUE_CONST, constant));
}

/* Two's complement of any length; what lies beyond 64 bits and a sign may only repeat that. */
static TesseraStatus
take_long (TesseraPickle *pickle, uint64_t n_bytes)
{
  TesseraStream *stream = pickle->stream;
  TesseraBig big = { 0 };
  uint8_t byte = 0;

  for (uint64_t i = 0; i < n_bytes; i++)
    {
      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      if (i > 8 && byte != *stream->at)
        return refuse (pickle, "a number beyond 64 bits; no memory snapshot holds one");
      byte = *stream->at++;
      if (i < 8)
        big.bits |= (uint64_t) byte << (8 * i);
      else if (byte != 0 && byte != 0xff)
        return refuse (pickle, "a number beyond 64 bits; no memory snapshot holds one");
    }
  big.is_negative = byte >= 0x80;
  if (big.is_negative && n_bytes < 8)
    big.bits |= UINT64_MAX << (8 * n_bytes);
  return push (pickle, tessera_heap_new_number (&pickle->heap, TESSERA_VALUE_BIG, big));
}

static TesseraStatus
run_long4 (TesseraPickle *pickle, uint64_t n_bytes)
{
  if (n_bytes > INT32_MAX)
    return refuse (pickle, "a number of negative length");
  return take_long (pickle, n_bytes);
}

/* Big-endian, unlike all others. */
static TesseraStatus
run_binfloat (TesseraPickle *pickle, uint64_t argument)
{
  const TesseraBig number = { .bits = GUINT64_SWAP_LE_BE (argument) };

  return push (pickle,
               tessera_heap_new_number (&pickle->heap, TESSERA_VALUE_FLOAT, number));
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
      IMPORT_RESERVE (pickle->text, pickle->cap_text, n + part);
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
  import_must (tessera_strings_intern (pickle->heap.texts, bytes, (size_t) n_bytes, &id));
  return push (pickle, tessera_value_make (TESSERA_VALUE_TEXT, id));
}

/* The machine */

static TesseraStatus
run_proto (TesseraPickle *pickle, uint64_t protocol)
{
  pickle->protocol = (uint8_t) protocol;
  if (protocol < 2 || protocol > 5)
    return refuse (pickle, "only pickle protocols 2 to 5 are known");
  return TESSERA_OK;
}

/* A hint for readers that want to slurp; the stream has its own window. */
static TesseraStatus
run_frame (TesseraPickle *pickle, uint64_t argument)
{
  return TESSERA_OK;
}

static TesseraStatus
run_stop (TesseraPickle *pickle, uint64_t argument)
{
  if (pickle->n_marks != 0 || pickle->n_stack != 1)
    return refuse (pickle, "the data is not finished");
  pickle->is_done = true;
  return TESSERA_OK;
}

static const Opcode opcodes[256] = {
  ['('] = { "MARK", PLAIN, run_mark, 0 },
  [')'] = { "EMPTY_TUPLE", PLAIN, tuple_of, 0, 0 },
  ['.'] = { "STOP", PLAIN, run_stop, 0 },
  ['0'] = { "POP", NOT_OURS },
  ['1'] = { "POP_MARK", NOT_OURS },
  ['2'] = { "DUP", NOT_OURS },
  ['B'] = { "BINBYTES", NOT_OURS },
  ['C'] = { "SHORT_BINBYTES", NOT_OURS },
  ['F'] = { "FLOAT", OLD },
  ['G'] = { "BINFLOAT", PLAIN, run_binfloat, 8 },
  ['I'] = { "INT", OLD },
  ['J'] = { "BININT", PLAIN, run_binint, 4 },
  ['K'] = { "BININT1", PLAIN, push_int, 1 },
  ['L'] = { "LONG", OLD },
  ['M'] = { "BININT2", PLAIN, push_int, 2 },
  ['N'] = { "NONE", PLAIN, push_const, 0, TESSERA_CONST_NONE },
  ['P'] = { "PERSID", OUTSIDE },
  ['Q'] = { "BINPERSID", OUTSIDE },
  ['R'] = { "REDUCE", BUILDS },
  ['S'] = { "STRING", OLD },
  ['T'] = { "BINSTRING", OLD },
  ['U'] = { "SHORT_BINSTRING", OLD },
  ['V'] = { "UNICODE", OLD },
  ['X'] = { "BINUNICODE", PLAIN, take_text, 4 },
  [']'] = { "EMPTY_LIST", PLAIN, push_object, 0, TESSERA_OBJECT_LIST },
  ['a'] = { "APPEND", PLAIN, run_append, 0 },
  ['b'] = { "BUILD", BUILDS },
  ['c'] = { "GLOBAL", BUILDS },
  ['d'] = { "DICT", PLAIN, run_dict, 0 },
  ['e'] = { "APPENDS", PLAIN, run_appends, 0 },
  ['g'] = { "GET", OLD },
  ['h'] = { "BINGET", PLAIN, get, 1 },
  ['i'] = { "INST", BUILDS },
  ['j'] = { "LONG_BINGET", PLAIN, get, 4 },
  ['l'] = { "LIST", PLAIN, run_list, 0 },
  ['o'] = { "OBJ", BUILDS },
  ['p'] = { "PUT", OLD },
  ['q'] = { "BINPUT", PLAIN, put, 1 },
  ['r'] = { "LONG_BINPUT", PLAIN, put, 4 },
  ['s'] = { "SETITEM", PLAIN, run_setitem, 0 },
  ['t'] = { "TUPLE", PLAIN, run_tuple, 0 },
  ['u'] = { "SETITEMS", PLAIN, run_setitems, 0 },
  ['}'] = { "EMPTY_DICT", PLAIN, push_object, 0, TESSERA_OBJECT_DICT },
  [0x80] = { "PROTO", PLAIN, run_proto, 1 },
  [0x81] = { "NEWOBJ", BUILDS },
  [0x82] = { "EXT1", BUILDS },
  [0x83] = { "EXT2", BUILDS },
  [0x84] = { "EXT4", BUILDS },
  [0x85] = { "TUPLE1", PLAIN, tuple_of, 0, 1 },
  [0x86] = { "TUPLE2", PLAIN, tuple_of, 0, 2 },
  [0x87] = { "TUPLE3", PLAIN, tuple_of, 0, 3 },
  [0x88] = { "NEWTRUE", PLAIN, push_const, 0, TESSERA_CONST_TRUE },
  [0x89] = { "NEWFALSE", PLAIN, push_const, 0, TESSERA_CONST_FALSE },
  [0x8a] = { "LONG1", PLAIN, take_long, 1 },
  [0x8b] = { "LONG4", PLAIN, run_long4, 4 },
  [0x8c] = { "SHORT_BINUNICODE", PLAIN, take_text, 1 },
  [0x8d] = { "BINUNICODE8", PLAIN, take_text, 8 },
  [0x8e] = { "BINBYTES8", NOT_OURS },
  [0x8f] = { "EMPTY_SET", NOT_OURS },
  [0x90] = { "ADDITEMS", NOT_OURS },
  [0x91] = { "FROZENSET", NOT_OURS },
  [0x92] = { "NEWOBJ_EX", BUILDS },
  [0x93] = { "STACK_GLOBAL", BUILDS },
  [0x94] = { "MEMOIZE", PLAIN, run_memoize, 0 },
  [0x95] = { "FRAME", PLAIN, run_frame, 8 },
  [0x96] = { "BYTEARRAY8", NOT_OURS },
  [0x97] = { "NEXT_BUFFER", OUTSIDE },
  [0x98] = { "READONLY_BUFFER", OUTSIDE },
};

static TesseraStatus
refuse_opcode (TesseraPickle *pickle, uint8_t byte)
{
  static const char *const reasons[] = {
    [PLAIN] = "it is out of place",
    [BUILDS] = "this file wants to build objects; a memory snapshot is plain data, "
               "so it is none and was not run",
    [OUTSIDE] = "this file refers to data outside itself; a memory snapshot does not",
    [OLD] = "this is the text form of protocols 0 and 1; write the snapshot with "
            "torch.cuda.memory._dump_snapshot",
    [NOT_OURS] = "no memory snapshot holds such data",
  };

  if (pickle->op_name != NULL)
    return refuse (pickle, reasons[opcodes[byte].kind]);
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT,
                       "%s: byte %" PRIu64
                       " is 0x%02x, which no pickle has: the file is damaged",
                       pickle->stream->name, pickle->op_at, byte);
}

TesseraStatus
tessera_pickle_refuse_top (TesseraPickle *pickle, const char *what)
{
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT,
                       "%s is a pickle of %s, not a memory snapshot: it needs "
                       "`device_traces` and `segments`, as "
                       "torch.cuda.memory._dump_snapshot writes them",
                       pickle->stream->name, what);
}

/* Whether the file may go on: it is a snapshot as far as one can see, and no more is held
 * than its bytes can stand for. */
static TesseraStatus
weigh (TesseraPickle *pickle)
{
  uint64_t held = tessera_heap_held (&pickle->heap) +
                  (pickle->n_stack + pickle->n_memo) * sizeof (TesseraValue);

  pickle->weigh_at = pickle->op_at + WEIGH_EACH_BYTES;
  if (pickle->dict_done != NULL && !pickle->has_records &&
      pickle->op_at >= TESSERA_PICKLE_FIRST_RECORD_BYTES)
    return tessera_pickle_refuse_top (pickle, "other things");
  if (held > TESSERA_PICKLE_FREE_BYTES &&
      (held - TESSERA_PICKLE_FREE_BYTES) / TESSERA_PICKLE_HELD_PER_BYTE > pickle->op_at)
    return refuse (
        pickle,
        "more lists, dicts and values at once than a snapshot of that length has");
  return TESSERA_OK;
}

/* Moves past the opcode at hand. */
static uint64_t
take_argument (TesseraStream *stream, const Opcode *opcode)
{
  uint64_t argument = opcode->n_argument_bytes > 0
                          ? little_endian (stream->at + 1, opcode->n_argument_bytes)
                          : opcode->argument;

  stream->at += 1 + opcode->n_argument_bytes;
  return argument;
}

TesseraStatus
tessera_pickle_read (TesseraPickle *pickle, TesseraValue *out_value)
{
  TesseraStream *stream = pickle->stream;

  while (!pickle->is_done)
    {
      const Opcode *opcode;
      uint8_t byte;
      TesseraStatus status;

      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      byte = *stream->at;
      opcode = &opcodes[byte];
      pickle->op_at = tessera_stream_position (stream);
      pickle->op_name = opcode->name;
      if (pickle->op_at >= pickle->weigh_at)
        {
          status = weigh (pickle);
          if (status != TESSERA_OK)
            return status;
        }
      if (opcode->run == NULL)
        return refuse_opcode (pickle, byte);
      if (!tessera_stream_has (stream, 1 + (size_t) opcode->n_argument_bytes))
        return tessera_stream_cut (stream, pickle->error);
      status = opcode->run (pickle, take_argument (stream, opcode));
      if (status != TESSERA_OK)
        return status;
    }
  *out_value = tessera_heap_resolve (&pickle->heap, pickle->stack[0]);
  return TESSERA_OK;
}

void
tessera_pickle_init (TesseraPickle *pickle, TesseraStream *stream, TesseraError *error)
{
  memset (pickle, 0, sizeof *pickle);
  pickle->stream = stream;
  pickle->error = error;
  tessera_heap_init (&pickle->heap);
  IMPORT_RESERVE (pickle->stack, pickle->cap_stack, 1);
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
