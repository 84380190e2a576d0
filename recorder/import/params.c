/*
 * What a snapshot does not hold: the device's memory and a limit set on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/params.h"

#include <json-glib/json-glib.h>

/* A params.json is a note by hand, or of a script over a folder of snapshots. */
#define MAX_PARAMS_BYTES ((gsize) 16 << 20)

static char *
name_of (const char *path)
{
  static const char *const endings[] = { ".gz", ".pickle", ".pkl", ".csv" };
  char *name = g_path_get_basename (path);

  for (size_t i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (name, endings[i]) && strlen (name) > strlen (endings[i]))
      name[strlen (name) - strlen (endings[i])] = '\0';
  return name;
}

static uint64_t
bytes_under (JsonObject *entry, const char *key)
{
  JsonNode *node = json_object_get_member (entry, key);
  gint64 bytes;

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) ||
      json_node_get_value_type (node) != G_TYPE_INT64)
    return 0;
  bytes = json_node_get_int (node);
  return bytes > 0 ? (uint64_t) bytes : 0;
}

static void
take_entry (TesseraTrace *trace, JsonNode *root, const char *name)
{
  JsonNode *node;

  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return;
  node = json_object_get_member (json_node_get_object (root), name);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  if (trace->device_bytes == 0)
    trace->device_bytes = bytes_under (json_node_get_object (node), "total");
  if (trace->limit_bytes == 0)
    trace->limit_bytes = bytes_under (json_node_get_object (node), "limit");
}

TesseraStatus
tessera_params_fill (TesseraTrace *trace, const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *beside = g_build_filename (folder, "params.json", NULL);
  g_autofree char *name = name_of (path);
  g_autofree char *text = NULL;
  g_autoptr (JsonParser) parser = NULL;
  gsize n_bytes;

  if (!g_file_test (beside, G_FILE_TEST_IS_REGULAR) ||
      !g_file_get_contents (beside, &text, &n_bytes, NULL))
    return TESSERA_OK;
  parser = json_parser_new ();
  if (n_bytes > MAX_PARAMS_BYTES ||
      !json_parser_load_from_data (parser, text, (gssize) n_bytes, NULL))
    return tessera_trace_set_meta (trace, "note.params",
                                   "params.json beside the file is no JSON: not used");
  take_entry (trace, json_parser_get_root (parser), name);
  return TESSERA_OK;
}
