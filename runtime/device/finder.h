/*
 * Modules of threads that have none of their own: autograd's, in backward.
 *
 * Python is asked, before an allocation is recorded, for the name of the module whose
 * backward runs; as long as the answer stays the same one range is open for the thread.
 * Steps and phases close all such ranges: a thread that has fallen asleep is in none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/recorder.h"

/* No lock may be held: takes the interpreter's. */
void tessera_finder_ask (TesseraRecorder *recorder);
void tessera_finder_close_mine (TesseraRecorder *recorder);
void tessera_finder_close_all (TesseraRecorder *recorder);
void tessera_finder_after_fork (void);

/* marks.c: how many modules of its own the calling thread is in. */
unsigned tessera_module_depth (void);
