/*
 * Edits from JSON: docs/FORMAT.md. What is not understood is refused: a misspelt rule
 * must not select everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "edits/json.h"
#include "edits/names.h"

/* An array of objects of objects of arrays, and some. */
#define MOST_LEVELS 8
/* Longer texts are no names. */
#define MOST_NAME_BYTES 1024

typedef struct
{
  const char *where;
  TesseraError *error;
} Place;

/* Returns: FALSE */
static gboolean G_GNUC_PRINTF (2, 3)
    complain (const Place *place, const char *format, ...)
{
  va_list arguments;
  g_autofree char *finding = NULL;

  va_start (arguments, format);
  finding = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tessera_fail (place->error, TESSERA_BAD_INPUT, "%s, %s", place->where, finding);
  return FALSE;
}

static gboolean
read_number (const Place *place,
             const char *key,
             JsonNode *node,
             guint64 most,
             guint64 *out_number)
{
  gint64 number;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return complain (place, "\"%s\" is not a whole number", key);
  number = json_node_get_int (node);
  if (number < 0 || (guint64) number > most)
    return complain (place,
                     "\"%s\" is %" G_GINT64_FORMAT
                     ": it has to be from 0 to %" G_GUINT64_FORMAT,
                     key, number, most);
  *out_number = (guint64) number;
  return TRUE;
}

static gboolean
read_u32 (const Place *place, const char *key, JsonNode *node, uint32_t *out_number)
{
  guint64 number = 0;

  if (!read_number (place, key, node, TESSERA_NONE - 1, &number))
    return FALSE;
  *out_number = (uint32_t) number;
  return TRUE;
}

static gboolean
read_text (const Place *place, const char *key, JsonNode *node, char **out_text)
{
  const char *text;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return complain (place, "\"%s\" is not a text", key);
  text = json_node_get_string (node);
  if (strlen (text) > MOST_NAME_BYTES)
    return complain (place, "\"%s\" is longer than %d bytes", key, MOST_NAME_BYTES);
  if (!edits_is_one_line (text))
    return complain (place, "\"%s\" is not one line of text", key);
  g_free (*out_text); /* a member that comes twice: the last one */
  *out_text = g_strdup (text);
  return TRUE;
}

/* @number: of the thing that @name names; 0: there is none. */
static gboolean
is_known (const Place *place, const char *key, guint number, const char *name)
{
  return number != 0 || complain (place, "\"%s\" is \"%s\", which is unknown", key, name);
}

static gboolean
read_class (const Place *place, JsonNode *node, guint8 *out_class)
{
  g_autofree char *name = NULL;

  if (!read_text (place, "class", node, &name))
    return FALSE;
  *out_class = edits_class_of (name);
  return is_known (place, "class", *out_class, name);
}

static JsonArray *
read_array (const Place *place, const char *key, JsonNode *node)
{
  if (JSON_NODE_HOLDS_ARRAY (node))
    return json_node_get_array (node);
  complain (place, "\"%s\" is not an array", key);
  return NULL;
}

