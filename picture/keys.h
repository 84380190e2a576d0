/*
 * What a block is coloured by: its key (a small number) and the key's name.
 *
 * Different keys may have the same name (the phase "forward" of every step); the legend
 * joins them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/colour.h"

#define TESSERA_KEY_NAME_BYTES 96

typedef struct
{
  TesseraColourKey kind;
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure; /* (nullable) */
  const TesseraGroup *groups;
  size_t n_groups;
  size_t n_keys;
  uint32_t *module_of_event; /* range number or TESSERA_NONE; NULL: no such ranges */
} TesseraKeys;

void tessera_keys_init (TesseraKeys *keys);
void tessera_keys_clear (TesseraKeys *keys);
size_t tessera_key_of (const TesseraKeys *keys, const TesseraBlock *block); /* < n_keys */
/* Python source that is no library's and not the interpreter's own; cells of a notebook
 * are. */
bool tessera_frame_is_own (const TesseraTrace *trace, uint32_t frame);
/* @name of TESSERA_KEY_NAME_BYTES. */
void tessera_key_name (const TesseraKeys *keys, size_t key, char *name);
