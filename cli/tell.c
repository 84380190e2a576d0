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

void
cli_tell_notes (const CliStudy *study)
{
  cli_array ("notes");
  for (size_t i = 0; i < study->trace->n_meta; i++)
    if (g_str_has_prefix (study->trace->meta[i].key, "note."))
      {
        const char *note = cli_shown (study->trace->meta[i].value);

        cli_say ("note: %s\n", note);
        cli_member (NULL, note);
      }
  cli_close ();
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
cli_tell_edits (const CliStudy *study)
{
  size_t n_edits = tessera_history_get_n_standing (study->history);
  const TesseraEdit *edits = tessera_history_get (study->history, NULL);
  const char *from = cli_given.edits_path;

  if (n_edits > 0)
    cli_say ("%zu edit%s of %s applied%s\n", n_edits, n_edits == 1 ? "" : "s",
             cli_shown (from != NULL ? from : study->path),
             from != NULL ? "" : " (--no-edits leaves them out)");
  cli_array ("edits");
  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);

      if (is_about_nothing (study, &edits[i]))
        cli_say ("  of these \"%s\" is about no block of %s\n", cli_shown (edits[i].name),
                 cli_shown (study->path));
      cli_object (NULL);
      cli_member ("name", edits[i].name);
      cli_member ("text", text);
      cli_close ();
    }
  cli_close ();
}

void
cli_member_warnings (const CliStudy *study)
{
  const TesseraLeak *leak = &study->needs.leak;

  cli_member_bool ("cut_off", tessera_describe_cut (study->trace) != NULL);
  if (!cli_object_if ("leak", leak->step_bytes > 0))
    return;
  cli_member ("step_bytes", leak->step_bytes);
  cli_member ("steps", leak->n_steps);
  cli_member ("line", leak->line);
  cli_close ();
}

void
cli_tell_warnings (const CliStudy *study)
{
  const char *cut = tessera_describe_cut (study->trace);
  g_autofree char *leak = tessera_leak_describe (
      &study->needs.leak, study->needs.native_bytes, study->trace->device_bytes);

  if (leak != NULL)
    cli_say ("%s\n", leak);
  if (cut != NULL)
    cli_say ("%s\n", cut);
  cli_member_warnings (study);
}

static void
say_bar (const char *label, uint64_t bytes, uint64_t whole)
{
  g_autofree char *bar = g_strnfill (
      whole > 0 ? (gsize) ((double) bytes / (double) whole * 40 + 0.5) : 0, '#');

  cli_say ("  %-22s %12s  %s\n", label, TESSERA_SIZE (bytes), bar);
}

void
cli_tell_parts (const CliStudy *study, const TesseraParts *parts)
{
  TesseraPart list[TESSERA_N_PARTS];

  tessera_parts_list (study->trace, parts, list);
  cli_say ("\nAt event %u:\n", parts->event_index);
  cli_member ("at_event", parts->event_index);
  cli_member ("reserved_bytes", parts->reserved_bytes);
  cli_object ("parts");
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    {
      if (list[i].bytes > 0 || !list[i].is_rare)
        say_bar (list[i].name, list[i].bytes, parts->reserved_bytes);
      cli_member (list[i].key, list[i].bytes);
    }
  cli_close ();
  say_bar ("= reserved", parts->reserved_bytes, parts->reserved_bytes);
  if (parts->request_bytes > 0)
    cli_say ("  the request then: %s; largest hole it could use: %s\n",
             TESSERA_SIZE (parts->request_bytes),
             TESSERA_SIZE (parts->largest_hole_bytes));
  if (parts->free_at_driver_bytes != TESSERA_NOWHERE)
    cli_say ("  free at the driver: %s\n", TESSERA_SIZE (parts->free_at_driver_bytes));
  if (parts->outside_bytes != TESSERA_NOWHERE && parts->outside_bytes > 0)
    cli_say ("  device memory that is not PyTorch's: %s\n",
             TESSERA_SIZE (parts->outside_bytes));
  cli_member ("largest_hole_bytes", parts->largest_hole_bytes);
  cli_member ("request_bytes", parts->request_bytes);
  cli_member ("free_at_driver_bytes", parts->free_at_driver_bytes);
  cli_member ("outside_bytes", parts->outside_bytes);
}

const TesseraLayoutKind cli_policies[CLI_N_POLICIES] = { TESSERA_LAYOUT_NATIVE,
                                                         TESSERA_LAYOUT_EXPANDABLE,
                                                         TESSERA_LAYOUT_PLAN };

/* Nothing where it is not known. */
static void
add_need (CliTable *table, const char *policy, const TesseraNeed *need)
{
  if (need->smallest_bytes == 0)
    return;
  cli_table_text (table, policy);
  CLI_INTEGERS (table, need->smallest_bytes, need->retries, need->endless_bytes);
}

