/*
 * Selectors from JSON: which blocks an edit is of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/json-values.h"

#include "planner/edits/block-names.h"

static gboolean
read_blocks (const EditsPlace *place, JsonNode *node, TesseraSelector *selector)
{
  JsonArray *array = edits_read_array (place, "blocks", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  g_free (selector->blocks);
  selector->blocks = g_new0 (uint32_t, n + 1);
  selector->n_blocks = n;
  for (guint i = 0; i < n; i++)
    {
      if (!edits_read_u32 (place, "blocks", json_array_get_element (array, i),
                           &selector->blocks[i]))
        return FALSE;
      if (i > 0 && selector->blocks[i] <= selector->blocks[i - 1])
        return edits_complain (place, "\"blocks\" do not ascend");
    }
  return TRUE;
}

static gboolean
read_name (const EditsPlace *place,
           JsonArray *array,
           guint index,
           TesseraBlockNames *names)
{
  JsonNode *node = json_array_get_element (array, index);
  JsonArray *name = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  g_autofree char *phase = NULL;
  uint32_t step = TESSERA_NONE, ordinal = 0;
  guint64 size_bytes = 0;

  if (name == NULL || json_array_get_length (name) != 4)
    return edits_complain (place,
                           "one of \"names\" is not [phase, bytes, step, ordinal]");
  if (!json_array_get_null_element (name, 0) &&
      !edits_read_text (place, "names", json_array_get_element (name, 0), &phase))
    return FALSE;
  if (!edits_read_number (place, "names", json_array_get_element (name, 1), G_MAXINT64,
                          &size_bytes) ||
      (!json_array_get_null_element (name, 2) &&
       !edits_read_u32 (place, "names", json_array_get_element (name, 2), &step)) ||
      !edits_read_u32 (place, "names", json_array_get_element (name, 3), &ordinal))
    return FALSE;
  switch (tessera_block_names_set (names, index, size_bytes, phase, step, ordinal))
    {
    case TESSERA_OK:
      return TRUE;
    case TESSERA_INVALID:
      return edits_complain (place, "\"names\" name more than %d phases",
                             TESSERA_MOST_NAME_PHASES);
    default:
      return edits_complain (place, "there is no memory left for \"names\"");
    }
}

static gboolean
read_names (const EditsPlace *place, JsonNode *node, TesseraSelector *selector)
{
  JsonArray *array = edits_read_array (place, "names", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  tessera_block_names_unref (selector->names);
  selector->names = tessera_block_names_new (n);
  if (selector->names == NULL)
    return edits_complain (place, "there is no memory left for \"names\"");
  for (guint i = 0; i < n; i++)
    if (!read_name (place, array, i, selector->names))
      return FALSE;
  return TRUE;
}

static gboolean
read_stream (const EditsPlace *place, JsonNode *node, int32_t *out_stream)
{
  guint64 stream = 0;

  if (!edits_read_number (place, "stream", node, UINT16_MAX, &stream))
    return FALSE;
  *out_stream = (int32_t) stream;
  return TRUE;
}

static gboolean
read_step (const EditsPlace *place, JsonNode *node, int64_t *out_step)
{
  guint64 step = 0;

  if (!edits_read_number (place, "step", node, G_MAXINT64, &step))
    return FALSE;
  *out_step = (int64_t) step;
  return TRUE;
}

static gboolean
read_condition (const EditsPlace *place,
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
      return edits_read_text (place, key, node, texts[i].text);
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (g_str_equal (key, numbers[i].key))
      return edits_read_u32 (place, key, node, numbers[i].number);
  if (g_str_equal (key, "blocks"))
    return read_blocks (place, node, selector);
  if (g_str_equal (key, "names"))
    return read_names (place, node, selector);
  if (g_str_equal (key, "least_bytes"))
    return edits_read_number (place, key, node, G_MAXINT64, &selector->least_bytes);
  if (g_str_equal (key, "most_bytes"))
    return edits_read_number (place, key, node, G_MAXINT64, &selector->most_bytes);
  if (g_str_equal (key, "step"))
    return read_step (place, node, &selector->step);
  if (g_str_equal (key, "stream"))
    return read_stream (place, node, &selector->stream);
  if (g_str_equal (key, "class"))
    return edits_read_class (place, node, &selector->lifetime_class);
  return edits_complain (place, "a selector has no member \"%s\"", key);
}

gboolean
edits_read_selector (const EditsPlace *place,
                     const char *of,
                     JsonNode *node,
                     TesseraSelector *selector)
{
  g_autoptr (GList) keys = NULL;
  JsonObject *object;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    return edits_complain (place, "\"%s\" is not an object", of);
  object = json_node_get_object (node);
  keys = json_object_get_members (object);
  for (GList *at = keys; at != NULL; at = at->next)
    if (!read_condition (place, at->data, json_object_get_member (object, at->data),
                         selector))
      return FALSE;
  if (selector->names != NULL &&
      (selector->blocks == NULL || selector->n_blocks != selector->names->n_names))
    return edits_complain (place, "\"names\" does not name each of \"blocks\"");
  return TRUE;
}
