/*
 * The opcodes of numbers, texts and constants.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle/pickle-internal.h"

#include <string.h>

#include "db/intern.h"

/* Of a long number that are looked at: 64 bits and a sign. */
#define LONG_BYTES 9

static TesseraStatus
push_int (TesseraPickle *pickle, int64_t number)
{
  return tessera_pickle_push (pickle,
                              tessera_value_make (TESSERA_VALUE_INT, (uint64_t) number));
}

TesseraStatus
tessera_run_binint1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, argument[0]);
}

TesseraStatus
tessera_run_binint2 (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, argument[0] | argument[1] << 8);
}

TesseraStatus
tessera_run_binint (TesseraPickle *pickle, const uint8_t *argument)
{
  return push_int (pickle, (int32_t) tessera_pickle_little_endian (argument, 4));
}

/* The first @n_bytes (at most LONG_BYTES) of a number, @is_huge: more follow that matter.
 */
static TesseraStatus
push_long (TesseraPickle *pickle, const uint8_t *bytes, size_t n_bytes, bool is_huge)
{
  TesseraBig big = { .is_negative = n_bytes > 0 && bytes[n_bytes - 1] >= 0x80,
                     .is_huge = is_huge };
  TesseraValue value;

  big.bits = tessera_pickle_little_endian (bytes, n_bytes < 8 ? n_bytes : 8);
  if (big.is_negative && n_bytes < 8)
    big.bits |= UINT64_MAX << (8 * n_bytes);
  if (n_bytes == LONG_BYTES && bytes[8] != (big.is_negative ? 0xff : 0))
    big.is_huge = true;
  if (tessera_heap_new_big (&pickle->heap, big, &value) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  return tessera_pickle_push (pickle, value);
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

TesseraStatus
tessera_run_long1 (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_long (pickle, argument[0]);
}

TesseraStatus
tessera_run_long4 (TesseraPickle *pickle, const uint8_t *argument)
{
  uint64_t n_bytes = tessera_pickle_little_endian (argument, 4);

  if (n_bytes > INT32_MAX)
    return tessera_pickle_refuse (pickle, "a number of negative length");
  return take_long (pickle, n_bytes);
}

TesseraStatus
tessera_run_binfloat (TesseraPickle *pickle, const uint8_t *argument)
{
  uint64_t bits = 0;
  double number;
  TesseraValue value;

  for (int i = 0; i < 8; i++)
    bits = bits << 8 | argument[i];
  memcpy (&number, &bits, sizeof number);
  if (tessera_heap_new_float (&pickle->heap, number, &value) != TESSERA_OK)
    return tessera_pickle_no_memory (pickle);
  return tessera_pickle_push (pickle, value);
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
        return tessera_pickle_no_memory (pickle);
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
    return tessera_pickle_refuse (
        pickle, "a text of more than 256 MiB; no memory snapshot holds one");
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
    return tessera_pickle_no_memory (pickle);
  return tessera_pickle_push (pickle, tessera_value_make (TESSERA_VALUE_TEXT, id));
}

TesseraStatus
tessera_run_short_binunicode (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, argument[0]);
}

TesseraStatus
tessera_run_binunicode (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, tessera_pickle_little_endian (argument, 4));
}

TesseraStatus
tessera_run_binunicode8 (TesseraPickle *pickle, const uint8_t *argument)
{
  return take_text (pickle, tessera_pickle_little_endian (argument, 8));
}

TesseraStatus
tessera_run_none (TesseraPickle *pickle, const uint8_t *argument)
{
  return tessera_pickle_push (
      pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_NONE));
}

TesseraStatus
tessera_run_newtrue (TesseraPickle *pickle, const uint8_t *argument)
{
  return tessera_pickle_push (
      pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_TRUE));
}

TesseraStatus
tessera_run_newfalse (TesseraPickle *pickle, const uint8_t *argument)
{
  return tessera_pickle_push (
      pickle, tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_FALSE));
}