static gboolean
read_blocks (const Place *place, JsonNode *node, TesseraSelector *selector)
{
  JsonArray *array = read_array (place, "blocks", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  g_free (selector->blocks);
  selector->blocks = g_new0 (uint32_t, n + 1);
  selector->n_blocks = n;
  for (guint i = 0; i < n; i++)
    {
      if (!read_u32 (place, "blocks", json_array_get_element (array, i),
                     &selector->blocks[i]))
        return FALSE;
      if (i > 0 && selector->blocks[i] <= selector->blocks[i - 1])
        return complain (place, "\"blocks\" do not ascend");
    }
  return TRUE;
}

static gboolean
read_stream (const Place *place, JsonNode *node, int32_t *out_stream)
{
  guint64 stream = 0;

  if (!read_number (place, "stream", node, UINT16_MAX, &stream))
    return FALSE;
  *out_stream = (int32_t) stream;
  return TRUE;
}

static gboolean
read_step (const Place *place, JsonNode *node, int64_t *out_step)
{
  guint64 step = 0;

  if (!read_number (place, "step", node, G_MAXINT64, &step))
    return FALSE;
  *out_step = (int64_t) step;
  return TRUE;
}

static gboolean
read_condition (const Place *place,
                const char *key,
                JsonNode *node,
                TesseraSelector *selector)
{
  const struct
  {
    const char *key;
    char **text;
  } texts[] = { { "phase", &selector->phase },
                { "died_phase", &selector->died_phase },
                { "module", &selector->module },
                { "source", &selector->source },
                { "group", &selector->group } };
  const struct
  {
    const char *key;
    uint32_t *number;
  } numbers[] = { { "least_life", &selector->least_life },
                  { "most_life", &selector->most_life },
                  { "ordinal", &selector->ordinal },
                  { "alive_at", &selector->alive_at } };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (g_str_equal (key, texts[i].key))
      return read_text (place, key, node, texts[i].text);
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (g_str_equal (key, numbers[i].key))
      return read_u32 (place, key, node, numbers[i].number);
  if (g_str_equal (key, "blocks"))
    return read_blocks (place, node, selector);
  if (g_str_equal (key, "least_bytes"))
    return read_number (place, key, node, G_MAXINT64, &selector->least_bytes);
  if (g_str_equal (key, "most_bytes"))
    return read_number (place, key, node, G_MAXINT64, &selector->most_bytes);
  if (g_str_equal (key, "step"))
    return read_step (place, node, &selector->step);
  if (g_str_equal (key, "stream"))
    return read_stream (place, node, &selector->stream);
  if (g_str_equal (key, "class"))
    return read_class (place, node, &selector->lifetime_class);
  return complain (place, "a selector has no member \"%s\"", key);
}

static gboolean
read_selector (const Place *place,
               const char *of,
               JsonNode *node,
               TesseraSelector *selector)
{
  g_autoptr (GList) keys = NULL;
  JsonObject *object;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return complain (place, "\"%s\" is not an object", of);
  object = json_node_get_object (node);
  keys = json_object_get_members (object);
  for (GList *at = keys; at != NULL; at = at->next)
    if (!read_condition (place, at->data, json_object_get_member (object, at->data),
                         selector))
      return FALSE;
  return TRUE;
}

static gboolean
read_shape (const Place *place, JsonNode *node, TesseraEdit *edit)
{
  JsonArray *array = read_array (place, "shape", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  if (edit->what.blocks == NULL || edit->what.n_blocks != n)
    return complain (place,
                     "\"shape\" does not give one distance for each of \"blocks\"");
  g_free (edit->shape);
  edit->shape = g_new0 (uint64_t, n + 1);
  for (guint i = 0; i < n; i++)
    if (!read_number (place, "shape", json_array_get_element (array, i), G_MAXINT64,
                      &edit->shape[i]))
      return FALSE;
  return TRUE;
}

static gboolean
read_by (const Place *place, JsonNode *node, TesseraEdit *edit)
{
  g_autofree char *name = NULL;

  if (!read_text (place, "by", node, &name))
    return FALSE;
  edit->by = edits_split_of (name);
  return is_known (place, "by", edit->by, name);
}

static gboolean
read_at_index (const Place *place, JsonNode *node, TesseraEdit *edit)
{
  uint32_t index = 0;

  if (edit->by != TESSERA_SPLIT_AT)
    return complain (place, "\"at_index\" goes with \"by\": \"at\" only");
  if (!read_u32 (place, "at_index", node, &index))
    return FALSE;
  edit->at = index;
  return TRUE;
}

/* What a kind has, beside what all have; "?" in front: may be left out. @what comes
 * before @shape, @by before @at_index. */
static const char *const members_of[][3] = {
  [TESSERA_EDIT_MERGE] = { "?what", "group" },
  [TESSERA_EDIT_SPLIT] = { "?what", "by", "?at_index" },
  [TESSERA_EDIT_GROUP] = { "?what", "group" },
  [TESSERA_EDIT_MOVE] = { "?what", "group" },
  [TESSERA_EDIT_PIN] = { "?what", "offset_bytes", "?shape" },
  [TESSERA_EDIT_TOGETHER] = { "?what" },
  [TESSERA_EDIT_APART] = { "?what", "?with" },
  [TESSERA_EDIT_DYNAMIC] = { "?what" },
  [TESSERA_EDIT_CLASS] = { "?what", "class" },
  [TESSERA_EDIT_CAP] = { "pool_bytes" },
};

static gboolean
read_member (const Place *place, const char *key, JsonNode *node, TesseraEdit *edit)
{
  if (g_str_equal (key, "what"))
    return read_selector (place, key, node, &edit->what);
  if (g_str_equal (key, "with"))
    {
      edit->has_with = true;
      return read_selector (place, key, node, &edit->with);
    }
  if (g_str_equal (key, "group"))
    return read_text (place, key, node, &edit->group);
  if (g_str_equal (key, "by"))
    return read_by (place, node, edit);
  if (g_str_equal (key, "at_index"))
    return read_at_index (place, node, edit);
  if (g_str_equal (key, "shape"))
    return read_shape (place, node, edit);
  if (g_str_equal (key, "class"))
    return read_class (place, node, &edit->lifetime_class);
  return read_number (place, key, node, G_MAXINT64, &edit->at);
}

static gboolean
read_members (const Place *place, JsonObject *object, TesseraEdit *edit)
{
  for (gsize i = 0; i < G_N_ELEMENTS (members_of[0]) && members_of[edit->kind][i]; i++)
    {
      const char *key = members_of[edit->kind][i];
      gboolean is_optional = *key == '?';
      JsonNode *node;

      key += is_optional;
      node = json_object_get_member (object, key);
      if (node == NULL && !is_optional)
        return complain (place, "\"%s\" is missing", key);
      if (node != NULL && !read_member (place, key, node, edit))
        return FALSE;
    }
  if (edit->kind == TESSERA_EDIT_SPLIT && edit->by == TESSERA_SPLIT_AT &&
      !json_object_has_member (object, "at_index"))
    return complain (place, "\"at_index\" is missing");
  if (edit->group != NULL && *edit->group == '\0')
    return complain (place, "\"group\" is empty");
  return TRUE;
}

static gboolean
is_member (TesseraEditKind kind, const char *key, gboolean is_row)
{
  if (g_str_equal (key, "kind"))
    return TRUE;
  if (!is_row && (g_str_equal (key, "name") || g_str_equal (key, "created_s") ||
                  g_str_equal (key, "is_undone")))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (members_of[0]) && members_of[kind][i]; i++)
    if (g_str_equal (key, members_of[kind][i] + (*members_of[kind][i] == '?')))
      return TRUE;
  return FALSE;
}

static gboolean
read_kind (const Place *place, JsonObject *object, gboolean is_row, TesseraEdit *edit)
{
  g_autoptr (GList) keys = json_object_get_members (object);
  g_autofree char *name = NULL;
  JsonNode *node = json_object_get_member (object, "kind");

  if (node == NULL)
    return complain (place, "\"kind\" is missing");
  if (!read_text (place, "kind", node, &name))
    return FALSE;
  edit->kind = edits_kind_of (name);
  if (!is_known (place, "kind", edit->kind, name))
    return FALSE;
  for (GList *at = keys; at != NULL; at = at->next)
    if (!is_member (edit->kind, at->data, is_row))
      return complain (place, "an edit of kind %s has no member \"%s\"", name,
                       (const char *) at->data);
  return TRUE;
}

/* What has a column of its own in a table. */
static gboolean
read_label (const Place *place, JsonObject *object, TesseraEdit *edit)
{
  JsonNode *node = json_object_get_member (object, "name");
  guint64 created = 0;

  if (node == NULL)
    return complain (place, "\"name\" is missing");
  if (!read_text (place, "name", node, &edit->name))
    return FALSE;
  node = json_object_get_member (object, "created_s");
  if (node != NULL)
    {
      if (!read_number (place, "created_s", node, G_MAXINT64, &created))
        return FALSE;
      edit->created_s = (int64_t) created;
    }
  node = json_object_get_member (object, "is_undone");
  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return complain (place, "\"is_undone\" is neither true nor false");
  edit->is_undone = json_node_get_boolean (node);
  return TRUE;
}

TesseraStatus
edits_json_read (JsonNode *node,
                 gboolean is_row,
                 const char *where,
                 TesseraEdit *edit,
                 TesseraError *error)
{
  const Place place = { where, error };
  gboolean is_read;

  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    is_read = complain (&place, "an edit is not an object");
  else
    is_read = read_kind (&place, json_node_get_object (node), is_row, edit) &&
              (is_row || read_label (&place, json_node_get_object (node), edit)) &&
              read_members (&place, json_node_get_object (node), edit);
  if (is_read)
    return TESSERA_OK;
  tessera_edit_clear (edit);
  return TESSERA_BAD_INPUT;
}

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

JsonNode *
edits_json_parse (const char *text, gssize length, const char *where, TesseraError *error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) failure = NULL;
  gsize n_bytes = length < 0 ? strlen (text) : (gsize) length;
  JsonNode *root = NULL;

  if (!g_utf8_validate (text, (gssize) n_bytes, NULL) || !is_plain (text, n_bytes))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not a list of edits in JSON", where);
  else if (!json_parser_load_from_data (parser, text, (gssize) n_bytes, &failure))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not JSON: %s", where,
                  failure->message);
  else if ((root = json_parser_steal_root (parser)) == NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is empty", where);
  return root;
}

TesseraStatus
edits_json_read_row (const char *rule,
                     const char *where,
                     TesseraEdit *edit,
                     TesseraError *error)
{
  g_autoptr (JsonNode) node = edits_json_parse (rule, -1, where, error);

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
  g_autoptr (JsonNode) root = edits_json_parse (text, length, name, error);
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
