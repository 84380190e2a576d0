/* See tell.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell.h"

#include <stdio.h>
#include <string.h>

#include "edits/edits.h"

const char *
cli_layout_name (TesseraLayoutKind kind)
{
  static const char *const names[] = {
    [TESSERA_LAYOUT_RECORDED] = "as recorded",
    [TESSERA_LAYOUT_NATIVE] = "native",
    [TESSERA_LAYOUT_EXPANDABLE] = "expandable segments",
    [TESSERA_LAYOUT_PLAN] = "plan",
  };

  return names[kind];
}

const char *
cli_study_policy_name (const CliStudy *study, TesseraLayoutKind kind)
{
  return kind == TESSERA_LAYOUT_PLAN && study->followed != NULL ? study->followed
                                                                : cli_layout_name (kind);
}

const char *
cli_class_name (guint8 lifetime_class)
{
  return lifetime_class == 0 ? "mixed" : edits_get_name (EDITS_CLASSES, lifetime_class);
}

const char *
cli_cause_name (TesseraCause cause)
{
  static const char *const names[] = {
    [TESSERA_CAUSE_NONE] = "none",
    [TESSERA_CAUSE_FRAGMENTATION] = "fragmentation",
    [TESSERA_CAUSE_STREAMS] = "streams",
    [TESSERA_CAUSE_PENDING] = "pending",
    [TESSERA_CAUSE_CACHE] = "cache",
    [TESSERA_CAUSE_SIZE] = "size",
    [TESSERA_CAUSE_LEAK] = "leak",
    [TESSERA_CAUSE_LIMIT] = "limit",
    [TESSERA_CAUSE_OTHER_SIZE] = "other size",
  };

  return names[cause];
}

static gboolean
is_note (const TesseraMeta *meta)
{
  return g_str_has_prefix (meta->key, "note.");
}

void
cli_print_notes (const CliStudy *study)
{
  for (size_t i = 0; i < study->trace->n_meta; i++)
    if (is_note (&study->trace->meta[i]))
      printf ("note: %s\n", cli_shown (study->trace->meta[i].value));
}

void
cli_json_notes (JsonBuilder *json, const CliStudy *study)
{
  cli_json_array (json, "notes");
  for (size_t i = 0; i < study->trace->n_meta; i++)
    if (is_note (&study->trace->meta[i]))
      json_builder_add_string_value (json, cli_shown (study->trace->meta[i].value));
  json_builder_end_array (json);
}

/* Groups and classes may be other edits' work: who asks for these is not judged. */
static gboolean
is_about_nothing (const CliStudy *study, const TesseraEdit *edit)
{
  g_autofree uint8_t *selected = g_new0 (uint8_t, study->blocks->n_blocks + 1);

  tessera_select (&edit->what, study->trace, study->blocks, study->structure, NULL, 0,
                  selected);
  return edit->what.group == NULL && edit->what.lifetime_class == 0 &&
         memchr (selected, 1, study->blocks->n_blocks) == NULL;
}

void
cli_print_edits (const CliStudy *study)
{
  size_t n_edits = tessera_history_get_n_standing (study->history);
  const TesseraEdit *edits = tessera_history_get (study->history, NULL);
  const char *from = cli_given.edits_path;

  if (n_edits > 0)
    printf ("%zu edit%s of %s applied%s\n", n_edits, n_edits == 1 ? "" : "s",
            cli_shown (from != NULL ? from : study->path),
            from != NULL ? "" : " (--no-edits leaves them out)");
  for (size_t i = 0; i < n_edits; i++)
    if (is_about_nothing (study, &edits[i]))
      printf ("  of these \"%s\" is about no block of %s\n", cli_shown (edits[i].name),
              cli_shown (study->path));
}

void
cli_json_edits (JsonBuilder *json, const CliStudy *study)
{
  static const char *const columns[] = { "name", "text", NULL };
  size_t n_edits = tessera_history_get_n_standing (study->history);
  const TesseraEdit *edits = tessera_history_get (study->history, NULL);
  CliTable *table = cli_table_new_member (json, "edits", columns);

  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);

      cli_table_text (table, edits[i].name);
      cli_table_text (table, text);
      cli_table_end_row (table);
    }
  cli_table_print (table);
}

void
cli_print_warnings (const CliStudy *study)
{
  char text[256];

  if (tessera_leak_describe (&study->needs.leak, study->needs.leak_line,
                             study->needs.native_bytes, study->trace->device_bytes, text,
                             sizeof text))
    puts (text);
  if (tessera_describe_cut (study->trace, text, sizeof text))
    puts (text);
}

