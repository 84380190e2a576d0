/*
 * What an importer found odd, as rows of the trace's meta that a person can read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/snapshot.h"

#include <inttypes.h>
#include <stdio.h>

TesseraStatus
tessera_note (TesseraTrace *trace, const char *key, uint64_t n, const char *text)
{
  char name[64], value[256];

  if (n == 0)
    return TESSERA_OK;
  snprintf (name, sizeof name, "note.%s", key);
  snprintf (value, sizeof value, "%" PRIu64 " %s", n, text);
  return tessera_trace_set_meta (trace, name, value);
}
