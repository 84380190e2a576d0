/*
 * The text of PYTORCH_CUDA_ALLOC_CONF: what PyTorch's own allocator would be told.
 *
 * Keys that have no meaning here, and values that PyTorch would refuse, are left out; the
 * rest is obeyed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

/* @complain: one sentence for each part that was left out; may be NULL. @settings keeps
 * what the text does not name. @out_fraction: per_process_memory_fraction, else left. */
void tessera_alloc_conf_parse (const char *text,
                               TesseraSettings *settings,
                               double *out_fraction,
                               void (*complain) (const char *sentence));
