/*
 * Edits from JSON: docs/FORMAT.md. What is not understood is refused: a misspelt rule
 * must not select everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/json-values.h"
#include "edits/json.h"
#include "edits/names.h"

static gboolean
read_shape (const EditsPlace *place, JsonNode *node, TesseraEdit *edit)
{
  JsonArray *array = edits_read_array (place, "shape", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  if (edit->what.blocks == NULL || edit->what.n_blocks != n)
    return edits_complain (place,
                           "\"shape\" does not give one distance for each of \"blocks\"");
  g_free (edit->shape);
  edit->shape = g_new0 (uint64_t, n + 1);
  for (guint i = 0; i < n; i++)
    if (!edits_read_number (place, "shape", json_array_get_element (array, i), G_MAXINT64,
                            &edit->shape[i]))
      return FALSE;
  return TRUE;
}

static gboolean
read_by (const EditsPlace *place, JsonNode *node, TesseraEdit *edit)
{
  g_autofree char *name = NULL;

  if (!edits_read_text (place, "by", node, &name))
    return FALSE;
  edit->by = edits_split_of (name);
  return edits_is_known (place, "by", edit->by, name);
}

static gboolean
read_at_index (const EditsPlace *place, JsonNode *node, TesseraEdit *edit)
{
  uint32_t index = 0;

  if (edit->by != TESSERA_SPLIT_AT)
    return edits_complain (place, "\"at_index\" goes with \"by\": \"at\" only");
  if (!edits_read_u32 (place, "at_index", node, &index))
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
read_member (const EditsPlace *place, const char *key, JsonNode *node, TesseraEdit *edit)
{
  if (g_str_equal (key, "what"))
    return edits_read_selector (place, key, node, &edit->what);
  if (g_str_equal (key, "with"))
    {
      edit->has_with = true;
      return edits_read_selector (place, key, node, &edit->with);
    }
  if (g_str_equal (key, "group"))
    return edits_read_text (place, key, node, &edit->group);
  if (g_str_equal (key, "by"))
    return read_by (place, node, edit);
  if (g_str_equal (key, "at_index"))
    return read_at_index (place, node, edit);
  if (g_str_equal (key, "shape"))
    return read_shape (place, node, edit);
  if (g_str_equal (key, "class"))
    return edits_read_class (place, node, &edit->lifetime_class);
  return edits_read_number (place, key, node, G_MAXINT64, &edit->at);
}

static gboolean
read_members (const EditsPlace *place, JsonObject *object, TesseraEdit *edit)
{
  for (gsize i = 0; i < G_N_ELEMENTS (members_of[0]) && members_of[edit->kind][i]; i++)
    {
      const char *key = members_of[edit->kind][i];
      gboolean is_optional = *key == '?';
      JsonNode *node;

      key += is_optional;
      node = json_object_get_member (object, key);
      if (node == NULL && !is_optional)
        return edits_complain (place, "\"%s\" is missing", key);
      if (node != NULL && !read_member (place, key, node, edit))
        return FALSE;
    }
  if (edit->kind == TESSERA_EDIT_SPLIT && edit->by == TESSERA_SPLIT_AT &&
      !json_object_has_member (object, "at_index"))
    return edits_complain (place, "\"at_index\" is missing");
  if (edit->group != NULL && *edit->group == '\0')
    return edits_complain (place, "\"group\" is empty");
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
read_kind (const EditsPlace *place,
           JsonObject *object,
           gboolean is_row,
           TesseraEdit *edit)
{
  g_autoptr (GList) keys = json_object_get_members (object);
  g_autofree char *name = NULL;
  JsonNode *node = json_object_get_member (object, "kind");

  if (node == NULL)
    return edits_complain (place, "\"kind\" is missing");
  if (!edits_read_text (place, "kind", node, &name))
    return FALSE;
  edit->kind = edits_kind_of (name);
  if (!edits_is_known (place, "kind", edit->kind, name))
    return FALSE;
  for (GList *at = keys; at != NULL; at = at->next)
    if (!is_member (edit->kind, at->data, is_row))
      return edits_complain (place, "an edit of kind %s has no member \"%s\"", name,
                             (const char *) at->data);
  return TRUE;
}

/* What has a column of its own in a table. */
static gboolean
read_label (const EditsPlace *place, JsonObject *object, TesseraEdit *edit)
{
  JsonNode *node = json_object_get_member (object, "name");
  guint64 created = 0;

  if (node == NULL)
    return edits_complain (place, "\"name\" is missing");
  if (!edits_read_text (place, "name", node, &edit->name))
    return FALSE;
  node = json_object_get_member (object, "created_s");
  if (node != NULL)
    {
      if (!edits_read_number (place, "created_s", node, G_MAXINT64, &created))
        return FALSE;
      edit->created_s = (int64_t) created;
    }
  node = json_object_get_member (object, "is_undone");
  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return edits_complain (place, "\"is_undone\" is neither true nor false");
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
  const EditsPlace place = { where, error };
  gboolean is_read;

  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    is_read = edits_complain (&place, "an edit is not an object");
  else
    is_read = read_kind (&place, json_node_get_object (node), is_row, edit) &&
              (is_row || read_label (&place, json_node_get_object (node), edit)) &&
              read_members (&place, json_node_get_object (node), edit);
  if (is_read)
    return TESSERA_OK;
  tessera_edit_clear (edit);
  return TESSERA_BAD_INPUT;
}
