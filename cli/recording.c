/* See recording.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"
#include "cli/tell/misses.h"

#include <stdio.h>
#include <string.h>

static guint64
number (const TesseraTrace *trace, const char *key)
{
  const char *text = tessera_trace_get_meta (trace, key);
  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : 0;
}

void
cli_recording (const CliStudy *study, CliRecording *out_recording)
{
  const TesseraTrace *trace = study->trace;

  memset (out_recording, 0, sizeof *out_recording);
  out_recording->policy = tessera_trace_get_meta (trace, "policy");
  out_recording->plan_source = tessera_trace_get_meta (trace, "plan_source");
  out_recording->rank = number (trace, "rank");
  out_recording->world = number (trace, "world");
  out_recording->lost_events = number (trace, "lost_events");
  out_recording->was_followed = study->layout->pool_bytes > 0;
  if (!out_recording->was_followed)
    return;
  out_recording->pool_bytes = study->layout->pool_bytes;
  /* The pool is there from the first event to the last, unless it was declined. */
  if (study->layout->declined_index == 0 &&
      study->layout->peak_reserved_bytes > out_recording->pool_bytes)
    out_recording->extra_bytes =
        study->layout->peak_reserved_bytes - out_recording->pool_bytes;
  out_recording->declined_index = study->layout->declined_index;
  out_recording->hits = study->layout->n_hits;
  out_recording->misses = study->layout->n_misses;
  out_recording->planned_misses = study->layout->n_planned_misses;
  out_recording->missed_bytes = study->layout->miss_bytes;
}

void
cli_recording_print (const CliRecording *recording)
{
  char missed[32], pool[32], extra[32];
  g_autofree char *planned = NULL;

  if (recording->policy == NULL)
    return;
  planned = cli_planned_misses (recording->misses, recording->planned_misses);
  printf ("recorded by Tessera under policy %s", cli_shown (recording->policy));
  if (recording->world > 1)
    printf (", rank %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, recording->rank,
            recording->world);
  if (recording->was_followed)
    printf ("; plan %s: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
            " misses%s (%s), pool %s",
            recording->plan_source != NULL ? cli_shown (recording->plan_source) : "",
            recording->hits, recording->misses, planned,
            tessera_format_bytes (recording->missed_bytes, missed, sizeof missed),
            tessera_format_bytes (recording->pool_bytes, pool, sizeof pool));
  if (recording->was_followed && recording->declined_index == 0)
    printf (", extras %s",
            tessera_format_bytes (recording->extra_bytes, extra, sizeof extra));
  if (recording->declined_index > 0)
    printf ("; it did not suit, and was declined at event %" G_GUINT64_FORMAT,
            recording->declined_index);
  if (!recording->was_followed && recording->plan_source != NULL)
    printf ("; plan %s was declined", cli_shown (recording->plan_source));
  puts ("");
  if (recording->lost_events > 0)
    printf ("note: %" G_GUINT64_FORMAT " events are lost: they came faster than they "
            "could be written\n",
            recording->lost_events);
}

void
cli_recording_json (JsonBuilder *builder, const CliRecording *recording)
{
  json_builder_set_member_name (builder, "recording");
  if (recording->policy == NULL)
    {
      json_builder_add_null_value (builder);
      return;
    }
  json_builder_begin_object (builder);
  cli_json_text (builder, "policy", recording->policy);
  cli_json_text (builder, "plan_source", recording->plan_source);
  cli_json_bool (builder, "followed_plan", recording->was_followed);
  cli_json_bytes (builder, "rank", recording->rank);
  cli_json_bytes (builder, "world", recording->world);
  cli_json_bytes (builder, "lost_events", recording->lost_events);
  if (recording->was_followed)
    {
      cli_json_bytes (builder, "declined_at_event", recording->declined_index);
      cli_json_bytes (builder, "hits", recording->hits);
      cli_json_bytes (builder, "misses", recording->misses);
      cli_json_bytes (builder, "planned_misses", recording->planned_misses);
      cli_json_bytes (builder, "missed_bytes", recording->missed_bytes);
      cli_json_bytes (builder, "pool_bytes", recording->pool_bytes);
      cli_json_bytes (builder, "extra_bytes", recording->extra_bytes);
    }
  json_builder_end_object (builder);
}
