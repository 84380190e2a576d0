/*
 * A reader of pickles that hold plain data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle/pickle-internal.h"

#include <inttypes.h>
#include <string.h>

#include "recorder/import/pickle/opcode.h"

/* A writer numbers its memo entries one after the other; optimisers leave some out. */
#define MEMO_SLACK 4096
#define WEIGH_EACH_BYTES 65536

typedef TesseraStatus (*Run) (TesseraPickle *pickle, const uint8_t *argument);

typedef struct
{
  Run run;
  uint8_t n_argument_bytes;
  bool makes; /* or fills a text, list, dict or tuple */
} Step;

#define FRAME 0x95
#define MAKES true

static const Step steps[256];

TesseraStatus
tessera_pickle_refuse (TesseraPickle *pickle, const char *what)
{
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT, "%s: %s at byte %" PRIu64 ": %s",
                       pickle->stream->name, pickle->op_name, pickle->op_at, what);
}

TesseraStatus
tessera_pickle_no_memory (TesseraPickle *pickle)
{
  return tessera_fail (pickle->error, TESSERA_NO_MEMORY,
                       "no memory left to read %s, at byte %" PRIu64,
                       pickle->stream->name, pickle->op_at);
}

static TesseraStatus
run_mark (TesseraPickle *pickle, const uint8_t *argument)
{
  if (pickle->n_marks >= TESSERA_PICKLE_MAX_NESTING)
    return tessera_pickle_refuse (
        pickle, "nested more than 10000 deep; a memory snapshot is not");
  if (!TESSERA_RESERVE (pickle->marks, pickle->cap_marks, pickle->n_marks + 1))
    return tessera_pickle_no_memory (pickle);
  pickle->marks[pickle->n_marks++] = pickle->n_stack;
  return TESSERA_OK;
}

/* The memo */

static TesseraStatus
put (TesseraPickle *pickle, uint64_t index)
{
  TesseraValue value;

  if (tessera_pickle_above_mark (pickle) == 0)
    return tessera_pickle_refuse (pickle, "there is nothing to remember");
  if (!steps[pickle->op_before].makes)
    return tessera_pickle_refuse (
        pickle, "it remembers no new text, list or dict; no writer of snapshots does so");
  if (index >= pickle->n_memo)
    {
      if (index > 2 * (uint64_t) pickle->n_memo + MEMO_SLACK)
        return tessera_pickle_refuse (pickle, "it leaves out thousands of memo numbers");
      if (!TESSERA_RESERVE (pickle->memo, pickle->cap_memo, (size_t) index + 1))
        return tessera_pickle_no_memory (pickle);
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
  return put (pickle, tessera_pickle_little_endian (argument, 4));
}

static TesseraStatus
get (TesseraPickle *pickle, uint64_t index)
{
  TesseraValue value;

  if (index >= pickle->n_memo)
    return tessera_pickle_refuse (pickle,
                                  "it refers to a memo entry that was never written");
  value = tessera_heap_resolve (&pickle->heap, pickle->memo[index]);
  if (value == tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_UNSET))
    return tessera_pickle_refuse (pickle,
                                  "it refers to a memo entry that was never written");
  if (tessera_value_kind (value) == TESSERA_VALUE_OBJECT)
    pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS].is_shared = true;
  return tessera_pickle_push (pickle, value);
}

static TesseraStatus
run_binget (TesseraPickle *pickle, const uint8_t *argument)
{
  return get (pickle, argument[0]);
}

static TesseraStatus
run_long_binget (TesseraPickle *pickle, const uint8_t *argument)
{
  return get (pickle, tessera_pickle_little_endian (argument, 4));
}

