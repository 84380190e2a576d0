/* See stage.h. SPDX-License-Identifier: Apache-2.0 */
#include "tests/stage.h"

#include <glib.h>

#include "recorder/import/import.h"

static TesseraLayout *
simulate (const Stage *stage, TesseraLayoutKind kind)
{
  TesseraSimulateOptions options = {
    .kind = kind, .plan = stage->plan, .first_step = -1, .last_step = -1
  };
  TesseraError error = { 0 };
  TesseraLayout *layout = NULL;
  TesseraStatus status = tessera_simulate (stage->trace, stage->blocks, stage->structure,
                                           &options, &error, &layout);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  return layout;
}

Stage *
stage_new (const char *path)
{
  Stage *stage = g_new0 (Stage, 1);
  TesseraError error = { 0 };
  TesseraOpenOptions open = { .device = TESSERA_NONE };
  TesseraPlanOptions plan = { .first_step = -1, .last_step = -1 };
  TesseraStatus status = tessera_open (path, &open, &error, &stage->trace);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  stage->blocks = tessera_blocks_new (stage->trace);
  stage->structure = tessera_structure_new (stage->trace, stage->blocks);
  stage->left = simulate (stage, TESSERA_LAYOUT_RECORDED);
  status = tessera_plan_trace (stage->trace, stage->blocks, stage->structure, &plan,
                               &error, &stage->plan);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  stage->right = simulate (stage, TESSERA_LAYOUT_PLAN);
  return stage;
}

void
stage_free (Stage *stage)
{
  tessera_layout_free (stage->left);
  tessera_layout_free (stage->right);
  tessera_plan_free (stage->plan);
  tessera_structure_free (stage->structure);
  tessera_blocks_free (stage->blocks);
  tessera_trace_free (stage->trace);
  g_free (stage);
}
