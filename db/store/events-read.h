/*
 * The event table of a large file, read by several threads at once.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/stat.h>

#include "db/store/rows.h"

/* A row of the event table takes at least so many bytes of its file: a cell's place, size
 * and key, the record's header of ten bytes. More events than that, a file cannot hold.
 */
#define TESSERA_EVENT_ROW_BYTES 14

/*
 * tessera_read_events_apart:
 * @reader: of the file, with the limits of all that was read before; not changed
 * @as_opened: what stat() said before the reader's connection was made
 * @n_events: that the only recording in the file, of @device, says it has
 * @trace: without events yet; has them all afterwards, or none
 *
 * Each thread has its own connection and its own stretch of the table. Whatever is amiss,
 * also that the file is small, is being changed, or that no thread starts, is left to
 * reading in order, which finds the words for it.
 *
 * Returns: TESSERA_OK, TESSERA_CANCELLED (with a sentence), or TESSERA_REFUSED (without):
 * read them in order.
 */
TESSERA_MUST_USE TesseraStatus tessera_read_events_apart (const TesseraRowReader *reader,
                                                          const struct stat *as_opened,
                                                          uint32_t device,
                                                          uint64_t n_events,
                                                          TesseraTrace *trace);
