/* See kinds.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/kinds.h"

#include <inttypes.h>
#include <stdio.h>

#include "db/size-text.h"

enum
{
  N_PHASES = 4 /* named of each kind */
};

/* The first address that no slot of the section takes, nor any above. */
static guint64
height_of (const TesseraPlan *plan, const TesseraSection *section)
{
  guint64 height = 0;

  for (uint32_t i = 0; i < section->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[section->first_slot + i];

      height = MAX (height, slot->offset_bytes + slot->block_bytes);
    }
  return height;
}

/* "forward, backward, optimizer": the phases of its requests, in order, each once. */
static char *
phases_of (const TesseraPlan *plan, const TesseraSection *section)
{
  GString *text = g_string_new (NULL);
  uint32_t seen[N_PHASES];
  guint n = 0;

  for (uint32_t i = 0; i < section->n_slots; i++)
    {
      uint32_t phase = plan->slots[section->first_slot + i].phase;
      gboolean is_new = phase < plan->n_strings && plan->strings[phase][0] != '\0';

      for (guint k = 0; k < n && is_new; k++)
        is_new = seen[k] != phase;
      if (!is_new)
        continue;
      if (n == N_PHASES)
        {
          g_string_append (text, " ...");
          break;
        }
      seen[n++] = phase;
      g_string_append_printf (text, "%s%s", n > 1 ? ", " : "", plan->strings[phase]);
    }
  return g_string_free (text, FALSE);
}

static gboolean
is_kind (const TesseraPlan *plan, size_t section)
{
  return plan->sections[section].kind == TESSERA_SECTION_REPEATS;
}

void
cli_print_kinds (const TesseraPlan *plan)
{
  guint n = 0;

  for (size_t s = 0; s < plan->n_sections; s++)
    n += is_kind (plan, s);
  for (size_t s = 0, k = 1; n > 1 && s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      g_autofree char *phases = phases_of (plan, section);
      char height[32];

      if (!is_kind (plan, s))
        continue;
      printf ("  kind %zu: %" PRIu32 " times, %" PRIu32 " slots, up to %s%s%s\n", k++,
              section->n_steps, section->n_slots,
              tessera_format_bytes (height_of (plan, section), height, sizeof height),
              phases[0] != '\0' ? ": " : "", cli_shown (phases));
    }
}

void
cli_json_kinds (JsonBuilder *builder, const TesseraPlan *plan)
{
  json_builder_set_member_name (builder, "kinds");
  json_builder_begin_array (builder);
  for (size_t s = 0; s < plan->n_sections; s++)
    {
      g_autofree char *phases = phases_of (plan, &plan->sections[s]);

      if (!is_kind (plan, s))
        continue;
      json_builder_begin_object (builder);
      cli_json_bytes (builder, "steps", plan->sections[s].n_steps);
      cli_json_bytes (builder, "slots", plan->sections[s].n_slots);
      cli_json_bytes (builder, "height_bytes", height_of (plan, &plan->sections[s]));
      cli_json_text (builder, "phases", phases);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}
