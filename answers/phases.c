/* Each phase's own peak: see whose.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/whose.h"

static int
compare_begins (const void *a, const void *b)
{
  const TesseraPhasePeak *left = a, *right = b;

  return (left->first_index > right->first_index) -
         (left->first_index < right->first_index);
}

/* The row of the phases that are called as the one of @event_index. */
static guint
find_row (const TesseraWhose *whose,
          uint32_t event_index,
          GHashTable *rows,
          GArray *peaks)
{
  const TesseraStructure *structure = whose->structure;
  const uint32_t phase = structure->phase_of_event[event_index];
  const bool is_outside = phase >= structure->n_phases;
  const TesseraPhase *main =
      is_outside ? NULL : &structure->phases[structure->phases[phase].main];
  const char *name =
      is_outside ? TESSERA_OUTSIDE_OF_PHASES : tessera_phase_name (whose->trace, main);
  gpointer row;

  if (!g_hash_table_lookup_extended (rows, name, NULL, &row))
    {
      const TesseraPhasePeak peak = { .name = name,
                                      .first_index =
                                          is_outside ? TESSERA_NONE : event_index };

      row = GUINT_TO_POINTER (peaks->len);
      g_hash_table_insert (rows, (gpointer) name, row);
      g_array_append_val (peaks, peak);
    }
  return GPOINTER_TO_UINT (row);
}

GArray *
tessera_phase_peaks (const TesseraWhose *whose)
{
  const TesseraLayout *layout = whose->layout;
  const TesseraStructure *structure = whose->structure;
  g_autoptr (GHashTable) rows = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *peaks = g_array_new (FALSE, FALSE, sizeof (TesseraPhasePeak));
  uint32_t phase = TESSERA_NONE;
  guint row = 0;

  for (uint32_t i = 0; i < layout->n_events; i++)
    {
      if (i == 0 || structure->phase_of_event[i] != phase)
        row = find_row (whose, i, rows, peaks);
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
