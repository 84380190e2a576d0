/*
 * What the texts of an edit may be, whether they are read or about to be written.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/texts.h"

#include <string.h>

#include "edits/names.h"

/* Longer texts are no names. */
#define MOST_BYTES 1024

const char *
edits_find_fault_of_text (const char *text)
{
  if (strlen (text) > MOST_BYTES)
    return "is longer than 1024 bytes";
  return edits_is_one_line (text) ? NULL : "is not one line of text";
}

/* Returns: the key, or NULL where all can be kept. */
static const char *
find_wrong_in_selector (const TesseraSelector *selector, const char **out_fault)
{
  const struct
  {
    const char *key, *text;
  } texts[] = { { "phase", selector->phase },
                { "died_phase", selector->died_phase },
                { "module", selector->module },
                { "source", selector->source },
                { "group", selector->group } };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (texts[i].text != NULL &&
        (*out_fault = edits_find_fault_of_text (texts[i].text)) != NULL)
      return texts[i].key;
  return NULL;
}

TesseraStatus
edits_check_texts (const TesseraEdit *edit, const char *where, TesseraError *error)
{
  const char *fault = NULL, *key = find_wrong_in_selector (&edit->what, &fault);

  if (key == NULL)
    key = find_wrong_in_selector (&edit->with, &fault);
  if (key == NULL && edit->group != NULL &&
      (fault = edits_find_fault_of_text (edit->group)) != NULL)
    key = "group";
  if (key == NULL)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_INVALID, "%s, \"%s\" %s", where, key, fault);
}

char *
edits_dup_label (const char *name)
{
  g_autofree char *valid = g_utf8_make_valid (name != NULL ? name : "", -1);
  GString *line;

  if (edits_find_fault_of_text (valid) == NULL)
    return g_steal_pointer (&valid);
  line = g_string_new (NULL);
  for (const char *at = valid; *at != '\0'; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);

      if (line->len + strlen ("\u2026") + 4 > MOST_BYTES)
        {
          g_string_append (line, "\u2026");
          break;
        }
      g_string_append_unichar (line, g_unichar_iscntrl (c) ? ' ' : c);
    }
  return g_string_free (line, FALSE);
}
