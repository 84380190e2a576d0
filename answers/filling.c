/*
 * What a block, a moment and a failure are called, and where each phase is fullest: the words that
 * every view has in common.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "answers/whose.h"
#include "db/size-text.h"
#include "planner/modules.h"
#include "simulator/verdict.h"

char *
tessera_name_block (const TesseraWhose *whose, size_t block)
{
  const TesseraTrace *trace = whose->trace;
  const TesseraCategory category = (TesseraCategory) whose->categories[block];

  if (whose->tensors != NULL && whose->tensors[block] != TESSERA_NONE)
    return g_strdup (
        tessera_trace_string (trace, trace->tensors[whose->tensors[block]].name));
  if (whose->origins.modules != NULL && whose->origins.modules[block] != TESSERA_NONE &&
      (whose->blocks->blocks[block].flags & TESSERA_AT_START) == 0)
    return g_strdup (tessera_trace_string (trace, whose->origins.modules[block]));
  if (tessera_line_of_stack (trace, whose->origins.stacks[block]) != TESSERA_NONE)
    return tessera_name_line (trace, whose->origins.stacks[block]);
  return g_strdup (
      tessera_category_is_unknown (category) ? "" : tessera_category_name (category));
}

char *
tessera_name_moment (const TesseraWhose *whose, uint32_t event_index)
{
  const TesseraStructure *structure = whose->structure;
  const bool has_phase = structure->phase_of_event != NULL &&
                         event_index < whose->blocks->n_events &&
                         structure->phase_of_event[event_index] != TESSERA_NONE;
  GString *text = g_string_new (NULL);
  size_t i = 0;

  while (i < structure->n_steps && structure->steps[i].end_index <= event_index)
    i++;
  if (i < structure->n_steps && structure->steps[i].begin_index <= event_index)
    g_string_append_printf (text, "step %" PRId64, structure->steps[i].number);
  else if (structure->n_steps > 0)
    g_string_append (text, event_index < structure->steps[0].begin_index
                               ? "before the first step"
                               : "between steps");
  if (has_phase)
    g_string_append_printf (
        text, "%s%s", text->len > 0 ? ", " : "",
        tessera_phase_name (whose->trace,
                            &structure->phases[structure->phase_of_event[event_index]]));
  return g_string_free (text, FALSE);
}

char *
tessera_describe_refused (const TesseraWhose *whose, uint32_t event_index)
{
  const TesseraLayout *layout = whose->layout;
  size_t i = 0;

  while (i < layout->n_ooms && layout->ooms[i].event_index != event_index)
    i++;
  if (i == layout->n_ooms)
    return NULL;
  const uint32_t block = whose->blocks->block_of_event[event_index];
  if (block == TESSERA_NONE)
    return g_strdup (TESSERA_SIZE (layout->ooms[i].size_bytes));
  const TesseraCategory category = (TesseraCategory) whose->categories[block];
  g_autofree char *line = tessera_owner_of (whose, TESSERA_BY_LINE, block);
  /* "(backward)" alone says no more than the category. */
  const bool tells = line[0] != '(' || strstr (line, " of ") != NULL;
  if (!tells && tessera_category_is_unknown (category))
    return g_strdup (TESSERA_SIZE (layout->ooms[i].size_bytes));
  return g_strdup_printf ("%s for %s%s%s", TESSERA_SIZE (layout->ooms[i].size_bytes),
                          tessera_category_name (category), tells ? ", " : "",
                          tells ? line : "");
}

/* Categories that are named: less than a tenth explains little. */
#define MOST_CATEGORIES 3
#define LEAST_SHARE 0.1

/* Modules that differ in their first number, "layers.0.mlp" and "layers.7", or one without. */
typedef struct
{
  uint64_t bytes, first, last;
  bool is_numbered;
} Family;

/* What is live of a category at @event_index: Family by what stands before the number,
 * "layers.". g_hash_table_unref(). */
static GHashTable *
find_families (const TesseraWhose *whose, TesseraCategory category, uint32_t event_index)
{
  g_autoptr (GArray) owners =
      tessera_owners (whose, TESSERA_BY_MODULE, &category, event_index);
  GHashTable *families = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      size_t n;
      const char *digits = tessera_find_instance (owner->name, &n);
      const uint64_t number = digits != NULL ? g_ascii_strtoull (digits, NULL, 10) : 0;
      g_autofree char *prefix =
          digits != NULL ? g_strndup (owner->name, (gsize) (digits - owner->name))
                         : g_strdup (owner->name);
      Family *family = g_hash_table_lookup (families, prefix);

      if (family == NULL)
        {
          family = g_new (Family, 1);
          *family = (Family){ 0, number, number, digits != NULL };
          g_hash_table_insert (families, g_steal_pointer (&prefix), family);
        }
      family->bytes += owner->bytes;
      family->first = MIN (family->first, number);
      family->last = MAX (family->last, number);
    }
  return families;
}

/* The modules, or the function of the program, that hold most of a category: "layers.0-31";
 * NULL: none do. */
