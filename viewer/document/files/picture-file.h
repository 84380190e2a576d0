/*
 * What is on screen as a file: a PNG or an SVG of the whole trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/files/document-save.h"

/* The name decides: ".svg", else PNG. @error is filled on failure. Any thread. */
TesseraStatus tessera_picture_save (const TesseraSaveInput *input,
                                    const TesseraProgress *progress,
                                    TesseraError *error);
