/*
 * What is selected, as text to take along.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

/* Of one block all that the panel tells, a line each, with its whole stack. Of several a
 * table with tabs, the first thousand of them, which is said then. NULL: nothing is
 * selected. (transfer full) */
char *tessera_copy_text (TesseraDocument *document);