/* The plan beside the bound, behind the table. */
static void
say_height (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *proof = cli_proof_text (plan);
  g_autofree char *lengths =
      study->follows_length ? cli_lengths_text (study->lengths) : NULL;
  const guint64 proven_bytes = tessera_plan_proven_bound (plan);
  const guint64 alive_bytes =
      plan->crosses_streams ? study->across_bound_bytes : study->needs.bound_bytes;

  if (lengths != NULL)
    {
      cli_say ("%s is for %s\n",
               study->followed != NULL ? cli_shown (study->followed) : "the plan",
               lengths);
      return;
    }
  cli_say ("%s's height is %s%s: %s%s",
           study->followed != NULL ? cli_shown (study->followed) : "the plan",
           TESSERA_SIZE (plan->height_bytes),
           plan->height_bytes < alive_bytes ? " (what it has no place for is beside it)"
                                            : "",
           proof, plan->crosses_streams ? ", across streams" : "");
  /* What is proven is of any number of steps, in any order. */
  if (proven_bytes > study->needs.bound_bytes)
    {
      if (!tessera_plan_is_optimal (plan))
        cli_say (" of %s", TESSERA_SIZE (proven_bytes));
      cli_say (" for such steps in any number");
    }
  cli_say ("\n");
}

static void
say_needs (const CliStudy *study)
{
  static const char *const columns[] = { "policy", "smallest_device_bytes",
                                         "cache_flushes_on_it",
                                         "reserved_with_memory_to_spare_bytes", NULL };
  if (study->needs.bound_bytes == 0)
    return;
  cli_say ("\n");
  CliTable *table = cli_table_new (NULL, columns);
  for (size_t i = 0; i < CLI_N_POLICIES; i++)
    add_need (table, cli_study_policy_name (study, cli_policies[i]),
              &study->need[cli_policies[i]]);
  add_need (table, "plan --across-streams", &study->across);
  /* 0: there is one stream. */
  bool is_apart = study->across_bound_bytes > 0 &&
                  study->across_bound_bytes < study->needs.bound_bytes;
  add_need (table, is_apart ? "least with streams apart" : "least of any layout",
            &(TesseraNeed){ study->needs.bound_bytes, G_MAXUINT64, G_MAXUINT64 });
  if (is_apart)
    add_need (table, "least of any layout",
              &(TesseraNeed){ study->across_bound_bytes, G_MAXUINT64, G_MAXUINT64 });
  cli_table_print (table);
  if (study->plan != NULL)
    say_height (study);
}

static void
member_need (const char *policy, const TesseraNeed *need)
{
  g_autofree char *bytes = g_strdup_printf ("%s_bytes", policy);
  g_autofree char *retries = g_strdup_printf ("%s_retries", policy);
  g_autofree char *endless = g_strdup_printf ("%s_endless_bytes", policy);

  cli_member (bytes, need->smallest_bytes);
  cli_member (retries, need->retries);
  cli_member (endless, need->endless_bytes);
}

void
cli_tell_needs (const CliStudy *study)
{
  if (!cli_given.json)
    {
      say_needs (study);
      return;
    }
  member_need ("native", &study->need[TESSERA_LAYOUT_NATIVE]);
  member_need ("expandable", &study->need[TESSERA_LAYOUT_EXPANDABLE]);
  member_need ("plan", &study->need[TESSERA_LAYOUT_PLAN]);
  member_need ("across_streams", &study->across);
  cli_member ("bound_bytes", study->needs.bound_bytes);
  if (study->plan == NULL)
    return;
  cli_object ("planned");
  g_autofree char *lengths =
      study->follows_length ? cli_lengths_text (study->lengths) : NULL;
  cli_member ("height_bytes", study->plan->height_bytes);
  cli_member_proof (study->plan);
  cli_member ("for_every_length", lengths);
  cli_close ();
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
cli_tell_recording (const CliStudy *study)
{
  const TesseraLayout *layout = study->layout;
  const char *policy = tessera_trace_get_meta (study->trace, "policy");
  const char *source = tessera_trace_get_meta (study->trace, "plan_source");
  const gboolean has_pool = layout->pool_bytes > 0;
  guint64 lost = tessera_trace_get_number (study->trace, "lost_events"),
          world = tessera_trace_get_number (study->trace, "world"),
          rank = tessera_trace_get_number (study->trace, "rank");
  g_autofree char *hits = cli_hits_text (layout);

  if (!cli_object_if ("recording", policy != NULL))
    return;
  cli_say ("recorded by Tessera under policy %s", cli_shown (policy));
  cli_member ("policy", policy);
  cli_member ("plan_source", source);
  cli_member_bool ("followed_plan", has_pool);
  if (world > 1)
    cli_say (", rank %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, rank, world);
  cli_member ("rank", rank);
  cli_member ("world", world);
  cli_member ("lost_events", lost);
  if (has_pool)
    {
      cli_say ("; plan %s: %s (%s), pool %s", source != NULL ? cli_shown (source) : "",
               hits, TESSERA_SIZE (layout->miss_bytes),
               TESSERA_SIZE (layout->pool_bytes));
      cli_member ("declined_at_event", layout->declined_index);
      cli_member_hits (layout);
      cli_member ("missed_bytes", layout->miss_bytes);
      cli_member ("pool_bytes", layout->pool_bytes);
      cli_member ("extra_bytes", extra_bytes (layout));
    }
  else if (source != NULL)
    cli_say ("; plan %s was declined", cli_shown (source));
  if (has_pool && layout->declined_index == 0)
    cli_say (", extras %s", TESSERA_SIZE (extra_bytes (layout)));
  else if (has_pool)
    cli_say ("; it did not suit, and was declined at event %u", layout->declined_index);
  cli_say ("\n");
  if (lost > 0)
    cli_say ("note: %" G_GUINT64_FORMAT
             " events are lost: they came faster than they could be written\n",
             lost);
  cli_close ();
}
