/*
 * One self-contained HTML page about a study: verdict, pictures, tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"

/* The page's text; caller frees with g_string_free(). */
TESSERA_MUST_USE TesseraStatus cli_report_html (const CliStudy *study,
                                                GString **out_html,
                                                TesseraError *error);
