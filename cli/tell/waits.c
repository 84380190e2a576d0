/* See waits.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/waits.h"

#include <stdio.h>

#include "planner/waits.h"

#define MOST_SAID 8

gboolean
cli_parse_waits (const char *text, CliWaits *out_waits)
{
  guint64 most = 0;

  *out_waits = (CliWaits){ .kind = CLI_WAITS_ALL };
  if (text == NULL || g_str_equal (text, "all"))
    return TRUE;
  out_waits->kind = g_str_equal (text, "curve") ? CLI_WAITS_CURVE : CLI_WAITS_AT_MOST;
  if (out_waits->kind == CLI_WAITS_CURVE || g_str_equal (text, "none"))
    return TRUE;
  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &most, NULL))
    return FALSE;
  out_waits->most = (size_t) most;
  return TRUE;
}

/* "1.20 ms" */
static char *
format_ns (gint64 ns)
{
  return ABS (ns) < 1000000 ? g_strdup_printf ("%.0f us", (double) ns / 1e3)
                            : g_strdup_printf ("%.2f ms", (double) ns / 1e6);
}

void
cli_print_waits (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  TesseraWaits waits = tessera_waits_of (plan);

  if (!plan->across_streams)
    return;
  g_autofree char *slack = format_ns (TESSERA_SLACK_NS);
  g_autofree char *stall = format_ns (waits.stall_ns);
  printf ("%zu hand-overs between streams, %zu with slack (%s or more), %zu without\n",
          waits.n_hand_overs, waits.n_hand_overs - waits.n_waits,
          study->trace->has_time ? slack : "64 requests", waits.n_waits);
  if (waits.n_pending == 0)
    return;
  printf ("%zu of these take a range before the host saw that its side streams were done",
          waits.n_pending);
  if (study->trace->has_time)
    printf (", by at most %s", stall);
  puts ("");
}

static void
json_slack (JsonBuilder *builder, const char *key, gint64 slack)
{
  json_builder_set_member_name (builder, key);
  if (slack == TESSERA_NO_SLACK)
    json_builder_add_null_value (builder);
  else
    json_builder_add_int_value (builder, slack);
}

static void
json_hand_over (JsonBuilder *builder,
                const TesseraPlan *plan,
                const TesseraHandOver *pair)
{
  const TesseraSlot *from = &plan->slots[pair->from_slot];
  const TesseraSlot *to = &plan->slots[pair->to_slot];

  json_builder_begin_object (builder);
  cli_json_bytes (builder, "from_slot", pair->from_slot);
  cli_json_bytes (builder, "to_slot", pair->to_slot);
  cli_json_bytes (builder, "from_block", from->block);
  cli_json_bytes (builder, "to_block", to->block);
  cli_json_bytes (builder, "from_stream", from->stream);
  cli_json_bytes (builder, "to_stream", to->stream);
  if (pair->event_slot != TESSERA_NONE)
    cli_json_bytes (builder, "event_slot", pair->event_slot);
  cli_json_bool (builder, "side_streams", from->side_streams);
  json_slack (builder, "slack_ns", pair->slack_ns);
  json_slack (builder, "slack_requests", pair->slack_requests);
  cli_json_bool (builder, "waits", tessera_hand_over_waits (pair));
  json_builder_end_object (builder);
}

void
cli_json_waits (JsonBuilder *builder, const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  TesseraWaits waits = tessera_waits_of (plan);

  cli_json_bytes (builder, "hand_overs", plan->n_hand_overs);
  if (!plan->across_streams)
    return;
  cli_json_bytes (builder, "waits", waits.n_waits);
  cli_json_bytes (builder, "waits_for_side_streams", waits.n_pending);
  cli_json_number (builder, "longest_stall_ns", (double) waits.stall_ns);
  json_builder_set_member_name (builder, "hand_over_list");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    json_hand_over (builder, plan, &plan->hand_overs[i]);
  json_builder_end_array (builder);
}

