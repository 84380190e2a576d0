/* The verdict and its parts as JSON and as text. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/verdict.h"

#include "cli/tell/proof.h"

#include <stdio.h>

static const char *const cause_names[] = {
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

const char *
cli_cause_name (TesseraCause cause)
{
  return cause_names[cause];
}

void
cli_json_parts (JsonBuilder *builder, const CliStudy *study, const TesseraParts *parts)
{
  TesseraPart list[TESSERA_N_PARTS];

  tessera_parts_list (study->trace, parts, list);
  cli_json_bytes (builder, "at_event", parts->event_index);
  cli_json_bytes (builder, "reserved_bytes", parts->reserved_bytes);
  json_builder_set_member_name (builder, "parts");
  json_builder_begin_object (builder);
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    cli_json_bytes (builder, list[i].key, list[i].bytes);
  json_builder_end_object (builder);
  cli_json_bytes (builder, "largest_hole_bytes", parts->largest_hole_bytes);
  cli_json_bytes (builder, "request_bytes", parts->request_bytes);
  cli_json_bytes (builder, "free_at_driver_bytes", parts->free_at_driver_bytes);
  cli_json_bytes (builder, "outside_bytes", parts->outside_bytes);
}

static const struct
{
  const char *key;
  const char *label;
  TesseraLayoutKind kind;
} policies[] = {
  { "native", "native", TESSERA_LAYOUT_NATIVE },
  { "expandable", "expandable segments", TESSERA_LAYOUT_EXPANDABLE },
  { "plan", "plan", TESSERA_LAYOUT_PLAN },
};

void
cli_json_warnings (JsonBuilder *builder, const CliStudy *study)
{
  const TesseraLeak *leak = &study->needs.leak;
  char cut[160];

  cli_json_bool (builder, "cut_off",
                 tessera_describe_cut (study->trace, cut, sizeof cut));
  json_builder_set_member_name (builder, "leak");
  if (leak->step_bytes == 0)
    {
      json_builder_add_null_value (builder);
      return;
    }
  json_builder_begin_object (builder);
  cli_json_bytes (builder, "step_bytes", leak->step_bytes);
  cli_json_bytes (builder, "kept_bytes", leak->kept_bytes);
  cli_json_bytes (builder, "steps", leak->n_steps);
  cli_json_text (builder, "line", study->needs.leak_line);
  json_builder_end_object (builder);
}

void
cli_json_needs (JsonBuilder *builder, const CliStudy *study)
{
  for (size_t i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      const CliNeed *need = &study->need[policies[i].kind];
      const struct
      {
        const char *suffix;
        uint64_t value;
      } members[] = {
        { "bytes", need->smallest_bytes },
        { "retries", need->retries },
        { "endless_bytes", need->endless_bytes },
      };
      for (size_t k = 0; k < G_N_ELEMENTS (members); k++)
        {
          g_autofree char *key =
              g_strdup_printf ("%s_%s", policies[i].key, members[k].suffix);
          cli_json_bytes (builder, key, members[k].value);
        }
    }
  cli_json_bytes (builder, "bound_bytes", study->needs.bound_bytes);
  if (study->plan != NULL)
    {
      json_builder_set_member_name (builder, "planned");
      json_builder_begin_object (builder);
      cli_json_bytes (builder, "height_bytes", study->plan->height_bytes);
      cli_json_proof (builder, study->plan);
      json_builder_end_object (builder);
    }
}

static void
print_bar (const char *label, uint64_t bytes, uint64_t whole)
{
  char text[32];
  int n = whole > 0 ? (int) ((double) bytes / (double) whole * 40 + 0.5) : 0;
  printf ("  %-22s %12s  ", label, tessera_format_bytes (bytes, text, sizeof text));
  for (int i = 0; i < n; i++)
    fputs ("#", stdout);
  puts ("");
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
  char hole[32], request[32], driver[32];
  if (parts->request_bytes > 0)
    printf ("  the request then: %s; largest hole it could use: %s\n",
            tessera_format_bytes (parts->request_bytes, request, sizeof request),
            tessera_format_bytes (parts->largest_hole_bytes, hole, sizeof hole));
  if (parts->free_at_driver_bytes != TESSERA_NOWHERE)
    printf ("  free at the driver: %s\n",
            tessera_format_bytes (parts->free_at_driver_bytes, driver, sizeof driver));
  if (parts->outside_bytes != TESSERA_NOWHERE && parts->outside_bytes > 0)
    printf ("  device memory that is not PyTorch's: %s\n",
            tessera_format_bytes (parts->outside_bytes, driver, sizeof driver));
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
cli_print_needs (const CliStudy *study)
{
  char smallest[32], endless[32], proof[128];
  if (study->needs.bound_bytes == 0)
    return;
  printf ("\n%-22s %14s %10s %22s\n", "", "smallest", "retries", "reserved where memory");
  printf ("%-22s %14s %10s %22s\n", "policy", "device", "there", "never ends");
  for (size_t i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      const CliNeed *need = &study->need[policies[i].kind];
      if (need->smallest_bytes > 0)
        printf ("  %-20s %14s %10" G_GUINT64_FORMAT " %22s\n", policies[i].label,
                tessera_format_bytes (need->smallest_bytes, smallest, sizeof smallest),
                need->retries,
                tessera_format_bytes (need->endless_bytes, endless, sizeof endless));
    }
  printf ("  %-20s %14s\n", "load bound",
          tessera_format_bytes (study->needs.bound_bytes, smallest, sizeof smallest));
  if (study->plan == NULL)
    return;
  tessera_plan_describe_proof (study->plan, proof, sizeof proof);
  /* A plan made of the first steps is below what an evaluation behind them takes. */
  printf ("the plan's height is %s%s: %s\n",
          tessera_format_bytes (study->plan->height_bytes, smallest, sizeof smallest),
          study->plan->height_bytes < study->needs.bound_bytes
              ? " (what it has no place for is beside it)"
              : "",
          proof);
}
