/*
 * Fuzz target: the pickle reader alone, with dicts of one key turned into records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle/pickle.h"
#include "tests/fuzz/fuzz.h"

static TesseraStatus
dict_done (void *user,
           TesseraPickle *pickle,
           const TesseraValue *pairs,
           size_t n_pairs,
           TesseraValue *out_value)
{
  uint32_t *n = user;

  if (n_pairs == 0)
    return TESSERA_OK;
  /* A list as first value is used up, as an entry does with its frames. */
  if (tessera_heap_object (&pickle->heap, pairs[1], TESSERA_OBJECT_LIST) != NULL)
    {
      TesseraStatus status =
          tessera_pickle_become (pickle, pairs[1], tessera_value_record (2, *n, 1));

      if (status != TESSERA_OK)
        return status;
    }
  *out_value = tessera_value_record (1, (*n)++, 1);
  return TESSERA_OK;
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraError error = { 0 };
  TesseraStream *stream;
  TesseraPickle pickle;
  TesseraValue top;
  uint32_t n_records = 0;

  if (tessera_stream_open_memory (bytes, n_bytes, &stream) != TESSERA_OK)
    return 0;
  if (tessera_pickle_init (&pickle, stream, &error) == TESSERA_OK)
    {
      pickle.dict_done = dict_done;
      pickle.user = &n_records;
      fuzz_check (tessera_pickle_read (&pickle, &top), &error);
    }
  tessera_pickle_clear (&pickle);
  tessera_stream_close (stream);
  return 0;
}
