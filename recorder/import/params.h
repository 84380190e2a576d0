/*
 * What a snapshot does not hold: the device's memory and a limit set on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

/*
 * tessera_params_fill:
 * @path: of the snapshot
 *
 * Looks into params.json beside the file, {"NAME": {"total": bytes, "limit": bytes}},
 * where NAME is the file's name without .gz and .pickle. Sets device_bytes and
 * limit_bytes where they are 0. No such file is fine; one that makes no sense becomes a
 * note.
 */
TESSERA_MUST_USE TesseraStatus tessera_params_fill (TesseraTrace *trace,
                                                    const char *path);
