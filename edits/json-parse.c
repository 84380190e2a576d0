/*
 * Texts of JSON: one edit's rule, or a list of edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <string.h>

#include "edits/json-values.h"
#include "edits/json.h"

/* An array of objects of objects of arrays, and some. */
#define MOST_LEVELS 8
/* Of a file, and of what it holds: numbers take a hundred bytes each while they are read.
 * A million blocks pinned with their distances are two million. */
#define MOST_VALUES 4000000

typedef struct
{
  const char *at, *end;
  guint n_levels;
  guint n_values; /* at least */
} Letters;

/* A number as JSON has them, which the parser takes more of; or a word. */
static const char *
find_fault_of_number (Letters *letters)
{
  const char *begin = letters->at;
  gsize n_bytes = 0;
  gboolean is_whole = TRUE;

  for (; begin + n_bytes < letters->end; n_bytes++)
    if (strchr (".eE", begin[n_bytes]) != NULL && begin[n_bytes] != '\0')
      is_whole = FALSE;
    else if (!g_ascii_isalnum (begin[n_bytes]))
      break;
  letters->at += n_bytes;
  if (!g_ascii_isdigit (*begin))
    return NULL;
  if (*begin == '0' && n_bytes > 1 && g_ascii_isalnum (begin[1]))
    return "has a number that begins with 0";
  errno = 0;
  if (is_whole && (g_ascii_strtoull (begin, NULL, 10) > G_MAXINT64 || errno == ERANGE))
    return "has a number above 9223372036854775807";
  return NULL;
}

static const char *
find_fault_of_text (Letters *letters)
{
  for (letters->at++; letters->at < letters->end && *letters->at != '"'; letters->at++)
    if (*letters->at == '\\' && letters->end - letters->at > 1)
      {
        if (letters->end - letters->at >= 6 && memcmp (letters->at, "\\u0000", 6) == 0)
          return "has a text with a character 0";
        letters->at++;
      }
  letters->at += letters->at < letters->end;
  return NULL;
}

static const char *
find_fault_of_mark (Letters *letters)
{
  char c = *letters->at++;

  letters->n_values += c == ',';
  if (c == '[' || c == '{')
    letters->n_levels++;
  else if (c == ']' || c == '}')
    letters->n_levels--; /* below 0: as too many */
  else if (c == '\0' || strchr (":,+-.\t\r\n ", c) == NULL)
    return "is not a list of edits in JSON, as tessera edits export writes it";
  if (letters->n_levels > MOST_LEVELS)
    return "is not a list of edits in JSON, as tessera edits export writes it";
  return letters->n_values >= MOST_VALUES ? "has more than 4 million values" : NULL;
}

const char *
edits_json_find_fault (const char *text, gsize n_bytes)
{
  Letters letters = { .at = text, .end = text + n_bytes };
  const char *fault = n_bytes > EDITS_JSON_MOST_BYTES ? "is larger than 256 MiB" : NULL;

  while (letters.at < letters.end && fault == NULL)
    if (*letters.at == '"')
      fault = find_fault_of_text (&letters);
    else if (g_ascii_isalnum (*letters.at))
      fault = find_fault_of_number (&letters);
    else
      fault = find_fault_of_mark (&letters);
  return fault;
}

/* Of an object that is being read: how many members came, which are fewer where one
 * replaced another. */
typedef struct
{
  GHashTable *n_members; /* by object */
  char *twice;           /* the last member that replaced another, or NULL */
} Members;

static void
count_member (JsonParser *parser, JsonObject *object, const char *name, Members *members)
{
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (members->n_members, object)) + 1;

  g_hash_table_insert (members->n_members, object, GUINT_TO_POINTER (n));
  if (n <= json_object_get_size (object) || members->twice != NULL)
    return;
  members->twice = g_strdup (name);
}

static void
forget_object (JsonParser *parser, JsonObject *object, Members *members)
{
  g_hash_table_remove (members->n_members, object);
}

/* NULL: failed. */
static JsonNode *
build (const char *text, gsize n_bytes, const char *where, TesseraError *error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) failure = NULL;
  g_autoptr (GHashTable) n_members = g_hash_table_new (NULL, NULL);
  Members members = { .n_members = n_members };
  g_autofree char *twice = NULL;

  g_signal_connect (parser, "object-member", G_CALLBACK (count_member), &members);
  g_signal_connect (parser, "object-end", G_CALLBACK (forget_object), &members);
  if (!json_parser_load_from_data (parser, text, (gssize) n_bytes, &failure))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not JSON: %s", where,
                  failure->message);
  twice = members.twice;
  if (failure != NULL)
    return NULL;
  if (twice != NULL)
    {
      tessera_fail (error, TESSERA_BAD_INPUT, "%s has \"%.40s\" twice in one object",
                    where, twice);
      return NULL;
    }
  return json_parser_steal_root (parser);
}

/* What is not JSON, or more than edits need, is refused before it costs stack or memory.
 * NULL: failed. */
static JsonNode *
parse (const char *text, gssize length, const char *where, TesseraError *error)
{
  gsize n_bytes = length < 0 ? strlen (text) : (gsize) length;
  const char *fault = g_utf8_validate (text, (gssize) n_bytes, NULL)
                          ? edits_json_find_fault (text, n_bytes)
                          : "is not text in UTF-8";
  JsonNode *root;

  if (fault != NULL)
    {
      tessera_fail (error, TESSERA_BAD_INPUT, "%s %s", where, fault);
      return NULL;
    }
  root = build (text, n_bytes, where, error);
  if (root == NULL) /* if nothing was wrong before */
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
