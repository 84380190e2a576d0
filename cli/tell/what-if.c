/* What if: the question, and its answer. See explain.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/explain.h"

const char *
cli_class_name (guint8 lifetime_class)
{
  static const char *const names[] = {
    [0] = "mixed",
    [TESSERA_CLASS_PERSISTENT] = "persistent",
    [TESSERA_CLASS_SCOPED] = "scoped",
    [TESSERA_CLASS_TRANSIENT] = "transient",
    [TESSERA_CLASS_DYNAMIC] = "dynamic",
  };

  return names[lifetime_class];
}

char *
cli_moment_name (const CliExplain *explain)
{
  guint64 event;

  if (explain->freed_before == NULL)
    return g_strdup ("the peak of live");
  if (g_ascii_string_to_unsigned (explain->freed_before, 10, 0, TESSERA_NONE - 1, &event,
                                  NULL))
    return g_strdup_printf ("event %" G_GUINT64_FORMAT, event);
  return g_strdup_printf ("every %s", explain->freed_before);
}

gboolean
cli_asks_without (const CliExplain *explain, guint8 lifetime_class)
{
  return explain->freed_before == NULL && lifetime_class == TESSERA_CLASS_PERSISTENT;
}

void
cli_answer_to_json (JsonBuilder *builder, const CliWhatIf *answer, gboolean without)
{
  json_builder_set_member_name (builder, "what_if");
  json_builder_begin_object (builder);
  cli_json_text (builder, "kind", without ? "kept elsewhere" : "freed before");
  cli_json_bytes (builder, "changed_blocks", answer->n_changed);
  cli_json_bytes (builder, "changed_bytes", answer->changed_bytes);
  cli_json_bytes (builder, "bound_bytes", answer->bound_bytes);
  cli_json_bytes (builder, "height_bytes", answer->height_bytes);
  cli_json_bytes (builder, "left", answer->n_left);
  json_builder_end_object (builder);
}

TesseraStatus
cli_explain_what_if (const CliExplain *explain,
                     const guint8 *chosen,
                     gboolean without,
                     CliWhatIf *out_answer,
                     TesseraError *error)
{
  TesseraPlanOptions options = explain->options;

  options.edits = explain->settled;
  return cli_what_if (&explain->study, &options, chosen,
                      without ? NULL : &explain->moments, out_answer, error);
}

char *
cli_answer_text (const CliExplain *explain, const CliWhatIf *answer)
{
  const TesseraPlan *plan = explain->study.plan;
  const guint64 now_bytes = plan->height_bytes, then_bytes = answer->height_bytes;
  const gboolean wins = then_bytes <= now_bytes;
  char now[32], then[32], won[32];
  g_autofree char *left = g_strdup ("");

  if (plan->n_placeless > 0 || answer->n_left > 0)
    {
      g_free (left);
      left = g_strdup_printf (", and leaves %" G_GUINT64_FORMAT
                              " requests to the dynamic allocator instead of %zu",
                              answer->n_left, plan->n_placeless);
    }
  return g_strdup_printf (
      "%s instead of %s (%s%s)%s", tessera_format_bytes (then_bytes, then, sizeof then),
      tessera_format_bytes (now_bytes, now, sizeof now), wins ? "-" : "+",
      tessera_format_bytes (wins ? now_bytes - then_bytes : then_bytes - now_bytes, won,
                            sizeof won),
      left);
}
