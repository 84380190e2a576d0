/*
 * Rules for blocks that were chosen by hand: edits.h.
 *
 * What all of them have in common is the narrowest rule there can be. If it means others
 * as well, there is none. If not, conditions that another run need not have are left out
 * again while the rule still means the same blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/private.h"

#include <string.h>

#include "planner/modules.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraGroup *groups;
  gsize n_groups;
  guint32 *modules; /* of events; NULL: the trace names none */
  guint32 *ordinals;
  guint8 *chosen;   /* by block */
  guint8 *selected; /* room for as many */
} View;

static const char *
phase_of (const View *view, guint32 phase)
{
  return phase < view->structure->n_phases
             ? tessera_phase_name (view->trace, &view->structure->phases[phase])
             : NULL;
}

/* The innermost Python frame outside of PyTorch, "file.py:12"; NULL: there is none. */
static char *
source_of (const View *view, guint32 stack)
{
  const TesseraTrace *trace = view->trace;

  for (guint32 i = stack < trace->n_stacks ? trace->stack_begin[stack] : 0;
       stack < trace->n_stacks && i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];
      const char *file = tessera_trace_string (trace, frame->file);

      if (g_str_has_suffix (file, ".py") && strstr (file, "/torch/") == NULL)
        {
          g_autofree char *base = g_path_get_basename (file);

          return g_strdup_printf ("%s:%" G_GINT64_FORMAT, base, frame->line);
        }
    }
  return NULL;
}

/* A copy; NULL where an edit could not be read back with it. */
static char *
kept_text (const char *text)
{
  return text != NULL && edits_find_fault_of_text (text) == NULL ? g_strdup (text) : NULL;
}

/* Everything that can be said of one block. */
static void
describe_block (const View *view, guint32 index, TesseraSelector *selector)
{
  const TesseraBlock *block = &view->blocks->blocks[index];
  gboolean is_at_start = (block->flags & TESSERA_AT_START) != 0;

  tessera_selector_init (selector);
  selector->least_bytes = selector->most_bytes = block->size_bytes;
  selector->phase = kept_text (phase_of (view, block->born_phase));
  selector->died_phase = kept_text (phase_of (view, block->died_phase));
  selector->module =
      kept_text (is_at_start && view->modules
                     ? NULL
                     : tessera_module_of_birth (view->trace, view->modules,
                                                block->born_index, block->stack));
  selector->source = source_of (view, block->stack);
  if (selector->source != NULL && edits_find_fault_of_text (selector->source) != NULL)
    g_clear_pointer (&selector->source, g_free);
  if (block->group < view->n_groups)
    selector->group = kept_text (view->groups[block->group].name);
  if (block->step < view->structure->n_steps)
    selector->step = view->structure->steps[block->step].number;
  selector->stream = block->stream;
  selector->ordinal = view->ordinals != NULL ? view->ordinals[index] : TESSERA_NONE;
  selector->lifetime_class = block->lifetime_class;
}

static gboolean
are_equal (const EditsField *field, const TesseraSelector *a, const TesseraSelector *b)
{
  return field->type == EDITS_TEXT
             ? g_strcmp0 (*edits_get_text (field, a), *edits_get_text (field, b)) == 0
             : edits_get_number (field, a) == edits_get_number (field, b);
}

static void
clear_field (const EditsField *field, TesseraSelector *selector)
{
  if (field->type == EDITS_TEXT)
    g_free (*edits_get_text (field, selector));
  edits_set_number (field, selector, field->none);
}

/* Leaves what both say. */
static void
intersect (TesseraSelector *common, const TesseraSelector *other)
{
  guint64 least_bytes = MIN (common->least_bytes, other->least_bytes);
  guint64 most_bytes = MAX (common->most_bytes, other->most_bytes);

  for (gsize i = 0; i < EDITS_N_FIELDS; i++)
    if (!are_equal (&edits_fields[i], common, other))
      clear_field (&edits_fields[i], common);
  common->least_bytes = least_bytes;
  common->most_bytes = most_bytes;
}

