/*
 * The least device memory on which a policy completes a trace.
 *
 * By bisection over the simulation: from what is live at the peak, which no policy can do
 * without, to what the policy reserves on an endless device. More memory does not always
 * help (a flush that happens early can leave a better state), so the answer is one that
 * completes while 2 MiB less do not, and not said to be the only one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/run/run.h"

#define GRAIN_BYTES ((uint64_t) 2 << 20)

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraSimulateOptions options;
  TesseraRunOptions run;
  uint64_t peak_live_bytes; /* of the last run */
  uint64_t peak_reserved_bytes;
} Fit;

/* Runs on a device of @device_bytes (0: endless) and says whether nothing failed. */
static TesseraStatus
try_device (Fit *fit, uint64_t device_bytes, TesseraError *error, bool *out_completes)
{
  TesseraLayout *layout;
  TesseraStatus status;

  *out_completes = false;
  fit->options.device_bytes = device_bytes;
  status =
      tessera_run (fit->trace, fit->blocks, fit->structure, &fit->run, error, &layout);
  if (status != TESSERA_OK)
    return status;
  *out_completes = layout->n_ooms == 0;
  fit->peak_live_bytes = layout->peak_live_bytes;
  fit->peak_reserved_bytes = layout->peak_reserved_bytes;
  tessera_layout_free (layout);
  return TESSERA_OK;
}

static uint64_t
round_up (uint64_t bytes)
{
  return (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
}

TesseraStatus
tessera_fit (const TesseraTrace *trace,
             const TesseraBlocks *blocks,
             const TesseraStructure *structure,
             const TesseraSimulateOptions *options,
             TesseraError *error,
             uint64_t *out_device_bytes)
{
  Fit fit = {
    .trace = trace, .blocks = blocks, .structure = structure, .options = *options
  };
  uint64_t fails;
  uint64_t completes;
  bool does_complete;
  TesseraStatus status;

  *out_device_bytes = 0;
  if (options->kind == TESSERA_LAYOUT_RECORDED ||
      (options->kind == TESSERA_LAYOUT_PLAN &&
       (options->plan == NULL || structure == NULL)))
    return tessera_fail (error, TESSERA_INVALID,
                         "only a policy can be tried on a device");
  fit.options.without_curves = true;
  /* The limit of the recorded run was a part of its own device. */
  fit.run =
      (TesseraRunOptions){ .options = &fit.options, .limit_bytes = options->limit_bytes };
  status = try_device (&fit, 0, error, &does_complete);
  if (status != TESSERA_OK)
    return status;
  if (!does_complete)
    return tessera_fail (error, TESSERA_REFUSED,
                         "%s: no device is large enough, a request fails on any; its "
                         "sizes are wrong: record it again",
                         trace->source != NULL && *trace->source ? trace->source
                                                                 : "the trace");
  completes = round_up (fit.peak_reserved_bytes);
  fails = fit.peak_live_bytes / GRAIN_BYTES * GRAIN_BYTES;
  fails -= fails > 0 ? GRAIN_BYTES : 0;
  fit.run.stop_at_first_oom = true;
  /* What is reserved on an endless device is enough: nothing is ever refused. */
  while (completes - fails > GRAIN_BYTES)
    {
      uint64_t middle = fails + (completes - fails) / 2 / GRAIN_BYTES * GRAIN_BYTES;

      status = try_device (&fit, middle, error, &does_complete);
      if (status != TESSERA_OK)
        return status;
      if (does_complete)
        completes = middle;
      else
        fails = middle;
    }
  *out_device_bytes = completes;
  return TESSERA_OK;
}