void
cli_json_warnings (JsonBuilder *json, const CliStudy *study)
{
  const TesseraLeak *leak = &study->needs.leak;
  char cut[160];

  cli_json_bool (json, "cut_off", tessera_describe_cut (study->trace, cut, sizeof cut));
  if (leak->step_bytes == 0)
    {
      cli_json_null (json, "leak");
      return;
    }
  cli_json_object (json, "leak");
  cli_json_integer (json, "step_bytes", leak->step_bytes);
  cli_json_integer (json, "kept_bytes", leak->kept_bytes);
  cli_json_integer (json, "steps", leak->n_steps);
  cli_json_text (json, "line", study->needs.leak_line);
  json_builder_end_object (json);
}

static void
print_bar (const char *label, uint64_t bytes, uint64_t whole)
{
  g_autofree char *bar = g_strnfill (
      whole > 0 ? (gsize) ((double) bytes / (double) whole * 40 + 0.5) : 0, '#');

  printf ("  %-22s %12s  %s\n", label, TESSERA_SIZE (bytes), bar);
}

void
cli_print_parts (const CliStudy *study, const TesseraParts *parts)
{
  TesseraPart list[TESSERA_N_PARTS];

  tessera_parts_list (study->trace, parts, list);
  printf ("\nAt event %u:\n", parts->event_index);
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    if (list[i].bytes > 0 || !list[i].is_rare)
      print_bar (list[i].name, list[i].bytes, parts->reserved_bytes);
  print_bar ("= reserved", parts->reserved_bytes, parts->reserved_bytes);
  if (parts->request_bytes > 0)
    printf ("  the request then: %s; largest hole it could use: %s\n",
            TESSERA_SIZE (parts->request_bytes),
            TESSERA_SIZE (parts->largest_hole_bytes));
  if (parts->free_at_driver_bytes != TESSERA_NOWHERE)
    printf ("  free at the driver: %s\n", TESSERA_SIZE (parts->free_at_driver_bytes));
  if (parts->outside_bytes != TESSERA_NOWHERE && parts->outside_bytes > 0)
    printf ("  device memory that is not PyTorch's: %s\n",
            TESSERA_SIZE (parts->outside_bytes));
}

void
cli_json_parts (JsonBuilder *json, const CliStudy *study, const TesseraParts *parts)
{
  TesseraPart list[TESSERA_N_PARTS];

  tessera_parts_list (study->trace, parts, list);
  cli_json_integer (json, "at_event", parts->event_index);
  cli_json_integer (json, "reserved_bytes", parts->reserved_bytes);
  cli_json_object (json, "parts");
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    cli_json_integer (json, list[i].key, list[i].bytes);
  json_builder_end_object (json);
  cli_json_integer (json, "largest_hole_bytes", parts->largest_hole_bytes);
  cli_json_integer (json, "request_bytes", parts->request_bytes);
  cli_json_integer (json, "free_at_driver_bytes", parts->free_at_driver_bytes);
  cli_json_integer (json, "outside_bytes", parts->outside_bytes);
}

const TesseraLayoutKind cli_policies[CLI_N_POLICIES] = { TESSERA_LAYOUT_NATIVE,
                                                         TESSERA_LAYOUT_EXPANDABLE,
                                                         TESSERA_LAYOUT_PLAN };

/* Nothing where it is not known. */
static void
add_need (CliTable *table, const char *policy, const CliNeed *need)
{
  if (need->smallest_bytes == 0)
    return;
  cli_table_text (table, policy);
  CLI_INTEGERS (table, need->smallest_bytes, need->retries, need->endless_bytes);
  cli_table_end_row (table);
}

void
cli_print_needs (const CliStudy *study)
{
  static const char *const columns[] = { "policy", "smallest_device_bytes",
                                         "cache_flushes_on_it",
                                         "reserved_with_memory_to_spare_bytes", NULL };
  if (study->needs.bound_bytes == 0)
    return;
  puts ("");
  CliTable *table = cli_table_new (CLI_TABLE_TEXT, columns);
  for (size_t i = 0; i < CLI_N_POLICIES; i++)
    add_need (table, cli_study_policy_name (study, cli_policies[i]),
              &study->need[cli_policies[i]]);
  add_need (table, "plan --across-streams", &study->across);
  add_need (table, "least of any layout",
            &(CliNeed){ study->needs.bound_bytes, G_MAXUINT64, G_MAXUINT64 });
  if (study->across_bound_bytes < study->needs.bound_bytes)
    add_need (table, "least across streams",
              &(CliNeed){ study->across_bound_bytes, G_MAXUINT64, G_MAXUINT64 });
  cli_table_print (table);
  if (study->plan == NULL)
    return;
  g_autofree char *proof = cli_proof_text (study->plan);
  guint64 proven_bytes = tessera_plan_proven_bound (study->plan);
  printf ("%s's height is %s%s: %s%s",
          study->followed != NULL ? cli_shown (study->followed) : "the plan",
          TESSERA_SIZE (study->plan->height_bytes),
          study->plan->height_bytes < (study->plan->crosses_streams
                                           ? study->across_bound_bytes
                                           : study->needs.bound_bytes)
              ? " (what it has no place for is beside it)"
              : "",
          proof, study->plan->crosses_streams ? ", across streams" : "");
  /* What is proven is of any number of steps, in any order. */
  if (!tessera_plan_is_optimal (study->plan) && proven_bytes > study->needs.bound_bytes)
    printf (" of %s for such steps in any number", TESSERA_SIZE (proven_bytes));
  puts ("");
}

