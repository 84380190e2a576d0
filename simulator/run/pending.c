/*
 * Blocks that were freed and wait for side streams.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "db/array.h"
#include "simulator/run/state.h"

void
tessera_run_complete (TesseraRun *run, uint32_t block)
{
  if (run->build.states[block] != TESSERA_BLOCK_PENDING)
    return;
  tessera_policy_free_completed (run->policy, run->build.layout->addr[block]);
  tessera_build_free_completed (&run->build, block);
  /* Nearly always the last one: completed at the event after its request. */
  for (size_t i = run->n_pending; i-- > 0;)
    if (run->pending[i].block == block)
      {
        run->pending[i] = run->pending[--run->n_pending];
        break;
      }
}

void
tessera_run_note_pending (TesseraRun *run, uint32_t block)
{
  if (TESSERA_RESERVE (run->pending, run->cap_pending, run->n_pending + 1))
    run->pending[run->n_pending++] = (TesseraRunPending){
      .died_index = run->blocks->blocks[block].died_index,
      .block = block,
    };
  else
    run->build.status = TESSERA_NO_MEMORY;
}

void
tessera_run_request_free (TesseraRun *run, uint32_t block)
{
  if (run->build.states[block] != TESSERA_BLOCK_LIVE)
    return;
  tessera_build_free_requested (&run->build, block);
  tessera_policy_free_requested (run->policy, run->build.layout->addr[block]);
  tessera_run_note_pending (run, block);
}

static int
compare_pending (const void *a, const void *b)
{
  const TesseraRunPending *x = a;
  const TesseraRunPending *y = b;

  if (x->died_index != y->died_index)
    return x->died_index < y->died_index ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

void
tessera_run_synchronize (void *user)
{
  TesseraRun *run = user;

  if (run->n_pending > 1)
    qsort (run->pending, run->n_pending, sizeof *run->pending, compare_pending);
  for (size_t i = 0; i < run->n_pending; i++)
    {
      uint32_t block = run->pending[i].block;

      tessera_policy_free_completed (run->policy, run->build.layout->addr[block]);
      tessera_build_free_completed (&run->build, block);
    }
  run->n_pending = 0;
}
