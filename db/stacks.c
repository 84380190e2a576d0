/*
 * Frames and stacks of a trace: deduplicated by content.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "db/array.h"
#include "db/hash.h"
#include "db/index.h"
#include "db/trace.h"

typedef struct
{
  const uint32_t *frames;
  size_t n_frames;
} WantedStack;

static bool
frame_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraTrace *trace = owner;
  const TesseraFrame *frame = &trace->frames[index], *want = wanted;

  return frame->name == want->name && frame->file == want->file &&
         frame->line == want->line;
}

TesseraStatus
tessera_trace_add_frame (TesseraTrace *trace,
                         const TesseraFrame *frame,
                         uint32_t *out_frame)
{
  TesseraIndex *index = trace->frame_table;
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, frame->name);
  uint32_t found;

  hash = tessera_hash_number (hash, frame->file);
  hash = tessera_hash_number (hash, (uint64_t) frame->line);
  found = tessera_index_find (index, hash, frame_equal, trace, frame);
  if (found == TESSERA_NONE)
    {
      if (trace->n_frames >= TESSERA_NONE)
        return TESSERA_BAD_INPUT;
      if (!TESSERA_RESERVE (trace->frames, trace->cap_frames, trace->n_frames + 1) ||
          !tessera_index_reserve (index))
        return TESSERA_NO_MEMORY;
      found = (uint32_t) trace->n_frames;
      trace->frames[trace->n_frames++] = *frame;
      tessera_index_insert (index, hash, found);
    }
  *out_frame = found;
  return TESSERA_OK;
}

static bool
stack_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraTrace *trace = owner;
  const WantedStack *want = wanted;
  uint32_t begin = trace->stack_begin[index];

  return trace->stack_begin[index + 1] - begin == want->n_frames &&
         (want->n_frames == 0 || memcmp (trace->stack_frames + begin, want->frames,
                                         want->n_frames * sizeof *want->frames) == 0);
}

/* stack_begin has one entry more than there are stacks: the end of the last. */
static TesseraStatus
append_stack (TesseraTrace *trace, const WantedStack *stack)
{
  size_t n_frames;

  if (trace->n_stacks >= TESSERA_NONE - 1 ||
      __builtin_add_overflow (trace->n_stack_frames, stack->n_frames, &n_frames) ||
      n_frames > UINT32_MAX)
    return TESSERA_BAD_INPUT;
  if (!TESSERA_RESERVE (trace->stack_frames, trace->cap_stack_frames, n_frames) ||
      !TESSERA_RESERVE (trace->stack_begin, trace->cap_stacks, trace->n_stacks + 2))
    return TESSERA_NO_MEMORY;
  if (stack->n_frames)
    memcpy (trace->stack_frames + trace->n_stack_frames, stack->frames,
            stack->n_frames * sizeof *stack->frames);
  trace->n_stack_frames = n_frames;
  trace->stack_begin[trace->n_stacks + 1] = (uint32_t) n_frames;
  trace->n_stacks++;
  return TESSERA_OK;
}

TesseraStatus
tessera_trace_add_stack (TesseraTrace *trace,
                         const uint32_t *frames,
                         size_t n_frames,
                         uint32_t *out_stack)
{
  TesseraIndex *index = trace->stack_table;
  WantedStack wanted = { .frames = frames, .n_frames = n_frames };
  uint64_t hash = TESSERA_HASH_START;
  uint32_t found;

  for (size_t i = 0; i < n_frames; i++)
    hash = (hash ^ frames[i]) * TESSERA_HASH_PRIME;
  found = tessera_index_find (index, hash, stack_equal, trace, &wanted);
  if (found == TESSERA_NONE)
    {
      TesseraStatus status;

      if (!tessera_index_reserve (index))
        return TESSERA_NO_MEMORY;
      status = append_stack (trace, &wanted);
      if (status != TESSERA_OK)
        return status;
      found = (uint32_t) trace->n_stacks - 1;
      tessera_index_insert (index, hash, found);
    }
  *out_stack = found;
  return TESSERA_OK;
}
