/* See laws.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/laws.h"

#include <stdio.h>

enum
{
  N_CURVE = 10 /* lengths up to the most that needs are printed for */
};

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

static void
print_need (const TesseraLengths *lengths, const TesseraParameters *of, const char *what)
{
  char height[32], bound[32];
  TesseraLengthsNeed need;

  if (tessera_lengths_measure (lengths, of, &need) != TESSERA_OK)
    return;
  if (lengths->has_batch)
    printf ("  batch %3" G_GUINT64_FORMAT ",", of->batch);
  printf ("  length %6" G_GUINT64_FORMAT "%s: height %s, bound %s, height / bound %.4f\n",
          of->length, what,
          tessera_format_bytes (need.height_bytes, height, sizeof height),
          tessera_format_bytes (need.bound_bytes, bound, sizeof bound),
          (double) need.height_bytes / (double) MAX (need.bound_bytes, 1));
}

static void
print_curve (const TesseraLengths *lengths)
{
  for (uint64_t i = 1; i <= N_CURVE; i++)
    print_need (lengths,
                &(TesseraParameters){ lengths->most.batch,
                                      MAX (lengths->most.length * i / N_CURVE, 1) },
                "");
}

static void
print_fits (const CliStudy *study)
{
  const TesseraLengths *lengths = study->lengths;
  guint64 device_bytes = study->trace->device_bytes, length;
  char text[32];

  if (device_bytes == 0)
    return;
  printf ("on a device of %s, as far as laws go:",
          tessera_format_bytes (device_bytes, text, sizeof text));
  for (uint64_t batch = 1; batch <= lengths->most.batch; batch *= 2)
    if (tessera_lengths_longest (lengths, batch, device_bytes, &length) == TESSERA_OK)
      {
        if (lengths->has_batch)
          printf (" batch %" G_GUINT64_FORMAT, batch);
        printf (" length up to %" G_GUINT64_FORMAT "%s", length,
                2 * batch <= lengths->most.batch ? "," : "\n");
      }
}

void
cli_print_most (const TesseraLengths *lengths)
{
  printf ("%" G_GUINT64_FORMAT, lengths->most.length);
  if (lengths->has_batch)
    printf (" and batch up to %" G_GUINT64_FORMAT, lengths->most.batch);
}

static guint
count_placed (const TesseraLengths *lengths, TesseraPlaceKind place)
{
  guint n = 0;

  for (guint32 i = 0; i < lengths->n_slots; i++)
    n += lengths->slots[i].place == place;
  return n;
}

/* What the plan needs at what was seen, and at lengths between and up to its most. */
static void
print_lengths (const CliStudy *study)
{
  const TesseraLengths *lengths = study->lengths;
  guint n_left;

  printf ("one plan for every length up to ");
  cli_print_most (lengths);
  printf (": %u slots in %u order%s, %u with a fixed place", lengths->n_slots,
          lengths->n_orders, lengths->n_orders == 1 ? "" : "s",
          count_placed (lengths, TESSERA_PLACE_FIXED));
  n_left = count_placed (lengths, TESSERA_PLACE_NONE);
  if (n_left > 0)
    printf (", %u with none", n_left);
  printf ("; checked\n");
  for (uint32_t i = 0; i < lengths->n_observed; i++)
    print_need (lengths, &lengths->observed[i], " (seen)");
  print_curve (lengths);
  print_fits (study);
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
  if (study->laws->parts.phase != NULL)
    printf (
        "parts of steps that vary, cut where \"%s\" begins again: %u of %zu are of one "
        "kind, ",
        cli_shown (study->laws->parts.phase), kind->n_steps,
        study->laws->parts.structure.n_steps);
  else
    printf ("steps that vary: %u of %zu are of one kind, ", kind->n_steps,
            study->structure->n_steps);
  print_parameters (&of->steps);
  printf ("\n%u sizes: %u constant, %u affine, %u quadratic, %u with rounding or a cap, "
          "%u without a law, %u in one %s only\n",
          kind->n_slots, n[TESSERA_SIZE_CONSTANT], n[TESSERA_SIZE_AFFINE],
          n[TESSERA_SIZE_QUADRATIC], n[TESSERA_SIZE_ROUNDED],
          n[TESSERA_SIZE_BOUNDED] - MIN (of->n_slots_once, n[TESSERA_SIZE_BOUNDED]),
          of->n_slots_once, study->laws->parts.phase != NULL ? "part" : "step");
  if (study->lengths != NULL)
    print_lengths (study);
  else if (study->why_no_lengths != NULL)
    printf ("%s\n", cli_shown (study->why_no_lengths));
}