static void
print_row (const CliStudy *study, uint64_t from_bytes, const TesseraWaits *waits)
{
  char height[32], from[32];
  g_autofree char *stall = format_ns (waits->stall_ns);

  printf (
      "%10zu %12zu %11s %9.2f %% %14s  %s\n", waits->n_waits, waits->n_hand_overs,
      tessera_format_bytes (waits->height_bytes, height, sizeof height),
      100.0 * (double) waits->height_bytes /
          (double) MAX (tessera_blocks_bound (study->blocks, 0, study->blocks->n_events,
                                              &(uint32_t){ 0 }),
                        1),
      study->trace->has_time ? stall : "-",
      from_bytes == 0 ? "all"
      : from_bytes == UINT64_MAX
          ? "none"
          : tessera_format_bytes (from_bytes - 1, from, sizeof from));
}

TesseraStatus
cli_print_waits_curve (const CliStudy *study,
                       const TesseraPlanOptions *options,
                       TesseraError *error)
{
  uint64_t steps[TESSERA_MAX_WAITS_STEPS];
  size_t n_steps = tessera_waits_steps (study->blocks, steps);
  TesseraPlanOptions with = *options;
  TesseraStatus status = TESSERA_OK;

  if (study->trace->n_streams <= 1)
    {
      printf ("%s has one stream: nothing passes between streams, and nothing waits\n",
              cli_shown (study->path));
      return TESSERA_OK;
    }
  with.across_streams = true;
  printf ("%10s %12s %11s %11s %14s  %s\n", "waits", "hand-overs", "height", "of active",
          "longest stall", "blocks above");
  for (size_t i = 0; i < n_steps && status == TESSERA_OK; i++)
    {
      TesseraPlan *plan = NULL;

      with.waits_from_bytes = steps[i];
      status = tessera_plan_trace (study->trace, study->blocks, study->structure, &with,
                                   error, &plan);
      if (status == TESSERA_OK)
        {
          const TesseraWaits waits = tessera_waits_of (plan);

          print_row (study, steps[i], &waits);
        }
      tessera_plan_free (plan);
    }
  return status;
}

static void
print_hand_over (const CliStudy *study, const TesseraHandOver *pair, gboolean takes)
{
  const TesseraPlan *plan = study->plan;
  uint32_t other = takes ? pair->from_slot : pair->to_slot;
  const TesseraSlot *from = &plan->slots[pair->from_slot];
  g_autofree char *slack =
      pair->slack_ns == TESSERA_NO_SLACK
          ? g_strdup_printf ("%" G_GINT64_FORMAT " requests", pair->slack_requests)
          : format_ns (pair->slack_ns);
  g_autofree char *event =
      pair->event_slot == TESSERA_NONE
          ? g_strdup ("")
          : g_strdup_printf ("an event on stream %u at block %u's request%s",
                             from->stream, plan->slots[pair->event_slot].block,
                             from->side_streams ? " and " : "");

  printf ("%s block %u of stream %u: waits for %s%s, slack %s%s\n",
          takes ? "takes over from" : "hands on to", plan->slots[other].block,
          plan->slots[other].stream, event, from->side_streams ? "its side streams" : "",
          slack, tessera_hand_over_waits (pair) ? " (may stand still)" : "");
}

void
cli_explain_waits (JsonBuilder *builder, const CliStudy *study, uint32_t block)
{
  const TesseraPlan *plan = study->plan;
  guint n_said = 0;

  if (!plan->across_streams)
    return;
  if (builder != NULL)
    {
      json_builder_set_member_name (builder, "hand_over_list");
      json_builder_begin_array (builder);
    }
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    {
      const TesseraHandOver *pair = &plan->hand_overs[i];
      gboolean takes = plan->slots[pair->to_slot].block == block;

      if (!takes && plan->slots[pair->from_slot].block != block)
        continue;
      if (builder != NULL)
        json_hand_over (builder, plan, pair);
      else if (n_said++ < MOST_SAID)
        print_hand_over (study, pair, takes);
    }
  if (builder != NULL)
    json_builder_end_array (builder);
  else if (n_said > MOST_SAID)
    printf ("... and %u more\n", n_said - MOST_SAID);
}