static gboolean
is_exact (const View *view, const TesseraSelector *selector)
{
  tessera_select (selector, view->trace, view->blocks, view->structure, view->groups,
                  view->n_groups, view->selected);
  return memcmp (view->selected, view->chosen, view->blocks->n_blocks) == 0;
}

/* What another run is least likely to have is left out first. */
static const gsize left_out[] = {
  G_STRUCT_OFFSET (TesseraSelector, group),
  G_STRUCT_OFFSET (TesseraSelector, step),
  G_STRUCT_OFFSET (TesseraSelector, source),
  G_STRUCT_OFFSET (TesseraSelector, lifetime_class),
  G_STRUCT_OFFSET (TesseraSelector, stream),
  G_STRUCT_OFFSET (TesseraSelector, ordinal),
  G_STRUCT_OFFSET (TesseraSelector, died_phase),
};

static void
leave_out (TesseraSelector *selector, gsize offset)
{
  for (gsize i = 0; i < EDITS_N_FIELDS; i++)
    if (edits_fields[i].offset == offset)
      clear_field (&edits_fields[i], selector);
}

static void
generalise (const View *view, TesseraSelector *selector)
{
  for (gsize i = 0; i < G_N_ELEMENTS (left_out); i++)
    {
      TesseraSelector wider;

      tessera_selector_copy (selector, &wider);
      leave_out (&wider, left_out[i]);
      if (is_exact (view, &wider))
        {
          TesseraSelector narrower = *selector;

          *selector = wider;
          wider = narrower;
        }
      tessera_selector_clear (&wider);
    }
}

static gboolean
find_rule (const View *view,
           const guint32 *chosen,
           gsize n_chosen,
           TesseraSelector *selector)
{
  tessera_selector_init (selector);
  if (n_chosen > 0)
    describe_block (view, chosen[0], selector);
  for (gsize i = 1; i < n_chosen; i++)
    {
      TesseraSelector other;

      describe_block (view, chosen[i], &other);
      intersect (selector, &other);
      tessera_selector_clear (&other);
    }
  if (n_chosen > 0 && is_exact (view, selector))
    {
      generalise (view, selector);
      return TRUE;
    }
  tessera_selector_clear (selector);
  tessera_selected_list (view->chosen, view->blocks->n_blocks, &selector->blocks,
                         &selector->n_blocks);
  return FALSE;
}

gboolean
tessera_query_rule_for (const TesseraTrace *trace,
                        const TesseraBlocks *blocks,
                        const TesseraStructure *structure,
                        const TesseraGroup *groups,
                        size_t n_groups,
                        const uint32_t *chosen,
                        size_t n_chosen,
                        TesseraSelector *selector)
{
  g_autofree guint32 *ordinals = g_new (guint32, blocks->n_blocks + 1);
  g_autofree guint8 *marks = g_new0 (guint8, blocks->n_blocks + 1);
  g_autofree guint8 *selected = g_new0 (guint8, blocks->n_blocks + 1);
  View view = { .trace = trace,
                .blocks = blocks,
                .structure = structure,
                .groups = groups,
                .n_groups = n_groups,
                .ordinals = ordinals,
                .chosen = marks,
                .selected = selected };
  gboolean is_rule;

  tessera_block_ordinals (trace, blocks, structure, ordinals);
  view.modules = tessera_find_modules (trace);
  for (gsize i = 0; i < n_chosen; i++)
    marks[chosen[i]] = 1;
  is_rule = find_rule (&view, chosen, n_chosen, selector);
  g_free (view.modules);
  return is_rule;
}

void
tessera_query_similar (const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       uint32_t block,
                       TesseraSelector *selector)
{
  View view = { .trace = trace, .blocks = blocks, .structure = structure };

  view.modules = tessera_find_modules (trace);
  describe_block (&view, block, selector);
  selector->step = -1;
  selector->lifetime_class = 0;
  g_clear_pointer (&selector->source, g_free);
  g_free (view.modules);
}
