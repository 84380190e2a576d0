/*
 * Fuzz target: what people write about edits. A text that begins with a bracket is a list
 * of edits in JSON, any other a query.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"
#include "tests/fuzz/fuzz.h"

/* What is read is written so that it reads the same. */
static void
check_json (const char *text, gssize length)
{
  TesseraError error = { 0 };
  g_autoptr (TesseraHistory) history =
      tessera_history_from_json (text, length, "it", &error);

  fuzz_check (history != NULL ? TESSERA_OK : error.status, &error);
  if (history != NULL)
    {
      g_autofree char *written = tessera_history_to_json (history);
      g_autoptr (TesseraHistory) again =
          tessera_history_from_json (written, -1, "it", &error);
      g_autofree char *rewritten = again != NULL ? tessera_history_to_json (again) : NULL;

      g_assert_true (g_strcmp0 (written, rewritten) == 0);
    }
}

static void
check_query (const char *text)
{
  TesseraSelector selector, again;
  char *error = NULL;

  if (!tessera_query_parse (text, &selector, &error))
    {
      g_assert_true (error != NULL && *error != '\0');
      g_free (error);
      return;
    }
  g_assert_true (error == NULL);
  if (selector.blocks == NULL)
    {
      g_autofree char *written = tessera_query_format (&selector), *rewritten = NULL;

      g_assert_true (tessera_query_parse (written, &again, &error));
      rewritten = tessera_query_format (&again);
      g_assert_true (strcmp (written, rewritten) == 0);
      tessera_selector_clear (&again);
    }
  tessera_selector_clear (&selector);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  g_autofree char *text = g_strndup ((const char *) bytes, n_bytes);

  if (*text == '[')
    check_json ((const char *) bytes, (gssize) n_bytes);
  else
    check_query (text);
  return 0;
}
