/*
 * The allocator's settings as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guest.h"

#include <glib.h>

static guint n_complaints;

static void
complain (const char *sentence)
{
  n_complaints++;
}

static TesseraSettings
parse (const char *text, guint n_expected)
{
  TesseraSettings settings;
  double fraction = 0;

  tessera_settings_default (&settings);
  n_complaints = 0;
  tessera_alloc_conf_parse (text, &settings, &fraction, complain);
  g_assert_cmpuint (n_complaints, ==, n_expected);
  return settings;
}

static void
test_numbers (void)
{
  TesseraSettings settings = parse ("max_split_size_mb:512, expandable_segments:True,"
                                    "garbage_collection_threshold:0.8,backend:native,"
                                    "max_non_split_rounding_mb:40",
                                    0);

  g_assert_cmpuint (settings.max_split_bytes, ==, 512 << 20);
  g_assert_cmpuint (settings.max_non_split_rounding_bytes, ==, 40 << 20);
  g_assert_true (settings.is_expandable);
  g_assert_cmpfloat (settings.garbage_collection_threshold, ==, 0.8);
}

static void
assert_divisions (const char *text, const guint32 *expected)
{
  TesseraSettings settings = parse (text, 0);

  for (int i = 0; i < 16; i++)
    g_assert_cmpuint (settings.roundup_divisions[i], ==, expected[i]);
}

static void
test_divisions (void)
{
  static const guint32 all[16] = { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 };
  /* As PyTorch reads it: the last key's own entry is overwritten. */
  static const guint32 list[16] = { 8, 0, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
  static const guint32 first[16] = { 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

  assert_divisions ("roundup_power2_divisions:4", all);
  assert_divisions ("roundup_power2_divisions:[1:8,4:2,64:4,>:1]", list);
  assert_divisions ("roundup_power2_divisions:[16:2]", first);
}

static void
test_refused (void)
{
  static const char *const texts[] = {
    "max_split_size_mb:20",
    "max_split_size_mb:-5",
    "max_split_size_mb",
    "no_such_key:1",
    "backend:cudaMallocAsync",
    "garbage_collection_threshold:1",
    "garbage_collection_threshold:nan",
    "expandable_segments:maybe",
    "roundup_power2_divisions:3",
    "roundup_power2_divisions:[1:8",
    "roundup_power2_divisions:[3:8]",
    "roundup_power2_divisions:[1:3]",
    "roundup_power2_divisions:[]",
    "roundup_power2_divisions:",
    "]",
  };
  TesseraSettings settings, usual;

  tessera_settings_default (&usual);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      settings = parse (texts[i], 1);
      g_assert_cmpmem (&settings, sizeof settings, &usual, sizeof usual);
    }
  parse ("", 0);
  parse (",,", 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/alloc-conf/numbers", test_numbers);
  g_test_add_func ("/alloc-conf/divisions", test_divisions);
  g_test_add_func ("/alloc-conf/refused", test_refused);
  return g_test_run ();
}
