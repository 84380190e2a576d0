/*
 * Planning the shared traces: the table of docs/EVALUATION.md. Seconds are of the processor,
 * all threads together; the height is compared with the load bound of the trace itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"
#include "planner/planner.h"
#include "recorder/import/import.h"

#include <glib.h>
#include <string.h>
#include <time.h>

static const char *const files[] = {
  "sample/finetune-oom.pickle",
  "sample/pretrain-gpt.pickle",
  "snapshots/real/cnn-small.pickle",
  "snapshots/real/finetune-2.1-no-time.pickle",
  "snapshots/real/large-ctx256-fullstep.pickle",
  "snapshots/real/medium-seq128-train.pickle",
  "snapshots/real/medium-seq512-train.pickle",
  "snapshots/real/xl-ctx128-forward-amp.pickle",
  "snapshots/jobs/meg_pp4vp2_tp2_rcfull.pickle.gz",
  "snapshots/jobs/moe64_perm_moeck.pickle.gz",
  "snapshots/jobs/unet_var.pickle.gz",
  "snapshots/jobs/llama1b_var_length.pickle.gz",
  "snapshots/jobs/llama1b_var_length_batch.pickle.gz",
  "snapshots/jobs/hf_qwen3moe_eager.pickle.gz",
  "snapshots/jobs/fsdp2_7b_r3of16.pickle.gz",
  "snapshots/jobs/fsdp1_7b_r3of16_late.pickle.gz",
  "snapshots/jobs/p_fsdp1_late_nolimit_exp_16g.pickle.gz",
  "snapshots/pytorch-2.6/c_def_1.pickle",
  "snapshots/pytorch-2.6/f_streams.pickle",
  "snapshots/pytorch-2.6/f_exp.pickle",
};

static double
processor_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void
print_plan (const char *name,
            const TesseraTrace *trace,
            const TesseraBlocks *blocks,
            const TesseraStructure *structure,
            double before_s)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  uint64_t bound = tessera_blocks_bound (blocks, 0, blocks->n_events, NULL);
  TesseraError error = { 0 };
  TesseraPlan *plan;
  double begin_s = processor_s (), plan_s;

  if (tessera_plan_trace (trace, blocks, structure, &options, &error, &plan) !=
      TESSERA_OK)
    g_error ("%s", error.text);
  plan_s = processor_s () - begin_s;
  g_print ("| %s | %zu | %zu | %zu | %.3f | %.3f | %.3f | %.4f | %s |\n", name,
           blocks->n_blocks, plan->n_slots, plan->n_groups, before_s, plan_s,
           (double) plan->height_bytes / (1 << 30),
           (double) plan->height_bytes / (double) bound,
           plan->followable == TESSERA_FOLLOWABLE_YES ? "yes" : "same batches only");
  tessera_plan_free (plan);
}

static void
plan_file (const char *folder, const char *file)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path = g_build_filename (folder, file, NULL);
  g_autofree char *name = g_path_get_basename (file);
  TesseraError error = { 0 };
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  double begin_s;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return;
  if (tessera_open (path, &options, &error, &trace) != TESSERA_OK)
    g_error ("%s", error.text);
  begin_s = processor_s ();
  blocks = tessera_blocks_new (trace);
  structure = tessera_structure_new (trace, blocks);
  begin_s = processor_s () - begin_s;
  *strchr (name, '.') = '\0';
  print_plan (name, trace, blocks, structure, begin_s);
  tessera_structure_free (structure);
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
}

int
main (void)
{
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");

  g_print ("| trace | blocks | slots | groups | blocks and structure, s | plan, s | "
           "height, GiB | height / bound | followable |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < G_N_ELEMENTS (files); i++)
    plan_file (folder ? folder : "", files[i]);
  return 0;
}
