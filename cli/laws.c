/* See laws.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/laws.h"

#include <stdio.h>

typedef struct
{
  guint64 least, most;
} Span;

static void
widen (Span *span, guint64 value)
{
  span->least = MIN (span->least, value);
  span->most = MAX (span->most, value);
}

static void
print_parameters (const TesseraFitSteps *steps)
{
  Span batch = { G_MAXUINT64, 0 }, length = { G_MAXUINT64, 0 };

  for (uint32_t i = 0; i < steps->n_steps; i++)
    {
      widen (&batch, steps->parameters[i].batch);
      widen (&length, steps->parameters[i].length);
    }
  printf ("length %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, length.least,
          length.most);
  if (steps->has_batch)
    printf (", batch %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, batch.least,
            batch.most);
}

void
cli_print_laws (const CliStudy *study)
{
  const TesseraKindLaws *of;
  const TesseraKind *kind = tessera_laws_main (study->laws, &of);
  const uint32_t *n;

  if (kind == NULL)
    return;
  n = of->n_slots_by_kind;
  printf ("steps that vary: %u of %zu are of one kind, ", kind->n_steps,
          study->structure->n_steps);
  print_parameters (&of->steps);
  printf ("\n%u sizes: %u constant, %u affine, %u quadratic, %u with rounding or a cap, "
          "%u without a law, %u in one step only\n",
          kind->n_slots, n[TESSERA_SIZE_CONSTANT], n[TESSERA_SIZE_AFFINE],
          n[TESSERA_SIZE_QUADRATIC], n[TESSERA_SIZE_ROUNDED],
          n[TESSERA_SIZE_BOUNDED] - of->n_slots_once, of->n_slots_once);
}

static void
json_parameters (JsonBuilder *builder,
                 const TesseraKind *kind,
                 const TesseraFitSteps *steps)
{
  json_builder_set_member_name (builder, "parameters");
  json_builder_begin_array (builder);
  for (uint32_t i = 0; i < steps->n_steps; i++)
    {
      json_builder_begin_object (builder);
      cli_json_bytes (builder, "step", kind->steps[i]);
      if (steps->has_batch)
        cli_json_bytes (builder, "batch", steps->parameters[i].batch);
      cli_json_bytes (builder, "length", steps->parameters[i].length);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}

void
cli_json_laws (JsonBuilder *builder, const TesseraLaws *laws)
{
  static const char *const names[TESSERA_N_SIZE_KINDS] = {
    "constant", "affine", "quadratic", "rounded", "without_law",
  };
  const TesseraKindLaws *of;
  const TesseraKind *kind = tessera_laws_main (laws, &of);

  json_builder_set_member_name (builder, "steps_that_vary");
  if (kind == NULL)
    {
      json_builder_add_null_value (builder);
      return;
    }
  json_builder_begin_object (builder);
  json_parameters (builder, kind, &of->steps);
  for (int i = 0; i < TESSERA_N_SIZE_KINDS; i++)
    cli_json_bytes (builder, names[i], of->n_slots_by_kind[i]);
  cli_json_bytes (builder, "in_one_step_only", of->n_slots_once);
  json_builder_end_object (builder);
}
