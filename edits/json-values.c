/*
 * Numbers, texts and arrays from JSON, each within what an edit can hold.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/json-values.h"
#include "edits/names.h"
#include "edits/texts.h"

gboolean
edits_complain (const EditsPlace *place, const char *format, ...)
{
  va_list arguments;
  g_autofree char *finding = NULL;

  va_start (arguments, format);
  finding = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tessera_fail (place->error, TESSERA_BAD_INPUT, "%s, %s", place->where, finding);
  return FALSE;
}

gboolean
edits_read_number (const EditsPlace *place,
                   const char *key,
                   JsonNode *node,
                   guint64 most,
                   guint64 *out_number)
{
  gint64 number;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return edits_complain (place, "\"%s\" is not a whole number", key);
  number = json_node_get_int (node);
  if (number < 0 || (guint64) number > most)
    return edits_complain (place,
                           "\"%s\" is %" G_GINT64_FORMAT
                           ": it has to be from 0 to %" G_GUINT64_FORMAT,
                           key, number, most);
  *out_number = (guint64) number;
  return TRUE;
}

gboolean
edits_read_u32 (const EditsPlace *place,
                const char *key,
                JsonNode *node,
                uint32_t *out_number)
{
  guint64 number = 0;

  if (!edits_read_number (place, key, node, TESSERA_NONE - 1, &number))
    return FALSE;
  *out_number = (uint32_t) number;
  return TRUE;
}

gboolean
edits_read_text (const EditsPlace *place,
                 const char *key,
                 JsonNode *node,
                 char **out_text)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return edits_complain (place, "\"%s\" is not a text", key);
  return edits_take_text (place, key, json_node_get_string (node), out_text);
}

gboolean
edits_take_text (const EditsPlace *place,
                 const char *key,
                 const char *text,
                 char **out_text)
{
  const char *fault = edits_find_fault_of_text (text);

  if (fault != NULL)
    return edits_complain (place, "\"%s\" %s", key, fault);
  g_free (*out_text);
  *out_text = g_strdup (text);
  return TRUE;
}

gboolean
edits_is_known (const EditsPlace *place, const char *key, guint number, const char *name)
{
  return number != 0 ||
         edits_complain (place, "\"%s\" is \"%s\", which is unknown", key, name);
}

gboolean
edits_read_class (const EditsPlace *place, JsonNode *node, guint8 *out_class)
{
  g_autofree char *name = NULL;

  if (!edits_read_text (place, "class", node, &name))
    return FALSE;
  *out_class = edits_class_of (name);
  return edits_is_known (place, "class", *out_class, name);
}

JsonArray *
edits_read_array (const EditsPlace *place, const char *key, JsonNode *node)
{
  if (JSON_NODE_HOLDS_ARRAY (node))
    return json_node_get_array (node);
  edits_complain (place, "\"%s\" is not an array", key);
  return NULL;
}
