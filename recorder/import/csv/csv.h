/*
 * Comma-separated tables as traces: allocations that another tool wrote down, or an
 * instance of the planning problem.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"
#include "recorder/import/stream.h"

/* Whether the first line names columns of one of the two tables. */
bool tessera_csv_knows (const TesseraStream *stream);

/*
 * tessera_import_csv:
 * @stream: stands at its first byte
 *
 * Either `action,id,size_bytes` with any of `seq,time_us,stream,iteration,phase,module`,
 * in any order, a row an event; or `id,lower,upper,size`, a row a block that lives over
 * [lower, upper). Addresses are made up, one a block.
 */
TESSERA_MUST_USE TesseraStatus tessera_import_csv (TesseraStream *stream,
                                                   TesseraError *error,
                                                   TesseraTrace **out_trace);
