/*
 * The fit answer: does a recorded run fit a GPU, and under which policy?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/print.h"
#include "cli/study.h"

/* What is asked about. Strings are borrowed. */
typedef struct
{
  const char *gpu;          /* "h100-80" */
  guint64 gpu_bytes;        /* as its driver reports it */
  guint64 headroom_bytes;   /* of these, not for PyTorch's tensors */
  const char *headroom_why; /* what the head-room is for */
  gboolean is_complete;     /* the script ran to its end, and all of it was seen */
  const char *adapted;      /* a sentence: how the script got on where it did not fit */
  gboolean is_lagging;      /* side streams finished late, by a modelled clock */
} CliQuestion;

/* Bytes of the GPU that the head-room leaves to PyTorch. */
guint64 cli_answer_available (const CliQuestion *question);
/* Whether the job fits as the question has it: natively or with expandable segments, or,
 * where a plan was to be followed, as that went. */
gboolean cli_answer_is_yes (const CliStudy *study, const CliQuestion *question);

/* @study has a plan and needs (cli_study_plan(), cli_study_needs()) and a layout. */
void cli_answer_print (const CliStudy *study, const CliQuestion *question);
/* "Smallest known GPU: native l40s-48, plan rtx4090-24", the head-room included. */
void cli_answer_print_smallest (const CliStudy *study, const CliQuestion *question);
/* Members smallest_gpus, gpu, gpu_bytes, headroom_bytes, headroom_why, available_bytes,
 * live_bytes, fits, sentence, not_seen, and the needs. */
void
cli_answer_json (JsonBuilder *json, const CliStudy *study, const CliQuestion *question);
