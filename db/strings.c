/*
 * Interned strings, kept in chunks so that borrowed text never moves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/strings.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/hash.h"
#include "db/index.h"

/* Real snapshots hold some thousand strings of 20 to 100 bytes: a few chunks. */
#define CHUNK_BYTES ((size_t) 64 << 10)

typedef struct Chunk
{
  struct Chunk *next;
  char text[];
} Chunk;

struct TesseraStrings
{
  Chunk *chunks; /* newest first; its rest is where the next text goes */
  size_t n_chunk_bytes, n_chunk_used;
  const char **texts;
  size_t n_texts, cap_texts;
  TesseraIndex index;
};

typedef struct
{
  const char *text;
  size_t n_bytes;
} Wanted;

TesseraStatus
tessera_strings_new (TesseraStrings **out_strings)
{
  *out_strings = calloc (1, sizeof **out_strings);
  return *out_strings ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_strings_free (TesseraStrings *strings)
{
  if (!strings)
    return;
  while (strings->chunks)
    {
      Chunk *next = strings->chunks->next;

      free (strings->chunks);
      strings->chunks = next;
    }
  free (strings->texts);
  tessera_index_clear (&strings->index);
  free (strings);
}

static bool
equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraStrings *strings = owner;
  const Wanted *want = wanted;
  const char *text = strings->texts[index];

  return strncmp (text, want->text, want->n_bytes) == 0 && text[want->n_bytes] == '\0';
}

/* Returns: a place for @n_bytes and a NUL, or NULL. */
static char *
take (TesseraStrings *strings, size_t n_bytes)
{
  char *at;

  if (strings->n_chunk_bytes - strings->n_chunk_used <= n_bytes)
    {
      size_t n_chunk_bytes = n_bytes < CHUNK_BYTES ? CHUNK_BYTES : n_bytes + 1;
      Chunk *chunk = malloc (sizeof *chunk + n_chunk_bytes);

      if (!chunk)
        return NULL;
      chunk->next = strings->chunks;
      strings->chunks = chunk;
      strings->n_chunk_bytes = n_chunk_bytes;
      strings->n_chunk_used = 0;
    }
  at = strings->chunks->text + strings->n_chunk_used;
  strings->n_chunk_used += n_bytes + 1;
  return at;
}

TesseraStatus
tessera_strings_intern (TesseraStrings *strings,
                        const char *text,
                        size_t n_bytes,
                        uint32_t *out_string)
{
  Wanted wanted = { .text = n_bytes ? text : "",
                    .n_bytes = n_bytes ? strnlen (text, n_bytes) : 0 };
  uint64_t hash = tessera_hash_bytes (TESSERA_HASH_START, wanted.text, wanted.n_bytes);
  uint32_t found = tessera_index_find (&strings->index, hash, equal, strings, &wanted);
  char *at;

  if (found != TESSERA_NONE)
    {
      *out_string = found;
      return TESSERA_OK;
    }
  if (strings->n_texts >= TESSERA_NONE)
    return TESSERA_BAD_INPUT;
  if (wanted.n_bytes > PTRDIFF_MAX / 2 ||
      !TESSERA_RESERVE (strings->texts, strings->cap_texts, strings->n_texts + 1) ||
      !tessera_index_reserve (&strings->index) || !(at = take (strings, wanted.n_bytes)))
    return TESSERA_NO_MEMORY;
  memcpy (at, wanted.text, wanted.n_bytes);
  at[wanted.n_bytes] = '\0';
  *out_string = (uint32_t) strings->n_texts;
  strings->texts[strings->n_texts++] = at;
  tessera_index_insert (&strings->index, hash, *out_string);
  return TESSERA_OK;
}

const char *
tessera_strings_get (const TesseraStrings *strings, uint32_t string)
{
  return string < strings->n_texts ? strings->texts[string] : "";
}

size_t
tessera_strings_count (const TesseraStrings *strings)
{
  return strings->n_texts;
}
