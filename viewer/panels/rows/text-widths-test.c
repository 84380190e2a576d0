/*
 * Texts that are added up against texts that are laid out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/text-widths.h"

#include "viewer/test-help.h"
#include "viewer/window/ui.h"

#include <pango/pangocairo.h>
#include <string.h>

typedef struct
{
  PangoContext *context;
  PangoLayout *layout;
  TesseraTextWidths *widths;
} Fixture;

static void
set_up (Fixture *f, gconstpointer font)
{
  g_autoptr (PangoFontDescription) description =
      pango_font_description_from_string (font);

  f->context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  pango_context_set_font_description (f->context, description);
  pango_context_set_round_glyph_positions (f->context, FALSE);
  f->layout = pango_layout_new (f->context);
  pango_layout_set_wrap (f->layout, PANGO_WRAP_WORD_CHAR);
  f->widths = tessera_text_widths_new (f->context, NULL);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  tessera_text_widths_free (f->widths);
  g_object_unref (f->layout);
  g_object_unref (f->context);
}

/* Names as people and planners give them. */
static char *
random_name (GRand *random)
{
  static const char *const parts[] = { "forward",
                                       " 2 -> backward",
                                       "#AdamW.step",
                                       ", step 3",
                                       "Optimizer",
                                       "train_step",
                                       "model.layers.7",
                                       " (48)",
                                       "_mlp",
                                       "48 x 32.00 MiB",
                                       "/",
                                       "Übergang",
                                       " · ",
                                       "→ after",
                                       "AVAVAVAVAV",
                                       ".py:54",
                                       "  ",
                                       "ijlijlijl",
                                       "WWWW",
                                       "12,345" };
  GString *name = g_string_new (NULL);
  int n = g_rand_int_range (random, 1, 12);

  for (int i = 0; i < n; i++)
    g_string_append (name, parts[g_rand_int_range (random, 0, G_N_ELEMENTS (parts))]);
  return g_string_free (name, FALSE);
}

/* More lines than this nobody has room for. */
#define MOST_LINES 4

/* Hardly ever a line too few, which would cut the text, or two too many. */
static void
test_lines (Fixture *f, gconstpointer unused)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  int n_generous = 0, n_cut = 0;

  g_test_message ("seed %u", seed);
  for (int i = 0; i < 3000; i++)
    {
      g_autofree char *name = random_name (random);
      g_autofree char *marked = tessera_mark_breaks (name);
      int width = g_rand_int_range (random, 40, 400), n_lines, counted;

      pango_layout_set_text (f->layout, marked, -1);
      pango_layout_set_width (f->layout, width * PANGO_SCALE);
      n_lines = MIN (pango_layout_get_line_count (f->layout), MOST_LINES);
      counted = tessera_text_widths_count_lines (f->widths, marked, width);
      n_cut += counted < n_lines;
      n_generous += MIN (counted, MOST_LINES) > n_lines + 1;
    }
  g_assert_cmpint (n_cut, <, 9);
  g_assert_cmpint (n_generous, <, 60);
}

static void
test_width (Fixture *f, gconstpointer unused)
{
  static const char *const texts[] = { "0", "1,023.99 MiB", "0x7f0175400000",
                                       "–", "100.0 %",      "4,038 events, 45.41 ms" };

  for (size_t i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      int width, counted = tessera_text_widths_of (f->widths, texts[i]);

      pango_layout_set_width (f->layout, -1);
      pango_layout_set_text (f->layout, texts[i], -1);
      pango_layout_get_pixel_size (f->layout, &width, NULL);
      g_assert_cmpint (counted, >=, width - 1);
      g_assert_cmpint (counted, <=, width + 2 + width / 50);
    }
  g_assert_cmpint (tessera_text_widths_count_lines (f->widths, "", 10), ==, 1);
  g_assert_cmpint (tessera_text_widths_count_lines (f->widths, "a", 0), >=, 1);
  g_assert_cmpint (tessera_text_widths_height (f->widths), >, 5);
}

int
main (int argc, char **argv)
{
  static const char *const fonts[] = { "Sans 9", "Serif 13", "Monospace 8.5" };

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (fonts); i++)
    {
      g_autofree char *lines = g_strdup_printf ("/text-widths/lines/%s", fonts[i]);
      g_autofree char *width = g_strdup_printf ("/text-widths/width/%s", fonts[i]);

      g_test_add (lines, Fixture, fonts[i], set_up, test_lines, tear_down);
      g_test_add (width, Fixture, fonts[i], set_up, test_width, tear_down);
    }
  return g_test_run ();
}
