/* See topology.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/topology.h"

#include <stdio.h>
#include <string.h>

#include "answers/whose.h"

#define MOST_RANKS (1 << 20)

static gboolean
is_unlike (const CliAxis *axis)
{
  return strchr ("pte", axis->name[0]) != NULL;
}

static gboolean
read_axis (CliTopology *topology, const char *word)
{
  CliAxis *axis = &topology->axes[topology->n];

  if (topology->n == G_N_ELEMENTS (topology->axes) ||
      sscanf (word, "%15[a-z_0-9]=%7" G_GUINT64_FORMAT, axis->name, &axis->size) != 2 ||
      axis->size == 0 || (topology->world *= axis->size) > MOST_RANKS)
    return FALSE;
  topology->n_classes *= is_unlike (axis) ? axis->size : 1;
  g_snprintf (topology->text + strlen (topology->text),
              sizeof topology->text - strlen (topology->text), "%s%s=%" G_GUINT64_FORMAT,
              topology->n > 0 ? " " : "", axis->name, axis->size);
  topology->n++;
  return TRUE;
}

gboolean
cli_topology_read (CliTopology *topology, const char *text)
{
  g_auto (GStrv) words = g_regex_split_simple ("(?:#.*|[\\s,])+", text, G_REGEX_RAW, 0);
  guint64 stride = 1;

  *topology = (CliTopology){ .world = 1, .n_classes = 1 };
  for (char **word = words; word != NULL && *word != NULL; word++)
    if (**word != '\0' && !read_axis (topology, *word))
      {
        *topology = (CliTopology){ 0 };
        return FALSE;
      }
  for (guint i = topology->n; i-- > 0; stride *= topology->axes[i].size)
    topology->axes[i].stride = stride;
  return topology->n > 0;
}

guint64
cli_topology_class (const CliTopology *topology, guint64 rank)
{
  guint64 class = 0;

  for (guint i = 0; i < topology->n; i++)
    if (is_unlike (&topology->axes[i]))
      class = class * topology->axes[i].size +
              rank / topology->axes[i].stride % topology->axes[i].size;
  return class;
}

char *
cli_topology_describe (const CliTopology *topology, const GArray *ranks)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < topology->n; i++)
    {
      const CliAxis *axis = &topology->axes[i];
      g_autofree guint8 *is_here = g_new0 (guint8, axis->size);
      g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (guint64));

      for (guint j = 0; j < ranks->len; j++)
        is_here[g_array_index (ranks, guint64, j) / axis->stride % axis->size] = 1;
      for (guint64 place = 0; place < axis->size; place++)
        if (is_here[place])
          g_array_append_val (places, place);
      if (places->len == axis->size)
        continue;
      g_autofree char *listed = tessera_list_numbers (places, ", ");
      g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "",
                              axis->name[0] != 'p' ? axis->name
                              : places->len > 1    ? "stages"
                                                   : "stage",
                              listed);
    }
  return g_string_free (text, FALSE);
}
