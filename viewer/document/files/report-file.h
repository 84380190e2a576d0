/*
 * The report of `tessera report` from what is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/files/document-save.h"

/* One self-contained HTML page. @error is filled on failure. Any thread. */
TesseraStatus tessera_report_save (const TesseraSaveInput *input,
                                   const TesseraProgress *progress,
                                   TesseraError *error);
