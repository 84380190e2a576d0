/*
 * Previews against full plans: processor seconds (all threads together) and heights, of
 * shared traces without edits and with one that pins blocks above all others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/query.h"
#include "planner/planner.h"
#include "recorder/import/import.h"

#include <time.h>

static const struct
{
  const char *file;
  const char *query; /* what is pinned */
} files[] = {
  { "sample/finetune-oom.pickle", "blocks=40" },
  { "sample/pretrain-gpt.pickle", "blocks=40" },
  { "snapshots/real/large-ctx256-fullstep.pickle", "blocks=40" },
  { "snapshots/jobs/moe64_perm_moeck.pickle.gz", "blocks=40" },
  { "snapshots/jobs/llama1b_var_length_batch.pickle.gz", "blocks=40" },
  { "snapshots/jobs/hf_qwen3moe_eager.pickle.gz", "blocks=40" },
  { "snapshots/jobs/fsdp2_7b_r3of16.pickle.gz", "blocks=40" },
  { "snapshots/pytorch-2.6/c_def_1.pickle", "blocks=40" },
};

static double
processor_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
} Study;

static uint64_t
plan (const Study *study, const TesseraEdit *edit, bool is_preview, double *out_s)
{
  const TesseraPlanOptions options = { .edits = edit,
                                       .n_edits = edit != NULL,
                                       .is_preview = is_preview,
                                       .first_step = -1,
                                       .last_step = -1 };
  TesseraError error = { 0 };
  TesseraPlan *made;
  uint64_t height;
  double begin_s = processor_s ();

  if (tessera_plan_trace (study->trace, study->blocks, study->structure, &options, &error,
                          &made) != TESSERA_OK)
    g_error ("%s", error.text);
  *out_s = processor_s () - begin_s;
  height = made->height_bytes;
  tessera_plan_free (made);
  return height;
}

static void
print_row (const char *name, const Study *study, const TesseraEdit *edit)
{
  double preview_s, full_s;
  uint64_t preview = plan (study, edit, true, &preview_s);
  uint64_t full = plan (study, edit, false, &full_s);

  g_print ("| %s%s | %zu | %.3f | %.3f | %.5f |\n", name, edit ? ", one pinned" : "",
           study->blocks->n_blocks, preview_s, full_s, (double) preview / (double) full);
}

static void
look_at (const char *folder, const char *file, const char *query)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path = g_build_filename (folder, file, NULL);
  g_autofree char *name = g_path_get_basename (file);
  g_autofree char *finding = NULL;
  TesseraError error = { 0 };
  TesseraEdit pin = { .kind = TESSERA_EDIT_PIN };
  Study study;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return;
  if (tessera_open (path, &options, &error, &study.trace) != TESSERA_OK)
    g_error ("%s", error.text);
  if (tessera_blocks_new (study.trace, &study.blocks) != TESSERA_OK ||
      tessera_structure_new (study.trace, study.blocks, &study.structure) != TESSERA_OK ||
      !tessera_query_parse (query, &pin.what, &finding))
    g_error ("%s", finding != NULL ? finding : "not enough memory");
  tessera_selector_init (&pin.with);
  pin.name = g_strdup ("up");
  pin.at = UINT64_C (1) << 30;
  print_row (name, &study, NULL);
  print_row (name, &study, &pin);
  tessera_edit_clear (&pin);
  tessera_structure_free (study.structure);
  tessera_blocks_free (study.blocks);
  tessera_trace_free (study.trace);
}

int
main (void)
{
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");

  g_print ("| trace | blocks | preview, s | full plan, s | height, preview / full |\n"
           "|---|---|---|---|---|\n");
  for (size_t i = 0; i < G_N_ELEMENTS (files); i++)
    look_at (folder ? folder : "", files[i].file, files[i].query);
  return 0;
}
