/*
 * What is on screen as a file: a PNG or an SVG of the whole trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document.h"

/* The name decides: ".svg", else PNG. @error is filled on failure. */
TesseraStatus tessera_picture_save (TesseraDocument *document,
                                    gboolean stacked,
                                    const char *path,
                                    TesseraError *error);