static char *
find_holder (const TesseraWhose *whose,
             TesseraCategory category,
             uint64_t bytes,
             uint32_t event_index)
{
  g_autoptr (GHashTable) families = find_families (whose, category, event_index);
  GHashTableIter iter;
  gpointer name, value;

  g_hash_table_iter_init (&iter, families);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      const Family *family = value;

      if (family->bytes <= bytes / 2 || *(const char *) name == '(')
        continue;
      if (!family->is_numbered)
        return g_strdup (name);
      return family->first == family->last
                 ? g_strdup_printf ("%s%" PRIu64, (char *) name, family->first)
                 : g_strdup_printf ("%s%" PRIu64 "-%" PRIu64, (char *) name,
                                    family->first, family->last);
    }
  return NULL;
}

/* "62 % activation (layers.0-11), 22 % optimizer state": "" where little is known. */
static void
append_filling (GString *text, const TesseraWhose *whose, uint32_t event_index)
{
  g_autoptr (GArray) rows =
      tessera_owners (whose, TESSERA_BY_CATEGORY, NULL, event_index);
  const uint64_t all_bytes = whose->layout->curves.live_bytes[event_index];
  int n = 0;

  for (guint i = 0; i < rows->len && n < MOST_CATEGORIES; i++)
    {
      const TesseraOwner *row = &g_array_index (rows, TesseraOwner, i);
      const double share = (double) row->bytes / (double) MAX (all_bytes, 1);
      TesseraCategory category = TESSERA_PARAMETER;

      while (strcmp (tessera_category_name (category), row->name) != 0)
        category++;
      if (share < LEAST_SHARE ||
          (share > 1 - LEAST_SHARE && tessera_category_is_unknown (category)))
        continue;
      g_autofree char *holder = find_holder (whose, category, row->bytes, event_index);
      g_string_append_printf (text, "%s%.0f %% %s", text->len > 0 ? ", " : "",
                              100 * share, row->name);
      if (holder != NULL)
        g_string_append_printf (text, " (%s)", holder);
      n++;
    }
}

char *
tessera_describe_filling (const TesseraWhose *whose)
{
  const TesseraLayout *layout = whose->layout;
  const uint32_t at = layout->n_ooms > 0 ? layout->ooms[layout->n_ooms - 1].event_index
                                         : tessera_fullest (layout, 0, layout->n_events);
  g_autoptr (GString) filling = g_string_new (NULL);
  GString *text = g_string_new (NULL);

  if (at < layout->n_events)
    {
      const char *live = TESSERA_SIZE (layout->curves.live_bytes[at]);
      g_autofree char *refused = tessera_describe_refused (whose, at);
      g_autofree char *moment = tessera_name_moment (whose, at);

      append_filling (filling, whose, at);
      g_string_append_printf (text, "%s%s%s", refused != NULL ? "Refused" : "Fullest",
                              *moment == '\0'                   ? ""
                              : g_str_has_prefix (moment, "be") ? " "
                                                                : " in ",
                              moment);
      if (refused != NULL)
        g_string_append_printf (text, ": %s. Of %s in use", refused, live);
      else
        g_string_append_printf (text, "%s with %s", *moment != '\0' ? "," : "", live);
      g_string_append_printf (text, "%s%s.", filling->len > 0 ? ": " : "", filling->str);
    }
  return g_string_free (text, FALSE);
}

/* ---- Each phase's own peak ---- */

static int
compare_begins (const void *a, const void *b)
{
  const TesseraPhasePeak *left = a, *right = b;

  return (left->first_index > right->first_index) -
         (left->first_index < right->first_index);
}

/* The row of the phases that are called as the one of @event_index. */
static guint
find_peak (const TesseraWhose *whose, uint32_t event_index, GArray *peaks)
{
  const TesseraStructure *structure = whose->structure;
  const uint32_t phase = structure->phase_of_event[event_index];
  const bool is_outside = phase >= structure->n_phases;
  const TesseraPhase *main =
      is_outside ? NULL : &structure->phases[structure->phases[phase].main];
  const char *name =
      is_outside ? TESSERA_OUTSIDE_OF_PHASES : tessera_phase_name (whose->trace, main);
  const TesseraPhasePeak fresh = { .name = name,
                                   .first_index =
                                       is_outside ? TESSERA_NONE : event_index };
  guint row = 0;

  while (row < peaks->len &&
         strcmp (g_array_index (peaks, TesseraPhasePeak, row).name, name) != 0)
    row++;
  if (row == peaks->len)
    g_array_append_val (peaks, fresh);
  return row;
}

GArray *
tessera_phase_peaks (const TesseraWhose *whose)
{
  const TesseraLayout *layout = whose->layout;
  const TesseraStructure *structure = whose->structure;
  GArray *peaks = g_array_new (FALSE, FALSE, sizeof (TesseraPhasePeak));
  uint32_t phase = TESSERA_NONE;
  guint row = 0;

  for (uint32_t i = 0; i < layout->n_events; i++)
    {
      if (i == 0 || structure->phase_of_event[i] != phase)
        row = find_peak (whose, i, peaks);
      phase = structure->phase_of_event[i];
      TesseraPhasePeak *peak = &g_array_index (peaks, TesseraPhasePeak, row);
      if (layout->curves.live_bytes[i] > peak->live_bytes)
        {
          peak->live_bytes = layout->curves.live_bytes[i];
          peak->event_index = i;
        }
      peak->reserved_bytes = MAX (peak->reserved_bytes, layout->curves.reserved_bytes[i]);
    }
  g_array_sort (peaks, compare_begins);
  return peaks;
}
