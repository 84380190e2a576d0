/*
 * Made-up layouts: sizes are powers of two, each size has its own segments of equal
 * slots, and a slot that was freed last is used first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"

#include <glib.h>

#define N_SIZES 20 /* 512 B ... 256 MiB */
#define SEGMENT_BYTES (2u << 20)

uint64_t
made_random (uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

MadeLayout *
made_layout_new (uint32_t n_events, size_t n_blocks, size_t n_spans)
{
  MadeLayout *made = g_new0 (MadeLayout, 1);
  made->trace.events = g_new0 (TesseraEvent, n_events + 1);
  made->trace.n_events = n_events;
  made->blocks.blocks = g_new0 (TesseraBlock, n_blocks + 1);
  made->blocks.n_blocks = n_blocks;
  made->blocks.n_events = n_events;
  made->layout.n_events = n_events;
  made->layout.n_blocks = n_blocks;
  made->layout.addr = g_new0 (uint64_t, n_blocks + 1);
  made->layout.block_bytes = g_new0 (uint64_t, n_blocks + 1);
  made->layout.died_index = g_new0 (uint32_t, n_blocks + 1);
  made->layout.spans = g_new0 (TesseraSpan, n_spans + 1);
  made->layout.n_spans = n_spans;
  return made;
}

void
made_layout_set (MadeLayout *made,
                 size_t i,
                 uint64_t addr,
                 uint64_t size_bytes,
                 uint32_t born_index,
                 uint32_t died_index)
{
  made->layout.addr[i] = addr;
  made->layout.block_bytes[i] = size_bytes;
  made->layout.died_index[i] = died_index;
  made->blocks.blocks[i] = (TesseraBlock){ .addr = addr,
                                           .size_bytes = size_bytes,
                                           .block_bytes = size_bytes,
                                           .born_index = born_index,
                                           .freed_index = died_index,
                                           .died_index = died_index,
                                           .stack = TESSERA_NONE,
                                           .died_stack = TESSERA_NONE,
                                           .step = TESSERA_NONE,
                                           .born_phase = TESSERA_NONE,
                                           .died_phase = TESSERA_NONE,
                                           .group = TESSERA_NONE };
}

/* A free slot of a size, from a new segment where there is none. */
static uint64_t
take_slot (GArray **slots, int size, GArray *spans, uint64_t *next_addr, uint32_t now)
{
  if (slots[size]->len == 0)
    {
      uint64_t slot_bytes = UINT64_C (512) << size;
      uint64_t bytes = MAX (slot_bytes, SEGMENT_BYTES);
      TesseraSpan span = { .addr = *next_addr, .size_bytes = bytes, .born_index = now };
      g_array_append_val (spans, span);
      for (uint64_t at = bytes; at > 0; at -= slot_bytes)
        {
          uint64_t addr = *next_addr + at - slot_bytes;
          g_array_append_val (slots[size], addr);
        }
      *next_addr += bytes + SEGMENT_BYTES; /* never adjacent */
    }
  uint64_t addr = g_array_index (slots[size], uint64_t, slots[size]->len - 1);
  g_array_set_size (slots[size], slots[size]->len - 1);
  return addr;
}

static uint64_t
random_life (uint64_t *state, size_t n_blocks)
{
  uint64_t kind = made_random (state) % 100;
  if (kind < 80)
    return 1 + made_random (state) % 20;
  if (kind < 95)
    return 20 + made_random (state) % (n_blocks / 50 + 100);
  return n_blocks / 20 + made_random (state) % (n_blocks + 1);
}

MadeLayout *
made_layout_random (size_t n_blocks, uint64_t seed)
{
  uint64_t state = seed * 2 + 1, next_addr = UINT64_C (0x7f0000000000);
  uint32_t n_events = (uint32_t) n_blocks * 2;
  MadeLayout *made = made_layout_new (n_events, n_blocks, 0);
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (TesseraSpan));
  g_autofree uint32_t *due =
      g_new0 (uint32_t, n_events + 1); /* by event: a block + 1, then ... */
  g_autofree uint32_t *next =
      g_new0 (uint32_t, n_blocks + 1); /* ... the next one due then */
  g_autofree int *sizes = g_new0 (int, n_blocks + 1);
  GArray *slots[N_SIZES];
  uint32_t waiting = 0; /* blocks that are due, as above */
  size_t n = 0;
  for (int i = 0; i < N_SIZES; i++)
    slots[i] = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  for (uint32_t now = 0; n < n_blocks; now++)
    {
      while (due[now] > 0)
        {
          uint32_t block = due[now] - 1;
          due[now] = next[block];
          next[block] = waiting;
          waiting = block + 1;
        }
      if (waiting > 0)
        {
          uint32_t block = waiting - 1;
          waiting = next[block];
          made->layout.died_index[block] = now;
          made->blocks.blocks[block].freed_index = now;
          made->blocks.blocks[block].died_index = now;
          g_array_append_val (slots[sizes[block]], made->layout.addr[block]);
          continue;
        }
      while (sizes[n] < N_SIZES - 1 && made_random (&state) % 100 < 72)
        sizes[n]++;
      uint64_t addr = take_slot (slots, sizes[n], spans, &next_addr, now);
      made_layout_set (made, n, addr, UINT64_C (512) << sizes[n], now, n_events);
      uint64_t end = now + random_life (&state, n_blocks);
      end = MIN (end, n_events);
      next[n] = due[end];
      due[end] = (uint32_t) ++n;
    }
  for (guint i = 0; i < spans->len; i++)
    g_array_index (spans, TesseraSpan, i).died_index = n_events;
  g_free (made->layout.spans);
  made->layout.n_spans = spans->len;
  made->layout.spans = (TesseraSpan *) (void *) g_array_free (spans, FALSE);
  for (int i = 0; i < N_SIZES; i++)
    g_array_unref (slots[i]);
  return made;
}

void
made_layout_free (MadeLayout *made)
{
  g_free (made->trace.events);
  g_free (made->blocks.blocks);
  g_free (made->layout.addr);
  g_free (made->layout.block_bytes);
  g_free (made->layout.died_index);
  g_free (made->layout.spans);
  g_free (made);
}
