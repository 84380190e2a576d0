/*
 * How wide a text is, without laying it out. See text-widths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/text-widths.h"

#include <glib.h>
#include <string.h>

/* Of a line, what kerning may take. */
#define KERNING 0.02
#define N_ASCII 128
/* Zero-width space and word joiner: marks in names (viewer/window/ui.h). */
#define MAY_BREAK 0x200b
#define NO_BREAK 0x2060

struct TesseraTextWidths
{
  PangoLayout *layout; /* that characters are measured with */
  PangoFontDescription *font;
  double resolution;
  int char_width, height; /* Pango's units; pixels */
  int ascii[N_ASCII];     /* Pango's units; 0: not measured yet */
  GHashTable *others;     /* by character; the width + 1 */
};

TesseraTextWidths *
tessera_text_widths_new (PangoContext *context, PangoAttrList *attributes)
{
  TesseraTextWidths *self = g_new0 (TesseraTextWidths, 1);
  PangoFontMetrics *metrics = pango_context_get_metrics (context, NULL, NULL);

  self->layout = pango_layout_new (context);
  pango_layout_set_attributes (self->layout, attributes);
  self->font = pango_font_description_copy (pango_context_get_font_description (context));
  self->char_width = MAX (pango_font_metrics_get_approximate_char_width (metrics),
                          pango_font_metrics_get_approximate_digit_width (metrics));
  self->others = g_hash_table_new (NULL, NULL);
  pango_font_metrics_unref (metrics);
  pango_layout_set_text (self->layout, "Ag", -1);
  pango_layout_get_pixel_size (self->layout, NULL, &self->height);
  return self;
}

void
tessera_text_widths_free (TesseraTextWidths *self)
{
  if (self == NULL)
    return;
  g_object_unref (self->layout);
  pango_font_description_free (self->font);
  g_hash_table_unref (self->others);
  g_free (self);
}

gboolean
tessera_text_widths_suits (const TesseraTextWidths *self, PangoContext *context)
{
  return pango_layout_get_context (self->layout) == context &&
         pango_font_description_equal (self->font,
                                       pango_context_get_font_description (context));
}

static int
measure (TesseraTextWidths *self, gunichar c)
{
  char text[8];
  int width;

  pango_layout_set_text (self->layout, text, g_unichar_to_utf8 (c, text));
  pango_layout_get_size (self->layout, &width, NULL);
  return width;
}

static int
width_of (TesseraTextWidths *self, gunichar c)
{
  int width;

  if (c == MAY_BREAK || c == NO_BREAK)
    return 0;
  if (c < N_ASCII)
    {
      if (self->ascii[c] == 0)
        self->ascii[c] = measure (self, c);
      return self->ascii[c];
    }
  width = GPOINTER_TO_INT (g_hash_table_lookup (self->others, GUINT_TO_POINTER (c)));
  if (width == 0)
    {
      width = measure (self, c) + 1;
      g_hash_table_insert (self->others, GUINT_TO_POINTER (c), GINT_TO_POINTER (width));
    }
  return width - 1;
}

int
tessera_text_widths_of (TesseraTextWidths *self, const char *text)
{
  int width = 0;

  for (; *text != '\0'; text = g_utf8_next_char (text))
    width += width_of (self, g_utf8_get_char (text));
  return PANGO_PIXELS_CEIL (width);
}

int
tessera_text_widths_of_chars (const TesseraTextWidths *self, int n_chars)
{
  return PANGO_PIXELS_CEIL (self->char_width * n_chars);
}

int
tessera_text_widths_height (const TesseraTextWidths *self)
{
  return self->height;
}

/* Where the next word begins. Of the blanks at its end the last may hang over. */
static const char *
measure_word (TesseraTextWidths *self, const char *text, int *out_word, int *out_blank)
{
  *out_word = *out_blank = 0;
  while (*text != '\0')
    {
      gunichar c = g_utf8_get_char (text);

      if (c == ' ')
        {
          *out_word += *out_blank;
          *out_blank = width_of (self, c);
        }
      else if (*out_blank > 0)
        break;
      else
        *out_word += width_of (self, c);
      text = g_utf8_next_char (text);
      if (c == MAY_BREAK && *text != ' ')
        break;
    }
  return text;
}

/* Inside of a word that is longer than a line: one line more than it seems to take, since
 * Pango may find a place in it to break at sooner. Returns: lines that it fills before
 * the last; *out_x: what it takes of that. */
static int
break_word (
    TesseraTextWidths *self, const char *word, const char *end, int most, int *out_x)
{
  int n_lines = 1;

  *out_x = 0;
  for (; word < end; word = g_utf8_next_char (word))
    {
      int width = width_of (self, g_utf8_get_char (word));

      if (*out_x > 0 && *out_x + width > most)
        {
          n_lines++;
          *out_x = 0;
        }
      *out_x += width;
    }
  return n_lines;
}

int
tessera_text_widths_count_lines (TesseraTextWidths *self,
                                 const char *text,
                                 int width_pixels)
{
  int most = MAX ((int) (width_pixels * PANGO_SCALE * (1 - KERNING)), 1);
  int n_lines = 1, x = 0;

  while (*text != '\0')
    {
      int width, blank;
      const char *word = text;

      text = measure_word (self, text, &width, &blank);
      if (x > 0 && x + width > most)
        {
          n_lines++;
          x = 0;
        }
      if (width > most)
        n_lines += break_word (self, word, text, most, &width);
      x += width + blank;
    }
  return n_lines;
}
