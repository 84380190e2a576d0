/* See leak.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/leak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "db/array.h"
#include "db/size-text.h"

enum
{
  LEAST_STEPS = 3, /* two that can be known to keep, and the one that they outlive */
  MANY_STEPS = 8   /* from here on the later half of them is compared as a whole */
};

/* A block that is kept; equal keys are alike. */
typedef struct
{
  uint64_t key;
  uint64_t bytes;
  uint32_t step, stack, block;
} Kept;

static int
compare_kept (const void *a, const void *b)
{
  const Kept *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->step > y->step) - (x->step < y->step);
}

/* Puts the alike together: those of one stack, or where none is looked at, or known, those
 * of one size and stream. */
static void
sort_kept (Kept *kept, size_t n_kept, const TesseraBlock *blocks, bool by_stack)
{
  for (size_t i = 0; i < n_kept; i++)
    {
      const TesseraBlock *block = &blocks[kept[i].block];

      kept[i].key = by_stack && block->stack != TESSERA_NONE
                        ? (uint64_t) 1 << 63 | block->stack
                        : block->size_bytes << 16 >> 1 | block->stream;
    }
  if (n_kept > 0)
    qsort (kept, n_kept, sizeof *kept, compare_kept);
}

/* What steps before the last one keep. The caller frees *out_kept. */
static TesseraStatus
list_kept (const TesseraBlocks *blocks,
           const TesseraStructure *structure,
           Kept **out_kept,
           size_t *out_n)
{
  uint32_t last = (uint32_t) structure->n_steps - 1;
  uint32_t end_index = structure->steps[last].end_index;
  size_t n = 0, cap = 0;
  Kept *kept = NULL;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];

      if (block->step >= last || block->freed_index < end_index ||
          (block->flags & (TESSERA_AT_START | TESSERA_FAILED)))
        continue;
      if (!TESSERA_RESERVE (kept, cap, n + 1))
        {
          free (kept);
          return TESSERA_NO_MEMORY;
        }
      kept[n++] = (Kept){ .bytes = block->block_bytes,
                          .step = block->step,
                          .stack = block->stack,
                          .block = (uint32_t) i };
    }
  *out_kept = kept;
  *out_n = n;
  return TESSERA_OK;
}

