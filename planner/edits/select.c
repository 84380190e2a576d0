/*
 * Which blocks a selector means: planner/edit.h.
 *
 * What a text is compared with is shared by many blocks (phases, groups, stacks,
 * modules), so each is compared once and blocks look the answer up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edit.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/memory.h"
#include "planner/modules.h"

/* Patterns of selectors: "*" stands for any run of characters, the rest for itself, and
 * the whole of @text has to match. On a mismatch only the last star is tried again, one
 * character later: what stars before it took need never be changed. */
static bool
match (const char *pattern, const char *text)
{
  const char *star = NULL, *from = NULL;

  while (*text != '\0')
    if (*pattern == '*')
      {
        star = pattern++;
        from = text;
      }
    else if (*pattern == *text)
      {
        pattern++;
        text++;
      }
    else if (star)
      {
        pattern = star + 1;
        text = ++from;
      }
    else
      return false;
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}

/* By phase: whether the phase or an enclosing one is meant; outer ones come first. */
static uint8_t *
ask_phases (const TesseraTrace *trace,
            const TesseraStructure *structure,
            const char *pattern)
{
  uint8_t *answers = g_new0 (uint8_t, structure->n_phases + 1);

  for (size_t i = 0; i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];

      answers[i] = match (pattern, tessera_phase_name (trace, phase)) ||
                   (phase->parent < i && answers[phase->parent]);
    }
  return answers;
}

static uint8_t *
ask_groups (const TesseraGroup *groups, size_t n_groups, const char *pattern)
{
  uint8_t *answers = g_new0 (uint8_t, n_groups + 1);

  for (size_t i = 0; i < n_groups; i++)
    answers[i] = match (pattern, groups[i].name);
  return answers;
}

/* "dir/file.py:12", "file.py:12", "dir/file.py", "file.py", "function" */
static bool
is_frame (const TesseraTrace *trace, const TesseraFrame *frame, const char *pattern)
{
  const char *file = tessera_trace_string (trace, frame->file);
  const char *slash = strrchr (file, '/');
  char line[512];

  if (match (pattern, tessera_trace_string (trace, frame->name)) ||
      match (pattern, file) || (slash && match (pattern, slash + 1)))
    return true;
  if (frame->line <= 0)
    return false;
  snprintf (line, sizeof line, "%s:%lld", file, (long long) frame->line);
  if (match (pattern, line))
    return true;
  snprintf (line, sizeof line, "%s:%lld", slash ? slash + 1 : file,
            (long long) frame->line);
  return match (pattern, line);
}

static uint8_t *
ask_stacks (const TesseraTrace *trace, const char *pattern)
{
  g_autofree uint8_t *frames = g_new0 (uint8_t, trace->n_frames + 1);
  uint8_t *answers = g_new0 (uint8_t, trace->n_stacks + 1);

  for (size_t i = 0; i < trace->n_frames; i++)
    frames[i] = is_frame (trace, &trace->frames[i], pattern);
  for (size_t s = 0; s < trace->n_stacks; s++)
    for (uint32_t i = trace->stack_begin[s]; i < trace->stack_begin[s + 1]; i++)
      answers[s] |= frames[trace->stack_frames[i]];
  return answers;
}

/* Of the selected, those stay whose @index_bytes'th bytes of the block are the index of a
 * thing that is meant. @answers: [n] whether a thing is; freed */
static void
keep_answered (const TesseraBlocks *blocks,
               size_t index_bytes,
               uint8_t *answers,
               size_t n,
               uint8_t *selected)
{
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      uint32_t index = G_STRUCT_MEMBER (uint32_t, &blocks->blocks[i], index_bytes);

      selected[i] = selected[i] && index < n && answers[index];
    }
  free (answers);
}

