/*
 * A plan for every length into the tables of its plan, and back.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/store/rows.h"

/* @lengths may be NULL: no rows. */
TESSERA_MUST_USE TesseraStatus tessera_write_lengths (TesseraRowWriter *writer,
                                                      const TesseraLengths *lengths);

/* *out_lengths is NULL where the file has none. What was read has been looked at with
 * tessera_lengths_is_sound(). */
TESSERA_MUST_USE TesseraStatus tessera_read_lengths (TesseraRowReader *reader,
                                                     TesseraLengths **out_lengths);