static void
json_need (JsonBuilder *builder,
           const TesseraLengths *lengths,
           const TesseraParameters *of)
{
  TesseraLengthsNeed need;

  if (lengths == NULL || tessera_lengths_measure (lengths, of, &need) != TESSERA_OK)
    return;
  cli_json_bytes (builder, "height_bytes", need.height_bytes);
  cli_json_bytes (builder, "bound_bytes", need.bound_bytes);
}

static void
json_at (JsonBuilder *builder, const TesseraLengths *lengths, const TesseraParameters *at)
{
  json_builder_begin_object (builder);
  cli_json_bytes (builder, "batch", at->batch);
  cli_json_bytes (builder, "length", at->length);
  json_need (builder, lengths, at);
  json_builder_end_object (builder);
}

static void
json_curve (JsonBuilder *builder, const TesseraLengths *lengths)
{
  json_builder_set_member_name (builder, "curve");
  json_builder_begin_array (builder);
  for (uint64_t i = 1; lengths != NULL && i <= N_CURVE; i++)
    json_at (builder, lengths,
             &(TesseraParameters){ lengths->most.batch,
                                   MAX (lengths->most.length * i / N_CURVE, 1) });
  json_builder_end_array (builder);
}

static void
json_parameters (JsonBuilder *builder,
                 const TesseraStepParts *parts,
                 const TesseraKind *kind,
                 const TesseraFitSteps *steps,
                 const TesseraLengths *lengths)
{
  json_builder_set_member_name (builder, "parameters");
  json_builder_begin_array (builder);
  for (uint32_t i = 0; i < steps->n_steps; i++)
    {
      json_builder_begin_object (builder);
      cli_json_bytes (builder, "step",
                      parts->phase ? parts->step_of[kind->steps[i]] : kind->steps[i]);
      if (parts->phase)
        cli_json_bytes (builder, "part", kind->steps[i]);
      if (steps->has_batch)
        cli_json_bytes (builder, "batch", steps->parameters[i].batch);
      cli_json_bytes (builder, "length", steps->parameters[i].length);
      json_need (builder, lengths, &steps->parameters[i]);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
}

void
cli_json_laws (JsonBuilder *builder, const CliStudy *study)
{
  static const char *const names[TESSERA_N_SIZE_KINDS] = {
    "constant", "affine", "quadratic", "rounded", "without_law",
  };
  const TesseraKindLaws *of;
  const TesseraKind *kind = tessera_laws_main (study->laws, &of);

  json_builder_set_member_name (builder, "steps_that_vary");
  if (kind == NULL)
    {
      json_builder_add_null_value (builder);
      return;
    }
  json_builder_begin_object (builder);
  if (study->laws->parts.phase != NULL)
    cli_json_text (builder, "cut_phase", study->laws->parts.phase);
  json_parameters (builder, &study->laws->parts, kind, &of->steps, study->lengths);
  json_curve (builder, study->lengths);
  if (study->why_no_lengths != NULL)
    cli_json_text (builder, "no_plan_for_every_length", study->why_no_lengths);
  for (int i = 0; i < TESSERA_N_SIZE_KINDS; i++)
    cli_json_bytes (builder, names[i], of->n_slots_by_kind[i]);
  cli_json_bytes (builder, "in_one_step_only", of->n_slots_once);
  json_builder_end_object (builder);
}
