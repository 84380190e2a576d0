/*
 * Fuzz target: texts that a program's user gives libtessera. The first line is the
 * allocator's settings, the rest a pattern of a path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "runtime/guest.h"
#include "tests/fuzz/fuzz.h"

enum
{
  MOST_TEXT_BYTES = 4096,
  SHORT_PATH_BYTES = 64,
  N_INTERVALS = sizeof ((TesseraSettings *) NULL)->roundup_divisions / sizeof (uint32_t)
};

static void
check_complaint (const char *sentence)
{
  g_assert_true (*sentence != '\0' && strchr (sentence, '\n') == NULL);
}

/* What is obeyed is within what the simulator and the allocator take. */
static void
check_settings (const char *text)
{
  TesseraSettings settings;
  double fraction = 0;

  tessera_settings_default (&settings);
  tessera_alloc_conf_parse (text, &settings, &fraction, check_complaint);
  g_assert_true (fraction >= 0 && fraction <= 1);
  g_assert_true (settings.garbage_collection_threshold >= 0 &&
                 settings.garbage_collection_threshold < 1);
  g_assert_true (settings.large_segment_bytes > 0 && settings.max_split_bytes > 0);
  for (size_t i = 0; i < N_INTERVALS; i++)
    g_assert_true (
        (settings.roundup_divisions[i] & (settings.roundup_divisions[i] - 1)) == 0);
}

/* What fits a short buffer is the same in a long one. */
static void
check_pattern (const char *pattern)
{
  const TesseraOptions options = { .rank = 3 };
  char long_path[2 * MOST_TEXT_BYTES], short_path[SHORT_PATH_BYTES];

  if (!tessera_options_expand (&options, pattern, short_path, sizeof short_path))
    return;
  g_assert_true (strlen (short_path) < sizeof short_path);
  g_assert_true (tessera_options_expand (&options, pattern, long_path, sizeof long_path));
  g_assert_true (strcmp (short_path, long_path) == 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  char text[MOST_TEXT_BYTES + 1];
  size_t n_text_bytes = n_bytes < MOST_TEXT_BYTES ? n_bytes : MOST_TEXT_BYTES;

  if (n_text_bytes > 0)
    memcpy (text, bytes, n_text_bytes);
  text[n_text_bytes] = '\0';
  char *rest = text;
  check_settings (strsep (&rest, "\n"));
  if (rest != NULL)
    check_pattern (rest);
  return 0;
}
