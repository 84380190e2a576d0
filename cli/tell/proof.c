/* See proof.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/proof.h"

void
cli_json_proof (JsonBuilder *builder, const TesseraPlan *plan)
{
  static const char *const cuts[] = {
    [TESSERA_CUT_BY_TIME] = "time", [TESSERA_CUT_BY_PERSON] = "person"
  };
  g_autofree char *digest = NULL;
  char text[128];

  tessera_plan_describe_proof (plan, text, sizeof text);
  cli_json_bytes (builder, "proven_bound_bytes", tessera_plan_proven_bound (plan));
  cli_json_number (builder, "gap", tessera_plan_gap (plan));
  json_builder_set_member_name (builder, "optimal");
  if (tessera_plan_is_optimal (plan))
    json_builder_add_boolean_value (builder, TRUE);
  else
    json_builder_add_null_value (builder);
  cli_json_text (builder, "proof", text);
  cli_json_text (builder, "cut_short", cuts[plan->cut_short]);
  if (plan->resumed_digest != 0)
    digest = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", plan->resumed_digest);
  cli_json_text (builder, "resumed_digest", digest);
  json_builder_set_member_name (builder, "time_limit_s");
  if (plan->time_limit_s > 0)
    json_builder_add_double_value (builder, plan->time_limit_s);
  else
    json_builder_add_null_value (builder);
}