/* Where the trace has no modules, a stack says of which it is. */
static void
keep_of_module (const TesseraTrace *trace,
                const TesseraBlocks *blocks,
                const char *pattern,
                uint8_t *selected)
{
  g_autofree uint32_t *module_of_event = tessera_find_modules (trace);
  size_t n = module_of_event ? tessera_trace_n_strings (trace) : trace->n_stacks;
  uint8_t *answers = g_new0 (uint8_t, n + 1);

  for (uint32_t i = 0; i < n; i++)
    {
      const char *name = module_of_event ? tessera_trace_string (trace, i)
                                         : tessera_module_of_stack (trace, i);

      answers[i] = name && match (pattern, name);
    }
  if (!module_of_event)
    {
      keep_answered (blocks, offsetof (TesseraBlock, stack), answers, n, selected);
      return;
    }
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      bool is_born =
          !(block->flags & TESSERA_AT_START) && block->born_index < trace->n_events;
      uint32_t module = is_born ? module_of_event[block->born_index] : TESSERA_NONE;

      selected[i] = selected[i] && module < n && answers[module];
    }
  free (answers);
}

/* What needs no text. */
static bool
is_of_numbers (const TesseraSelector *selector,
               const TesseraStructure *structure,
               const TesseraBlock *block)
{
  uint32_t life = block->died_index - block->born_index;

  if (block->size_bytes < selector->least_bytes || life < selector->least_life)
    return false;
  if ((selector->most_bytes && block->size_bytes > selector->most_bytes) ||
      (selector->most_life && life > selector->most_life))
    return false;
  if (selector->stream >= 0 && block->stream != selector->stream)
    return false;
  if (selector->lifetime_class && block->lifetime_class != selector->lifetime_class)
    return false;
  if (selector->alive_at != TESSERA_NONE &&
      (block->born_index > selector->alive_at || block->died_index <= selector->alive_at))
    return false;
  return selector->step < 0 || (block->step < structure->n_steps &&
                                structure->steps[block->step].number == selector->step);
}

void
tessera_select (const TesseraSelector *selector,
                const TesseraTrace *trace,
                const TesseraBlocks *blocks,
                const TesseraStructure *structure,
                const TesseraGroup *groups,
                size_t n_groups,
                uint8_t *selected)
{
  memset (selected, selector->blocks ? 0 : 1, blocks->n_blocks);
  for (size_t i = 0; selector->blocks && i < selector->n_blocks; i++)
    if (selector->blocks[i] < blocks->n_blocks)
      selected[selector->blocks[i]] = 1;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    selected[i] = selected[i] && is_of_numbers (selector, structure, &blocks->blocks[i]);
  if (selector->phase)
    keep_answered (blocks, offsetof (TesseraBlock, born_phase),
                   ask_phases (trace, structure, selector->phase), structure->n_phases,
                   selected);
  if (selector->died_phase)
    keep_answered (blocks, offsetof (TesseraBlock, died_phase),
                   ask_phases (trace, structure, selector->died_phase),
                   structure->n_phases, selected);
  if (selector->group)
    keep_answered (blocks, offsetof (TesseraBlock, group),
                   ask_groups (groups, n_groups, selector->group), n_groups, selected);
  if (selector->source)
    keep_answered (blocks, offsetof (TesseraBlock, stack),
                   ask_stacks (trace, selector->source), trace->n_stacks, selected);
  if (selector->module)
    keep_of_module (trace, blocks, selector->module, selected);
  if (selector->ordinal != TESSERA_NONE)
    {
      g_autofree uint32_t *ordinals = g_new (uint32_t, blocks->n_blocks + 1);

      tessera_block_ordinals (trace, blocks, structure, ordinals);
      for (size_t i = 0; i < blocks->n_blocks; i++)
        selected[i] = selected[i] && ordinals[i] == selector->ordinal;
    }
}

void
tessera_selected_list (const uint8_t *selected,
                       size_t n_blocks,
                       uint32_t **out_blocks,
                       size_t *out_n_blocks)
{
  size_t n = 0;

  for (size_t i = 0; i < n_blocks; i++)
    n += selected[i];
  *out_blocks = g_new (uint32_t, n + 1);
  *out_n_blocks = 0;
  for (uint32_t i = 0; i < n_blocks; i++)
    if (selected[i])
      (*out_blocks)[(*out_n_blocks)++] = i;
}
