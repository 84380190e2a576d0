/* See layout.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/layout.h"

#include <glib.h>
#include <string.h>

const char *
tessera_layout_owner (const TesseraLayout *layout)
{
  bool has_followed =
      layout != NULL && layout->kind == TESSERA_LAYOUT_RECORDED && layout->pool_bytes > 0;

  return has_followed ? "The planned run" : "PyTorch";
}

void
tessera_layout_free (TesseraLayout *layout)
{
  if (layout == NULL)
    return;
  g_free (layout->addr);
  g_free (layout->block_bytes);
  g_free (layout->died_index);
  g_free (layout->is_hit);
  g_free (layout->is_left);
  g_free (layout->links);
  g_free (layout->handovers.counts);
  g_free (layout->spans);
  g_free (layout->ooms);
  g_free (layout->curves.live_bytes);
  g_free (layout->curves.allocated_bytes);
  g_free (layout->curves.active_bytes);
  g_free (layout->curves.reserved_bytes);
  g_free (layout);
}

/* Returns: whether @key is there and is a decimal number. */
static bool
read_number (const TesseraTrace *trace, const char *key, uint64_t *out_number)
{
  const char *text = tessera_trace_get_meta (trace, key);

  return text != NULL &&
         g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, out_number, NULL);
}

TesseraRecordedPool
tessera_recorded_pool (const TesseraTrace *trace)
{
  const TesseraRecordedPool none = { 0 };
  const char *policy = tessera_trace_get_meta (trace, "policy");
  TesseraRecordedPool pool = { 0 };
  uint64_t device = trace->device;
  uint64_t declined_index;

  if (policy == NULL || strcmp (policy, "plan") != 0 || !trace->has_addresses ||
      !read_number (trace, "plan_pool_addr", &pool.addr) ||
      !read_number (trace, "plan_pool_bytes", &pool.n_bytes))
    return none;
  if (tessera_trace_get_meta (trace, "plan_device") != NULL &&
      (!read_number (trace, "plan_device", &device) || device != trace->device))
    return none;
  if (read_number (trace, "plan_declined", &declined_index) &&
      declined_index < trace->n_events)
    pool.declined_index = (uint32_t) declined_index;
  return pool;
}

bool
tessera_pool_holds (TesseraRecordedPool pool, uint64_t addr)
{
  return addr >= pool.addr && addr - pool.addr < pool.n_bytes;
}

bool
tessera_pool_was_asked (TesseraRecordedPool pool, const TesseraBlock *block)
{
  return pool.n_bytes > 0 &&
         (block->flags & (TESSERA_AT_START | TESSERA_UNKNOWN_START | TESSERA_FAILED)) ==
             0 &&
         (pool.declined_index == 0 || block->born_index < pool.declined_index);
}

bool
tessera_pool_was_missed (TesseraRecordedPool pool, const TesseraBlock *block)
{
  return tessera_pool_was_asked (pool, block) && !tessera_pool_holds (pool, block->addr);
}

bool
tessera_pool_was_left (const TesseraTrace *trace,
                       TesseraRecordedPool pool,
                       const TesseraBlock *block)
{
  return tessera_pool_was_missed (pool, block) &&
         trace->events[block->born_index].is_left;
}
