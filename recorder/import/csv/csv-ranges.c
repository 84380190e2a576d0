/*
 * Ranges of a table of events: see csv-ranges.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/csv/csv-ranges.h"

#include <string.h>

#include <glib.h>

static const struct
{
  const char *column;
  uint8_t kind;
} levels[TESSERA_CSV_LEVELS] = { { "iteration", TESSERA_RANGE_STEP },
                                 { "phase", TESSERA_RANGE_PHASE },
                                 { "module", TESSERA_RANGE_MODULE } };

void
tessera_csv_ranges_init (TesseraCsvRanges *ranges, TesseraCsv *csv, TesseraTrace *trace)
{
  *ranges = (TesseraCsvRanges){ .csv = csv, .trace = trace };
  for (size_t level = 0; level < TESSERA_CSV_LEVELS; level++)
    ranges->columns[level] = tessera_csv_column (csv, levels[level].column);
}

static TesseraStatus
close_from (TesseraCsvRanges *ranges, size_t from_level, int64_t at_ns)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t level = TESSERA_CSV_LEVELS; level-- > from_level && status == TESSERA_OK;)
    {
      TesseraRange *range = &ranges->open[level];

      if (!ranges->is_open[level])
        continue;
      ranges->is_open[level] = false;
      range->end_index = (uint32_t) ranges->trace->n_events;
      range->end_ns = at_ns;
      if (tessera_trace_add_range (ranges->trace, range) != TESSERA_OK)
        return tessera_csv_no_memory (ranges->csv);
      status = tessera_csv_hold (ranges->csv, TESSERA_CSV_RANGE_BYTES);
    }
  return status;
}

/* A bare number of an iteration is called "step N", like PyTorch's own. */
static TesseraStatus
open_range (TesseraCsvRanges *ranges, size_t level, const char *text, int64_t at_ns)
{
  TesseraRange *range = &ranges->open[level];
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *name = level == 0 && valid[strspn (valid, "0123456789")] == '\0'
                              ? g_strdup_printf ("step %s", valid)
                              : g_strdup (valid);

  *range = (TesseraRange){ .begin_index = (uint32_t) ranges->trace->n_events,
                           .begin_ns = at_ns,
                           .parent = TESSERA_NONE,
                           .kind = levels[level].kind };
  if (tessera_trace_intern (ranges->trace, name, strlen (name), &range->name) !=
      TESSERA_OK)
    return tessera_csv_no_memory (ranges->csv);
  ranges->is_open[level] = true;
  return TESSERA_OK;
}

/* Compares what is open with the row: from the first difference inwards, all is new. The
 * texts of the row before are gone, so the names are compared. */
TesseraStatus
tessera_csv_ranges_follow (TesseraCsvRanges *ranges, int64_t at_ns)
{
  bool is_new = false;

  for (size_t level = 0; level < TESSERA_CSV_LEVELS; level++)
    {
      const char *text = tessera_csv_text (ranges->csv, ranges->columns[level]);
      const char *open =
          ranges->is_open[level]
              ? tessera_trace_string (ranges->trace, ranges->open[level].name)
              : "";
      TesseraStatus status = TESSERA_OK;

      if (level == 0 && g_str_has_prefix (open, "step ") &&
          !g_str_has_prefix (text, "step "))
        open += strlen ("step ");
      if (!is_new && strcmp (open, text) != 0)
        {
          is_new = true;
          status = close_from (ranges, level, at_ns);
        }
      if (status == TESSERA_OK && is_new && *text != '\0')
        status = open_range (ranges, level, text, at_ns);
      if (status != TESSERA_OK)
        return status;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_csv_ranges_end (TesseraCsvRanges *ranges, int64_t at_ns)
{
  return close_from (ranges, 0, at_ns);
}
