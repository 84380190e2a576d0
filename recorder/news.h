/*
 * What the writer has seen of the names, and what came since.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/live.h"
#include "recorder/names.h"

typedef struct
{
  TesseraTrace **heads; /* the writer's own copies of the devices */
  TesseraLiveDevice *devices;
  size_t n_devices, cap_heads, cap_devices;
  size_t n_strings, n_frames, n_nodes, n_stacks; /* seen before */
  TesseraTrace *meta;                            /* a copy; meta only */
  bool has_meta;                                 /* something in it is new */
  /* copies of what came since */
  const char **strings;
  TesseraFrame *frames;
  TesseraStackNode *nodes;
  uint32_t *stack_nodes;
  size_t n_new_strings, n_new_frames, n_new_nodes, n_new_stacks;
  size_t cap_strings, cap_frames, cap_nodes, cap_stacks;
} TesseraNews;

/* Copies what came since the last call; takes the names' lock.
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_news_take (TesseraNews *news, TesseraNames *names);
/* Is there anything? */
bool tessera_news_any (const TesseraNews *news);
/* Sets all of @batch but events, ranges and states at the end. */
void tessera_news_fill (const TesseraNews *news, TesseraLiveBatch *batch);
/* They are in the file: no news any more. */
void tessera_news_written (TesseraNews *news);
void tessera_news_clear (TesseraNews *news);
