/*
 * Texts of JSON: one edit's rule, or a list of edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "edits/json.h"

/* An array of objects of objects of arrays, and some. */
#define MOST_LEVELS 8

/* Whether the text is JSON by its letters (the parser takes comments and assignments as
 * well) and nested no deeper than edits are. */
static gboolean
is_plain (const char *text, gsize n_bytes)
{
  gboolean in_text = FALSE;
  guint levels = 0;

  for (gsize i = 0; i < n_bytes; i++)
    {
      char c = text[i];

      if (in_text && c == '\\')
        i++;
      else if (c == '"')
        in_text = !in_text;
      else if (in_text)
        continue;
      else if ((c == '[' || c == '{') && ++levels > MOST_LEVELS)
        return FALSE;
      else if ((c == ']' || c == '}') && levels-- == 0)
        return FALSE;
      else if (c == '\0' || strchr ("[]{}:,+-.\"\t\r\n ", c) == NULL)
        if (!g_ascii_isdigit (c) && !g_ascii_isalpha (c))
          return FALSE;
    }
  return TRUE;
}

/* Texts of numbers beyond what JSON readers of other people take (2^53) are read as they
 * are; nesting beyond what edits need is refused before it costs stack. NULL: failed. */
static JsonNode *
parse (const char *text, gssize length, const char *where, TesseraError *error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) failure = NULL;
  gsize n_bytes = length < 0 ? strlen (text) : (gsize) length;
  JsonNode *root = NULL;

  if (!g_utf8_validate (text, (gssize) n_bytes, NULL) || !is_plain (text, n_bytes))
    tessera_fail (error, TESSERA_BAD_INPUT,
                  "%s is not a list of edits in JSON, as tessera edits export writes it",
                  where);
  else if (!json_parser_load_from_data (parser, text, (gssize) n_bytes, &failure))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not JSON: %s", where,
                  failure->message);
  else if ((root = json_parser_steal_root (parser)) == NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is empty, not a list of edits in JSON",
                  where);
  return root;
}

TesseraStatus
edits_json_read_row (const char *rule,
                     const char *where,
                     TesseraEdit *edit,
                     TesseraError *error)
{
  g_autoptr (JsonNode) node = parse (rule, -1, where, error);

  return node != NULL ? edits_json_read (node, TRUE, where, edit, error)
                      : TESSERA_BAD_INPUT;
}

TesseraHistory *
tessera_history_from_json (const char *text,
                           gssize length,
                           const char *name,
                           TesseraError *error)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();
  g_autoptr (JsonNode) root = parse (text, length, name, error);
  gsize n_standing = 0;
  JsonArray *array;

  if (root == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_ARRAY (root))
    {
      tessera_fail (error, TESSERA_BAD_INPUT, "%s is not an array of edits", name);
      return NULL;
    }
  array = json_node_get_array (root);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *where = g_strdup_printf ("%s: edit %u", name, i + 1);
      TesseraEdit edit;
      gboolean is_undone;

      if (edits_json_read (json_array_get_element (array, i), FALSE, where, &edit,
                           error) != TESSERA_OK)
        return NULL;
      is_undone = edit.is_undone;
      tessera_history_add (history, &edit);
      if (!is_undone && n_standing < i)
        {
          tessera_fail (error, TESSERA_BAD_INPUT, "%s stands behind one that is undone",
                        where);
          return NULL;
        }
      n_standing += !is_undone;
    }
  tessera_history_go (history, n_standing);
  return g_steal_pointer (&history);
}
