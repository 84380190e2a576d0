/* Planner instances of the shared data. SPDX-License-Identifier: Apache-2.0 */
#include "tests/planner/instances.h"

GArray *
test_instance_read (const char *name)
{
  const char *data = g_getenv ("TESSERA_SHARED_DATA");
  g_autofree char *path =
      g_strdup_printf ("%s/dsa/%s.csv", data != NULL ? data : ".", name);
  g_autofree char *text = NULL;
  GArray *items = g_array_new (FALSE, TRUE, sizeof (TesseraItem));
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return items;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      g_auto (GStrv) cells = g_strsplit (*line, ",", 4);
      if (line == lines || g_strv_length (cells) != 4)
        continue;
      TesseraItem item = {
        .begin = (uint32_t) g_ascii_strtoull (cells[1], NULL, 10),
        .end = (uint32_t) g_ascii_strtoull (cells[2], NULL, 10),
        .size_bytes = g_ascii_strtoull (cells[3], NULL, 10),
      };
      g_array_append_val (items, item);
    }
  return items;
}
