/*
 * Selectors from JSON: which blocks an edit is of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/json-values.h"

#include <string.h>

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

/* Digits behind @before, where @text begins with that; FALSE: it does not. */
static gboolean
take_number (const char **text, const char *before, guint64 most, guint64 *out_number)
{
  const char *at = *text + strlen (before);
  char *end;

  if (!g_str_has_prefix (*text, before) || !g_ascii_isdigit (*at))
    return FALSE;
  *out_number = g_ascii_strtoull (at, &end, 10);
  *text = end;
  return *out_number <= most;
}

/* "1048576 #3 step 0 phase forward" */
static gboolean
read_name (const EditsPlace *place, JsonNode *node, guint index, TesseraBlockNames *names)
{
  guint64 size_bytes, ordinal, step = TESSERA_NONE;
  g_autofree char *text = NULL;
  const char *at, *phase = NULL;

  if (!edits_read_text (place, "names", node, &text))
    return FALSE;
  at = text;
  if (!take_number (&at, "", G_MAXINT64, &size_bytes) ||
      !take_number (&at, " #", TESSERA_NONE - 1, &ordinal))
    return edits_complain (place, "\"names\" has \"%s\": it begins with bytes #ordinal",
                           text);
  if (g_str_has_prefix (at, " step ") &&
      !take_number (&at, " step ", TESSERA_NONE - 1, &step))
    return edits_complain (place, "\"names\" has \"%s\", whose step is no number", text);
  if (g_str_has_prefix (at, " phase "))
    phase = at + strlen (" phase ");
  else if (*at != '\0')
    return edits_complain (place, "\"names\" has \"%s\": at its end is no phase", text);
  switch (tessera_block_names_set (names, index, size_bytes, phase, (uint32_t) step,
                                   (uint32_t) ordinal))
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
    if (!read_name (place, json_array_get_element (array, i), i, selector->names))
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
