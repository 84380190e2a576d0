/*
 * Tests of sizes as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "db/size-text.h"

static void
test_parse (void)
{
  static const struct
  {
    const char *text;
    guint64 bytes;
  } cases[] = {
    { "0", 0 },
    { "512", 512 },
    { " 512 bytes ", 512 },
    { "7 b", 7 },
    { "24GB", G_GUINT64_CONSTANT (24000000000) },
    { "24 gb", G_GUINT64_CONSTANT (24000000000) },
    { "24GiB", G_GUINT64_CONSTANT (24) << 30 },
    { "24\tgib\n", G_GUINT64_CONSTANT (24) << 30 },
    { "24G", G_GUINT64_CONSTANT (24) << 30 },
    { "1KB", 1000 },
    { "1.5k", 1536 },
    { ".5 KiB", 512 },
    { "3.MiB", 3 << 20 },
    { "0.29 GB", 290000000 },
    { "0.1GiB", 107374182 },
    { "2 tib", G_GUINT64_CONSTANT (2) << 40 },
    { "2TB", G_GUINT64_CONSTANT (2000000000000) },
    { "1PiB", G_GUINT64_CONSTANT (1) << 50 },
    { "7EiB", G_GUINT64_CONSTANT (7) << 60 },
    { "9223372036854775807", G_MAXINT64 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      uint64_t bytes = 1;

      if (!tessera_parse_bytes (cases[i].text, &bytes))
        g_error ("\"%s\" is no size", cases[i].text);
      g_assert_cmpuint (bytes, ==, cases[i].bytes);
    }
}

static void
test_refuse (void)
{
  static const char *const texts[] = {
    "",
    " ",
    "-1",
    "+1",
    "GiB",
    ".",
    ". GiB",
    "much",
    "1 MiX",
    "1 MiBs",
    "1 byt",
    "1e3",
    "0x10",
    "nan",
    "inf",
    "1,5 GiB",
    "1 2GiB",
    "1 G i B",
    "1 iB",
    "1KiB7",
    "8EiB",
    "9.3EB",
    "9223372036854775808",
    "99999999999999999999",
    "9000000000000TiB",
    "\xff",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      uint64_t bytes = 17;

      if (tessera_parse_bytes (texts[i], &bytes))
        g_error ("\"%s\" was taken for %" G_GUINT64_FORMAT, texts[i], bytes);
      g_assert_cmpuint (bytes, ==, 17);
    }
}

static void
test_format (void)
{
  static const struct
  {
    guint64 bytes;
    const char *text;
  } cases[] = {
    { 0, "0 B" },
    { 1023, "1023 B" },
    { 1024, "1.00 KiB" },
    { (1 << 20) - 1, "1.00 MiB" },
    { 1536 << 10, "1.50 MiB" },
    { G_GUINT64_CONSTANT (24000000000), "22.35 GiB" },
    { G_MAXUINT64, "16.00 EiB" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpstr (TESSERA_SIZE (cases[i].bytes), ==, cases[i].text);
}

/* What is written is read again, to the two decimals that are there. */
static void
test_format_parses (void)
{
  for (guint64 bytes = 1; bytes < G_GUINT64_CONSTANT (7) << 60; bytes += bytes / 3 + 1)
    {
      uint64_t read = 0;

      g_assert_true (tessera_parse_bytes (TESSERA_SIZE (bytes), &read));
      g_assert_cmpfloat_with_epsilon ((double) read / (double) bytes, 1.0, 0.005);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/size-text/parse", test_parse);
  g_test_add_func ("/size-text/refuse", test_refuse);
  g_test_add_func ("/size-text/format", test_format);
  g_test_add_func ("/size-text/format parses", test_format_parses);
  return g_test_run ();
}
