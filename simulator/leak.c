/* See verdict.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/verdict.h"

#include <glib.h>
#include <inttypes.h>

#include "db/size-text.h"
#include "planner/modules.h"
#include "simulator/private.h"

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
sort_kept (GArray *kept, const TesseraBlock *blocks, bool by_stack)
{
  for (guint i = 0; i < kept->len; i++)
    {
      Kept *one = &g_array_index (kept, Kept, i);
      const TesseraBlock *block = &blocks[one->block];

      one->key = by_stack && block->stack != TESSERA_NONE
                     ? (uint64_t) 1 << 63 | block->stack
                     : block->size_bytes << 16 >> 1 | block->stream;
    }
  g_array_sort (kept, compare_kept);
}

/* What steps before the last one keep: array of Kept. */
static GArray *
list_kept (const TesseraBlocks *blocks, const TesseraStructure *structure)
{
  uint32_t last = (uint32_t) structure->n_steps - 1;
  uint32_t end_index = structure->steps[last].end_index;
  GArray *kept = g_array_new (FALSE, FALSE, sizeof (Kept));

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      const Kept one = { .bytes = block->block_bytes,
                         .step = block->step,
                         .stack = block->stack,
                         .block = (uint32_t) i };

      if (block->step < last && block->freed_index >= end_index &&
          (block->flags & (TESSERA_AT_START | TESSERA_FAILED)) == 0)
        g_array_append_val (kept, one);
    }
  return kept;
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
  qsort (bytes, n, sizeof *bytes, tessera_by_first_number);
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

TesseraLeak
tessera_leak_find (const TesseraTrace *trace,
                   const TesseraBlocks *blocks,
                   const TesseraStructure *structure)
{
  uint32_t n_steps = (uint32_t) structure->n_steps;
  TesseraLeak leak = { .n_steps = n_steps, .stack = TESSERA_NONE };
  bool are_many = n_steps >= MANY_STEPS, have_stacks = true;

  if (n_steps < LEAST_STEPS)
    return leak;
  g_autoptr (GArray) kept = list_kept (blocks, structure);
  g_autofree uint64_t *bytes = g_new (uint64_t, n_steps);
  const Kept *rows = (const Kept *) kept->data;
  /* A dry run records the stacks of its first steps alone. */
  for (guint i = 0; i < kept->len; i++)
    have_stacks &= rows[i].stack != TESSERA_NONE;
  sort_kept (kept, blocks->blocks, have_stacks);
  add_steady (rows, kept->len, are_many, are_many ? n_steps / 2 : 0, bytes, &leak);
  sort_kept (kept, blocks->blocks, true);
  if (leak.step_bytes > 0)
    leak.stack = largest_stack (rows, kept->len);
  if (leak.stack != TESSERA_NONE)
    {
      g_autofree char *line = tessera_name_line (trace, leak.stack);

      tessera_show_text (line, leak.line, sizeof leak.line);
    }
  return leak;
}

/* About the step in which @device_bytes are full, where the steps seen needed
 * @needed_bytes of them (0: not known, as much as was kept); 0 where @device_bytes is 0
 * (not known), or a long training run ends before. */
static uint32_t
last_step (const TesseraLeak *leak, uint64_t needed_bytes, uint64_t device_bytes)
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

char *
tessera_leak_describe (const TesseraLeak *leak,
                       uint64_t needed_bytes,
                       uint64_t device_bytes)
{
  /* Where the device is not known, one of those that people rent. */
  const uint64_t common_bytes = (uint64_t) 80 << 30;
  uint32_t last =
      last_step (leak, needed_bytes, device_bytes > 0 ? device_bytes : common_bytes);
  g_autofree char *end = NULL;

  if (last == 0)
    return NULL;
  if (device_bytes == 0)
    end = g_strdup_printf (", in each of the %" PRIu32 " seen.", leak->n_steps);
  else if (needed_bytes > device_bytes)
    end = g_strdup (".");
  else
    end = g_strdup_printf (": dies at about step %" PRIu32 " of this device.", last);
  return g_strdup_printf (
      "Keeps %s more each step%s%s%s%s", TESSERA_SIZE (leak->step_bytes),
      *leak->line != '\0' ? " (" : "", leak->line, *leak->line != '\0' ? ")" : "", end);
}
