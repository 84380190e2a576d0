/*
 * The report of `tessera report` from what is open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document.h"

/* One self-contained HTML page. @error is filled on failure. */
TesseraStatus
tessera_report_save (TesseraDocument *document, const char *path, TesseraError *error);
