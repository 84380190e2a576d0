/*
 * Texts of JSON: one edit's rule, or a list of edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "edits/json-values.h"
#include "edits/json.h"

/* An array of objects of objects of arrays, and some. */
#define MOST_LEVELS 8
/* Numbers take a hundred bytes each while they are read. A million blocks pinned with their
 * distances are two million. */
#define MOST_VALUES 4000000

/* The parser takes comments and assignments as well: in these brackets would not count as
 * they do here. */
static gboolean
is_letter_of_json (char c)
{
  return g_ascii_isalnum (c) || (c != '\0' && strchr ("[]{}:,+-.\t\r\n ", c) != NULL);
}

const char *
edits_json_find_fault (const char *text, gsize n_bytes)
{
  gboolean is_in_text = FALSE;
  guint n_levels = 0, n_values = 0;

  if (n_bytes > EDITS_JSON_MOST_BYTES)
    return "is larger than 256 MiB";
  for (gsize i = 0; i < n_bytes; i++)
    {
      char c = text[i];

      if (c == '"')
        is_in_text = !is_in_text;
      else if (is_in_text)
        i += c == '\\';
      else if (!is_letter_of_json (c) ||
               ((c == '[' || c == '{') && ++n_levels > MOST_LEVELS))
        return "is not a list of edits in JSON, as tessera edits export writes it";
      else if ((c == ']' || c == '}') && n_levels > 0)
        n_levels--;
      else if (c == ',' && ++n_values >= MOST_VALUES)
        return "has more than 4 million values";
    }
  return NULL;
}

/* What would cost the parser more stack or memory than edits need is refused before.
 * NULL: failed. */
static JsonNode *
parse (const char *text, gssize length, const char *where, TesseraError *error)
{
  gsize n_bytes = length < 0 ? strlen (text) : (gsize) length;
  const char *fault = g_utf8_validate (text, (gssize) n_bytes, NULL)
                          ? edits_json_find_fault (text, n_bytes)
                          : "is not text in UTF-8";
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) failure = NULL;
  JsonNode *root = NULL;

  if (fault != NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s %s", where, fault);
  else if (!json_parser_load_from_data (parser, text, (gssize) n_bytes, &failure))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not JSON: %s", where,
                  failure->message);
  else if ((root = json_parser_steal_root (parser)) == NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is empty, not a list of edits in JSON",
                  where);
  return root;
}

TesseraStatus
edits_json_read_row (const char *name,
                     const char *rule,
                     const char *where,
                     TesseraEdit *edit,
                     TesseraError *error)
{
  g_autoptr (JsonNode) node = parse (rule, -1, where, error);
  const EditsPlace place = { where, error };

  if (node == NULL || edits_json_read (node, TRUE, where, edit, error) != TESSERA_OK)
    return TESSERA_BAD_INPUT;
  if (edits_take_text (&place, "name", name, &edit->name))
    return TESSERA_OK;
  tessera_edit_clear (edit);
  return TESSERA_BAD_INPUT;
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
