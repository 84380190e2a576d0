/*
 * The Python stack of the calling thread, where the process has a Python.
 *
 * The C API is found by name in the process: nothing is linked, so one library serves
 * Python 3.9 to 3.14 and programs without it. Frames are remembered by code object and
 * instruction; the code objects they are remembered by stay referenced for the rest of
 * the process. Of a deeper stack the innermost 256 frames are kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/names.h"

typedef struct TesseraPython TesseraPython;

/* @names is borrowed. Returns: NULL where there is no Python, or no memory. */
TesseraPython *tessera_python_new (TesseraNames *names);
void tessera_python_free (TesseraPython *python); /* NULL is fine */

/* Any thread, with or without the interpreter's lock, which it takes: with no lock of
 * one's own. Returns: TESSERA_NONE on a thread that runs no Python, before and after the
 * interpreter's life. */
uint32_t tessera_python_stack (TesseraPython *python);