static int
compare_bytes (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* What each of @n steps in a row keeps, if nearly all keep something and the later ones
 * about as much as the earlier; else 0. Sorts @bytes. */
static uint64_t
steady_bytes (uint64_t *bytes, uint32_t n)
{
  uint64_t earlier = 0, later = 0;
  uint32_t n_keep = 0;

  for (uint32_t i = 0; i < n; i++)
    {
      n_keep += bytes[i] > 0;
      if (i < n / 2)
        earlier += bytes[i];
      else if (i >= n - n / 2)
        later += bytes[i];
    }
  if (n < 2 || n_keep < n - n / 4 || later < earlier / 2)
    return 0;
  qsort (bytes, n, sizeof *bytes, compare_bytes);
  return bytes[(n - 1) / 2];
}

/* One kind after the other, or all as one. @bytes: [n_steps] scratch. */
static void
add_steady (const Kept *kept,
            size_t n_kept,
            bool as_one,
            uint32_t first,
            uint64_t *bytes,
            TesseraLeak *leak)
{
  uint32_t n = leak->n_steps - 1 - first;
  size_t end;

  for (size_t begin = 0; begin < n_kept; begin = end)
    {
      for (uint32_t i = 0; i < n; i++)
        bytes[i] = 0;
      for (end = begin; end < n_kept && (as_one || kept[end].key == kept[begin].key);
           end++)
        if (kept[end].step >= first)
          bytes[kept[end].step - first] += kept[end].bytes;
      uint64_t step_bytes = steady_bytes (bytes, n);
      leak->step_bytes += step_bytes;
      for (size_t i = begin; i < end && step_bytes > 0; i++)
        leak->kept_bytes += kept[i].bytes;
    }
}

/* Of the stacks that at least two steps keep something of: the one of the most, where the
 * first step may have made state of its own. */
static uint32_t
largest_stack (const Kept *kept, size_t n_kept)
{
  uint32_t stack = TESSERA_NONE;
  uint64_t most = 0;
  size_t end;

  for (size_t begin = 0; begin < n_kept; begin = end)
    {
      uint64_t bytes = 0;

      for (end = begin; end < n_kept && kept[end].key == kept[begin].key; end++)
        bytes += kept[end].step > 0 ? kept[end].bytes : 0;
      if (kept[begin].stack != TESSERA_NONE && bytes > most &&
          kept[begin].step != kept[end - 1].step)
        {
          most = bytes;
          stack = kept[begin].stack;
        }
    }
  return stack;
}

TesseraStatus
tessera_leak_find (const TesseraBlocks *blocks,
                   const TesseraStructure *structure,
                   TesseraLeak *out_leak)
{
  uint32_t n_steps = (uint32_t) structure->n_steps;
  bool are_many = n_steps >= MANY_STEPS, have_stacks = true;
  uint64_t *bytes;
  size_t n_kept;
  Kept *kept;

  *out_leak = (TesseraLeak){ .n_steps = n_steps, .stack = TESSERA_NONE };
  if (n_steps < LEAST_STEPS)
    return TESSERA_OK;
  bytes = malloc (n_steps * sizeof *bytes);
  if (bytes == NULL || list_kept (blocks, structure, &kept, &n_kept) != TESSERA_OK)
    {
      free (bytes);
      return TESSERA_NO_MEMORY;
    }
  /* A dry run records the stacks of its first steps alone. */
  for (size_t i = 0; i < n_kept; i++)
    have_stacks &= kept[i].stack != TESSERA_NONE;
  sort_kept (kept, n_kept, blocks->blocks, have_stacks);
  add_steady (kept, n_kept, are_many, are_many ? n_steps / 2 : 0, bytes, out_leak);
  sort_kept (kept, n_kept, blocks->blocks, true);
  if (out_leak->step_bytes > 0)
    out_leak->stack = largest_stack (kept, n_kept);
  free (kept);
  free (bytes);
  return TESSERA_OK;
}

uint32_t
tessera_leak_last_step (const TesseraLeak *leak,
                        uint64_t needed_bytes,
                        uint64_t device_bytes)
{
  uint64_t left_bytes, n_more;

  if (needed_bytes == 0)
    needed_bytes = leak->kept_bytes;
  if (leak->step_bytes == 0 || device_bytes == 0)
    return 0;
  left_bytes = device_bytes > needed_bytes ? device_bytes - needed_bytes : 0;
  n_more = left_bytes / leak->step_bytes + 1;
  return n_more + leak->n_steps <= TESSERA_LEAK_STEPS
             ? (uint32_t) (n_more + leak->n_steps)
             : 0;
}

bool
tessera_leak_describe (const TesseraLeak *leak,
                       const char *line,
                       uint64_t needed_bytes,
                       uint64_t device_bytes,
                       char *out_text,
                       size_t n_text)
{
  /* Where the device is not known, one of those that people rent. */
  const uint64_t common_bytes = (uint64_t) 80 << 30;
  uint32_t last = tessera_leak_last_step (leak, needed_bytes,
                                          device_bytes > 0 ? device_bytes : common_bytes);
  int n;

  out_text[0] = '\0';
  if (last == 0)
    return false;
  n = snprintf (out_text, n_text, "Keeps %s more each step%s%s%s",
                TESSERA_SIZE (leak->step_bytes), *line != '\0' ? " (" : "", line,
                *line != '\0' ? ")" : "");
  if (n < 0 || (size_t) n >= n_text)
    return true;
  if (device_bytes == 0)
    snprintf (out_text + n, n_text - (size_t) n, ", in each of the %" PRIu32 " seen.",
              leak->n_steps);
  else if (needed_bytes > device_bytes)
    snprintf (out_text + n, n_text - (size_t) n, ".");
  else
    snprintf (out_text + n, n_text - (size_t) n,
              ": dies at about step %" PRIu32 " of this device.", last);
  return true;
}
