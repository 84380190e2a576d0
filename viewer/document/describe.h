/*
 * Words for what is drawn: sizes, lifetimes, places, names. One way of saying each thing.
 *
 * All strings are (transfer full).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

char *tessera_describe_bytes (uint64_t bytes);       /* "7.83 GiB" */
char *tessera_describe_bytes_round (uint64_t bytes); /* "40 GiB": no idle decimals */
char *tessera_describe_bytes_exact (uint64_t bytes); /* "8,407,552,000 bytes" */
/* "33.172 GiB": with as many decimals as tell it from one @step_bytes away. */
char *tessera_describe_height (uint64_t bytes, double step_bytes);
char *tessera_describe_count (uint64_t count); /* "33,457" */
/* "1 block", "11,411 blocks". */
char *tessera_describe_counted (uint64_t count, const char *noun);
/* The bound that is shown: proven for the full plan on the right, else of the trace. */
uint64_t tessera_document_bound (TesseraDocument *document);
/* Of a plan's height: "= bound" where no layout is lower, "by edits" where those force
 * more than is alive, else how far it is above what is proven: "0.70 % over bound".
 * "= proven bound" and "over proven" where what is proven of the plan is not @bound_bytes,
 * the bound on screen. */
char *tessera_describe_gap (const TesseraPlan *plan, uint64_t bound_bytes);
/* Of planning: "11.21 GiB so far, bound 11.07 GiB (+1.27 %)"; NULL: nothing is known. */
char *tessera_describe_news (const TesseraNews *news);
char *tessera_describe_duration (int64_t ns); /* "1.25 ms" */

const char *tessera_class_name (uint8_t lifetime_class);
const char *tessera_layout_kind_name (TesseraLayoutKind kind); /* "as recorded" ... */

/* "step 1, forward", or "before the first step". */
char *tessera_describe_moment (TesseraData *data, uint32_t event_index);
/* What parts, legend and the largest blocks are of: "the failure", "the peak of reserved",
 * "the later peak of reserved" (that comes back after a start with full caches), "event
 * 1,234". */
char *tessera_describe_told (TesseraDocument *document);
/* "step 1, forward": where a block was born; of an unknown moment "at the start". */
char *tessera_describe_birth (TesseraData *data, uint32_t block);
char *tessera_describe_death (TesseraData *data, uint32_t block);
/* "7 events, 1.2 ms", "to the end". */
char *tessera_describe_life (TesseraData *data, uint32_t block);
/* "0x7f... ", "8.37 GiB into the pool". */
char *tessera_describe_place (const TesseraSheet *sheet, uint32_t block);
/* The block's phases: "forward -> backward". */
/* Where the file says that it lay: "0x7f0280400000"; a request that failed nowhere. */
char *tessera_describe_address (TesseraData *data, uint32_t block);
char *tessera_describe_phases (TesseraData *data, uint32_t block);
char *tessera_describe_group (TesseraData *data, uint32_t block);
/* Innermost frame of the program itself: "train_step, finetune.py:33"; "" for none. */
char *tessera_describe_source (TesseraData *data, uint32_t block);

/* "finetune.py:33", "" when unknown. */
char *tessera_describe_frame_place (const TesseraTrace *trace, uint32_t frame);
