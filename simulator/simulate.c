/*
 * A trace run again under a policy, over the virtual device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/simulate.h"

#include "simulator/recorded.h"
#include "simulator/run/run.h"

TesseraStatus
tessera_simulate (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  const TesseraSimulateOptions *options,
                  TesseraError *error,
                  TesseraLayout **out_layout)
{
  TesseraRunOptions run = { .options = options };

  *out_layout = NULL;
  run.limit_bytes = options->limit_bytes != 0 ? options->limit_bytes : trace->limit_bytes;
  if (options->kind == TESSERA_LAYOUT_RECORDED)
    return tessera_lay_recorded (trace, blocks, options, error, out_layout);
  if (options->kind == TESSERA_LAYOUT_PLAN &&
      (options->plan == NULL || structure == NULL))
    return tessera_fail (error, TESSERA_INVALID,
                         "to follow a plan takes a plan and steps");
  return tessera_run (trace, blocks, structure, &run, error, out_layout);
}