TesseraStatus
tessera_pickle_become (TesseraPickle *pickle, TesseraValue value, TesseraValue becomes)
{
  const TesseraObject *object = &pickle->heap.objects[value >> TESSERA_VALUE_TAG_BITS];

  if (object->memo < pickle->n_memo && pickle->memo[object->memo] == value)
    pickle->memo[object->memo] = becomes;
  if (tessera_heap_become (&pickle->heap, value, becomes) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  return TESSERA_OK;
}

/* The machine */

static TesseraStatus
run_proto (TesseraPickle *pickle, const uint8_t *argument)
{
  pickle->protocol = argument[0];
  if (argument[0] < 2 || argument[0] > 5)
    return tessera_pickle_refuse (pickle, "only pickle protocols 2 to 5 are known");
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
    return tessera_pickle_refuse (pickle, "the data is not finished");
  pickle->is_done = true;
  return TESSERA_OK;
}

static const Step steps[256] = {
  ['('] = { run_mark, 0 },
  [')'] = { tessera_run_empty_tuple, 0, MAKES },
  ['.'] = { run_stop, 0 },
  ['G'] = { tessera_run_binfloat, 8 },
  ['J'] = { tessera_run_binint, 4 },
  ['K'] = { tessera_run_binint1, 1 },
  ['M'] = { tessera_run_binint2, 2 },
  ['N'] = { tessera_run_none, 0 },
  ['X'] = { tessera_run_binunicode, 4, MAKES },
  [']'] = { tessera_run_empty_list, 0, MAKES },
  ['a'] = { tessera_run_append, 0, MAKES },
  ['d'] = { tessera_run_dict, 0, MAKES },
  ['e'] = { tessera_run_appends, 0, MAKES },
  ['h'] = { run_binget, 1 },
  ['j'] = { run_long_binget, 4 },
  ['l'] = { tessera_run_list, 0, MAKES },
  ['q'] = { run_binput, 1 },
  ['r'] = { run_long_binput, 4 },
  ['s'] = { tessera_run_setitem, 0, MAKES },
  ['t'] = { tessera_run_tuple, 0, MAKES },
  ['u'] = { tessera_run_setitems, 0, MAKES },
  ['}'] = { tessera_run_empty_dict, 0, MAKES },
  [0x80] = { run_proto, 1 },
  [0x85] = { tessera_run_tuple1, 0, MAKES },
  [0x86] = { tessera_run_tuple2, 0, MAKES },
  [0x87] = { tessera_run_tuple3, 0, MAKES },
  [0x88] = { tessera_run_newtrue, 0 },
  [0x89] = { tessera_run_newfalse, 0 },
  [0x8a] = { tessera_run_long1, 1 },
  [0x8b] = { tessera_run_long4, 4 },
  [0x8c] = { tessera_run_short_binunicode, 1, MAKES },
  [0x8d] = { tessera_run_binunicode8, 8, MAKES },
  [0x94] = { run_memoize, 0 },
  [FRAME] = { run_frame, 8 },
};

static TesseraStatus
refuse_opcode (TesseraPickle *pickle, uint8_t opcode)
{
  if (pickle->op_name != NULL)
    return tessera_pickle_refuse (pickle, tessera_opcode_reason (opcode));
  return tessera_fail (pickle->error, TESSERA_BAD_INPUT,
                       "%s: byte %" PRIu64
                       " is 0x%02x, which no pickle has: the file is damaged",
                       pickle->stream->name, pickle->op_at, opcode);
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

/* What it is a pickle of, where the first thing in it can't be a snapshot's; NULL: it can,
 * or is not there yet. A snapshot is a dict with texts as keys, or a list of dicts. */
static const char *
find_first_wrong (TesseraPickle *pickle)
{
  const TesseraHeap *heap = &pickle->heap;
  bool is_open = pickle->n_marks > 0 && pickle->marks[0] == 0; /* MARK ... DICT or LIST */
  TesseraValue top, first;
  bool is_text;

  if (pickle->n_stack == 0)
    return NULL;
  top = tessera_heap_resolve (heap, pickle->stack[0]);
  is_text = tessera_value_kind (top) == TESSERA_VALUE_TEXT;
  if (!is_open && tessera_value_kind (top) != TESSERA_VALUE_OBJECT)
    /* Two texts may name what the next opcode wants to build. */
    return is_text && pickle->n_stack < 3 ? NULL : tessera_heap_describe (heap, top);
  if (!is_open && pickle->n_stack < 2)
    return NULL;
  pickle->is_judged = true;
  first = is_open ? top : tessera_heap_resolve (heap, pickle->stack[1]);
  if (!is_open && tessera_heap_object (&pickle->heap, top, TESSERA_OBJECT_DICT) != NULL)
    return tessera_value_kind (first) == TESSERA_VALUE_TEXT ? NULL : "another dict";
  return (is_open && is_text) || tessera_value_kind (first) == TESSERA_VALUE_RECORD ||
                 tessera_heap_object (&pickle->heap, first, TESSERA_OBJECT_DICT) != NULL
             ? NULL
             : "a list of other things";
}

/* Whether the file may go on: it is a snapshot as far as one can see, and no more is held
 * than its bytes can stand for. */
static TesseraStatus
weigh (TesseraPickle *pickle)
{
  uint64_t held = tessera_heap_held (&pickle->heap) +
                  (pickle->n_stack + pickle->n_memo) * sizeof (TesseraValue);

  if (pickle->dict_done != NULL && !pickle->is_judged)
    {
      const char *wrong = find_first_wrong (pickle);

      return wrong == NULL ? TESSERA_OK : tessera_pickle_refuse_top (pickle, wrong);
    }
  pickle->weigh_at = pickle->op_at + WEIGH_EACH_BYTES;
  if (pickle->dict_done != NULL && !pickle->has_records &&
      pickle->op_at >= TESSERA_PICKLE_FIRST_RECORD_BYTES)
    return tessera_pickle_refuse_top (pickle, "other things");
  if (held > TESSERA_PICKLE_FREE_BYTES &&
      (held - TESSERA_PICKLE_FREE_BYTES) / TESSERA_PICKLE_HELD_PER_BYTE > pickle->op_at)
    return tessera_pickle_refuse (
        pickle,
        "more lists, dicts and values at once than a snapshot of that length has");
  return TESSERA_OK;
}

TesseraStatus
tessera_pickle_read (TesseraPickle *pickle, TesseraValue *out_value)
{
  TesseraStream *stream = pickle->stream;

  while (!pickle->is_done)
    {
      const Step *step;
      const uint8_t *at;
      uint8_t opcode;
      TesseraStatus status;

      if (!tessera_stream_has (stream, 1))
        return tessera_stream_cut (stream, pickle->error);
      opcode = *stream->at;
      step = &steps[opcode];
      pickle->op_at = tessera_stream_position (stream);
      pickle->op_name = tessera_opcode_name (opcode);
      if (pickle->op_at >= pickle->weigh_at)
        {
          status = weigh (pickle);
          if (status != TESSERA_OK)
            return status;
        }
      if (step->run == NULL)
        return refuse_opcode (pickle, opcode);
      if (!tessera_stream_has (stream, 1 + (size_t) step->n_argument_bytes))
        return tessera_stream_cut (stream, pickle->error);
      at = stream->at + 1;
      stream->at += 1 + step->n_argument_bytes;
      status = step->run (pickle, at);
      if (status != TESSERA_OK)
        return status;
      if (opcode != FRAME)
        pickle->op_before = opcode;
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
    return tessera_pickle_no_memory (pickle);
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