void
cli_json_needs (JsonBuilder *json, const CliStudy *study)
{
  static const char *const keys[CLI_N_POLICIES] = { "native", "expandable", "plan" };

  for (size_t i = 0; i < CLI_N_POLICIES; i++)
    {
      const CliNeed *need = &study->need[cli_policies[i]];
      g_autofree char *bytes = g_strdup_printf ("%s_bytes", keys[i]);
      g_autofree char *retries = g_strdup_printf ("%s_retries", keys[i]);
      g_autofree char *endless = g_strdup_printf ("%s_endless_bytes", keys[i]);

      cli_json_integer (json, bytes, need->smallest_bytes);
      cli_json_integer (json, retries, need->retries);
      cli_json_integer (json, endless, need->endless_bytes);
    }
  cli_json_integer (json, "across_streams_bytes", study->across.smallest_bytes);
  cli_json_integer (json, "across_streams_retries", study->across.retries);
  cli_json_integer (json, "across_streams_endless_bytes", study->across.endless_bytes);
  cli_json_integer (json, "bound_bytes", study->needs.bound_bytes);
  if (study->plan == NULL)
    return;
  cli_json_object (json, "planned");
  cli_json_integer (json, "height_bytes", study->plan->height_bytes);
  cli_json_proof (json, study->plan);
  json_builder_end_object (json);
}

/* The most that was reserved outside of the pool, which is there from the first event to
 * the last, unless the plan was declined. */
static guint64
extra_bytes (const TesseraLayout *layout)
{
  return layout->declined_index == 0 && layout->peak_reserved_bytes > layout->pool_bytes
             ? layout->peak_reserved_bytes - layout->pool_bytes
             : 0;
}

void
cli_print_recording (const CliStudy *study)
{
  const TesseraLayout *layout = study->layout;
  const char *policy = tessera_trace_get_meta (study->trace, "policy");
  const char *source = tessera_trace_get_meta (study->trace, "plan_source");
  guint64 lost = cli_study_number (study, "lost_events"),
          world = cli_study_number (study, "world");
  g_autofree char *planned =
      cli_planned_misses (layout->n_misses, layout->n_planned_misses);

  if (policy == NULL)
    return;
  printf ("recorded by Tessera under policy %s", cli_shown (policy));
  if (world > 1)
    printf (", rank %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT,
            cli_study_number (study, "rank"), world);
  if (layout->pool_bytes > 0)
    printf ("; plan %s: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
            " misses%s (%s), pool %s",
            source != NULL ? cli_shown (source) : "", layout->n_hits, layout->n_misses,
            planned, TESSERA_SIZE (layout->miss_bytes),
            TESSERA_SIZE (layout->pool_bytes));
  else if (source != NULL)
    printf ("; plan %s was declined", cli_shown (source));
  if (layout->pool_bytes > 0 && layout->declined_index == 0)
    printf (", extras %s", TESSERA_SIZE (extra_bytes (layout)));
  else if (layout->pool_bytes > 0)
    printf ("; it did not suit, and was declined at event %u", layout->declined_index);
  puts ("");
  if (lost > 0)
    printf ("note: %" G_GUINT64_FORMAT
            " events are lost: they came faster than they could be written\n",
            lost);
}

void
cli_json_recording (JsonBuilder *json, const CliStudy *study)
{
  const TesseraLayout *layout = study->layout;
  const char *policy = tessera_trace_get_meta (study->trace, "policy");

  if (policy == NULL)
    {
      cli_json_null (json, "recording");
      return;
    }
  cli_json_object (json, "recording");
  cli_json_text (json, "policy", policy);
  cli_json_text (json, "plan_source",
                 tessera_trace_get_meta (study->trace, "plan_source"));
  cli_json_bool (json, "followed_plan", layout->pool_bytes > 0);
  cli_json_integer (json, "rank", cli_study_number (study, "rank"));
  cli_json_integer (json, "world", cli_study_number (study, "world"));
  cli_json_integer (json, "lost_events", cli_study_number (study, "lost_events"));
  if (layout->pool_bytes > 0)
    {
      cli_json_integer (json, "declined_at_event", layout->declined_index);
      cli_json_integer (json, "hits", layout->n_hits);
      cli_json_integer (json, "misses", layout->n_misses);
      cli_json_integer (json, "planned_misses", layout->n_planned_misses);
      cli_json_integer (json, "missed_bytes", layout->miss_bytes);
      cli_json_integer (json, "pool_bytes", layout->pool_bytes);
      cli_json_integer (json, "extra_bytes", extra_bytes (layout));
    }
  json_builder_end_object (json);
}
