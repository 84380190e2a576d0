/*
 * What comes often and is kept once: see intern.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/intern.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/hash.h"
#include "db/trace.h"

#define FIRST_PLACES ((size_t) 64)

/* FNV's low bits alone cluster for short keys: fold the high half in. */
static uint32_t
fold (uint64_t hash)
{
  hash ^= hash >> 32;
  hash *= UINT64_C (0x9e3779b97f4a7c15); /* 2^64 / golden ratio: spreads the low bits */
  return (uint32_t) (hash >> 32);
}

static void
place (TesseraIndexPlace *places, size_t n_places, TesseraIndexPlace item)
{
  size_t at = item.hash & (n_places - 1);

  while (places[at].index != TESSERA_NONE)
    at = (at + 1) & (n_places - 1);
  places[at] = item;
}

void
tessera_index_clear (TesseraIndex *index)
{
  free (index->places);
  memset (index, 0, sizeof *index);
}

bool
tessera_index_reserve (TesseraIndex *index)
{
  TesseraIndexPlace *places;
  size_t n_places;

  if (index->n_used < index->n_places / 2)
    return true;
  n_places = index->n_places ? index->n_places * 2 : FIRST_PLACES;
  if (n_places > PTRDIFF_MAX / sizeof *places)
    return false;
  places = malloc (n_places * sizeof *places);
  if (!places)
    return false;
  memset (places, 0xff, n_places * sizeof *places); /* index TESSERA_NONE everywhere */
  for (size_t i = 0; i < index->n_places; i++)
    if (index->places[i].index != TESSERA_NONE)
      place (places, n_places, index->places[i]);
  free (index->places);
  index->places = places;
  index->n_places = n_places;
  return true;
}

uint32_t
tessera_index_find (const TesseraIndex *index,
                    uint64_t hash,
                    TesseraIndexEqual equal,
                    const void *owner,
                    const void *wanted)
{
  uint32_t folded = fold (hash);
  size_t at;

  if (index->n_places == 0)
    return TESSERA_NONE;
  at = folded & (index->n_places - 1);
  while (index->places[at].index != TESSERA_NONE)
    {
      if (index->places[at].hash == folded &&
          equal (owner, index->places[at].index, wanted))
        return index->places[at].index;
      at = (at + 1) & (index->n_places - 1);
    }
  return TESSERA_NONE;
}

void
tessera_index_insert (TesseraIndex *index, uint64_t hash, uint32_t item)
{
  place (index->places, index->n_places,
         (TesseraIndexPlace){ .hash = fold (hash), .index = item });
  index->n_used++;
}

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

const char *const *
tessera_strings_all (const TesseraStrings *strings)
{
  return strings->texts;
}

size_t
tessera_strings_count (const TesseraStrings *strings)
{
  return strings->n_texts;
}

/* A small tree can unfold to very long lists; beyond this (1 GiB of them) it is not one
 * that a program made. */
#define MAX_STACK_FRAMES ((size_t) 1 << 28)

static bool
node_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraStackNode *node = &((const TesseraStackTree *) owner)->nodes[index];
  const TesseraStackNode *want = wanted;

  return node->caller == want->caller && node->frame == want->frame;
}

static TesseraStatus
find_or_add (TesseraStackTree *tree, TesseraStackNode node, uint32_t *out_node)
{
  TesseraIndex *index = &tree->index;
  uint64_t hash =
      tessera_hash_number (TESSERA_HASH_START, (uint64_t) node.caller << 32 | node.frame);

  *out_node = tessera_index_find (index, hash, node_equal, tree, &node);
  if (*out_node != TESSERA_NONE)
    return TESSERA_OK;
  if (!TESSERA_RESERVE (tree->nodes, tree->cap_nodes, tree->n_nodes + 1) ||
      !tessera_index_reserve (index))
    return TESSERA_NO_MEMORY;
  *out_node = (uint32_t) tree->n_nodes;
  tree->nodes[tree->n_nodes++] = node;
  tessera_index_insert (index, hash, *out_node);
  return TESSERA_OK;
}

TesseraStatus
tessera_stack_tree_add (TesseraStackTree *tree,
                        const uint32_t *frames,
                        size_t n_frames,
                        uint32_t *out_node)
{
  TesseraStackNode node = { .caller = TESSERA_NONE };
  TesseraStatus status = TESSERA_OK;

  for (size_t i = n_frames; status == TESSERA_OK && i-- > 0;)
    {
      node.frame = frames[i];
      status = find_or_add (tree, node, &node.caller);
    }
  *out_node = node.caller;
  return status;
}

TesseraStatus
tessera_stack_tree_fill (TesseraStackTree *tree, const TesseraTrace *trace)
{
  TesseraStatus status = TESSERA_OK;

  if (trace->n_stack_frames > MAX_STACK_FRAMES)
    return TESSERA_INVALID;
  if (!TESSERA_RESERVE (tree->stack_nodes, tree->cap_stacks, trace->n_stacks))
    return TESSERA_NO_MEMORY;
  for (size_t stack = 0; status == TESSERA_OK && stack < trace->n_stacks; stack++)
    {
      uint32_t begin = trace->stack_begin[stack], node;

      status = tessera_stack_tree_add (tree, trace->stack_frames + begin,
                                       trace->stack_begin[stack + 1] - begin, &node);
      tree->stack_nodes[tree->n_stacks++] = node;
    }
  return status;
}

void
tessera_stack_tree_clear (TesseraStackTree *tree)
{
  free (tree->nodes);
  free (tree->stack_nodes);
  tessera_index_clear (&tree->index);
  memset (tree, 0, sizeof *tree);
}

TesseraStatus
tessera_stack_tree_unfold (const TesseraStackTree *tree,
                           uint32_t node,
                           TesseraTrace *trace)
{
  uint32_t *frames, stack;
  size_t n_frames = 0, n_before = trace->n_stacks;
  TesseraStatus status;

  for (uint32_t at = node; at != TESSERA_NONE; at = tree->nodes[at].caller)
    n_frames++;
  if (n_frames > MAX_STACK_FRAMES - trace->n_stack_frames)
    return TESSERA_BAD_INPUT;
  frames = malloc ((n_frames + 1) * sizeof *frames);
  if (!frames)
    return TESSERA_NO_MEMORY;
  n_frames = 0;
  for (uint32_t at = node; at != TESSERA_NONE; at = tree->nodes[at].caller)
    frames[n_frames++] = tree->nodes[at].frame;
  status = tessera_trace_add_stack (trace, frames, n_frames, &stack);
  free (frames);
  return status == TESSERA_OK && trace->n_stacks == n_before ? TESSERA_BAD_INPUT : status;
}
