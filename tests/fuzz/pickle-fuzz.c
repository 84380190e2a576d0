/*
 * Fuzz target: the pickle reader alone, with dicts of one key turned into records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"
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
    tessera_pickle_become (pickle, pairs[1], tessera_value_record (2, *n, 1));
  *out_value = tessera_value_record (1, (*n)++, 1);
  return TESSERA_OK;
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraError error = { 0 };
  TesseraStream *stream = test_stream (bytes, n_bytes);
  TesseraPickle pickle;
  TesseraValue top;
  uint32_t n_records = 0;

  tessera_pickle_init (&pickle, stream, &error);
  pickle.dict_done = dict_done;
  pickle.user = &n_records;
  fuzz_check (tessera_pickle_read (&pickle, &top), &error);
  tessera_pickle_clear (&pickle);
  tessera_stream_close (stream);
  return 0;
}
