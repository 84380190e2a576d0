/*
 * The thread that takes what is in the ring and writes it into the file.
 *
 * All of SQLite happens there, with every signal blocked, so that a file that may grow no
 * further (SIGXFSZ) ends the recording and not the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/names.h"
#include "recorder/ring.h"

typedef struct TesseraWriter TesseraWriter;

/* Both are borrowed until the writer is stopped or abandoned. @flush_ms: at most this
 * long from an event to its transaction. Waits until the file is made, or found to be an
 * older trace, which stays until there is an event. */
TESSERA_MUST_USE TesseraStatus tessera_writer_start (const char *path,
                                                     bool overwrites,
                                                     uint32_t flush_ms,
                                                     TesseraRing *ring,
                                                     TesseraNames *names,
                                                     TesseraError *error,
                                                     TesseraWriter **out_writer);

/* Hot; false once writing has failed: nothing is worth a place in the ring any more. */
bool tessera_writer_is_running (const TesseraWriter *writer);

TESSERA_MUST_USE TesseraStatus tessera_writer_flush (TesseraWriter *writer,
                                                     TesseraError *error);
/* Of a range whose end found no place in the ring. */
void tessera_writer_end_range (TesseraWriter *writer, uint32_t handle);
/* Copied; written when the writer stops. */
void tessera_writer_end_state (TesseraWriter *writer,
                               uint32_t device,
                               const TesseraHeld *held);
/* All but n_events and what the ring lost. */
void tessera_writer_get_stats (TesseraWriter *writer, TesseraRecorderStats *out_stats);

/* Writes the rest, closes the file, joins, frees. */
void tessera_writer_stop (TesseraWriter *writer);
/* In a forked child, which has neither the thread nor a right to the file: SQLite's
 * memory and descriptors are left alone, the rest is freed. */
void tessera_writer_abandon (TesseraWriter *writer);
