/*
 * Choosing blocks, one or many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "edits/edits.h"

#include <stdlib.h>
#include <string.h>

/* What looks at the numbers of blocks is done at once: half a million take a few frames.
 * What compares texts or counts is a worker's. */

/* --- at once ---------------------------------------------------------------------- */

static uint32_t
largest_of (const TesseraSelection *selection, const TesseraBlock *blocks)
{
  uint32_t largest = selection != NULL ? selection->blocks[0] : TESSERA_NONE;

  for (size_t i = 0; selection != NULL && i < selection->n_blocks; i++)
    if (blocks[selection->blocks[i]].size_bytes > blocks[largest].size_bytes)
      largest = selection->blocks[i];
  return largest;
}

void
tessera_document_set_selection (TesseraDocument *self,
                                TesseraSelection *selection,
                                uint32_t lead)
{
  g_clear_pointer (&self->jobs[TESSERA_WORK_SELECT], tessera_job_drop);
  if (!tessera_selection_has (selection, lead))
    lead = self->selected;
  if (!tessera_selection_has (selection, lead) && self->data != NULL)
    lead = largest_of (selection, self->data->blocks->blocks);
  if (lead == self->selected && tessera_selection_equals (selection, self->selection))
    {
      tessera_selection_unref (selection);
      return;
    }
  self->selected = lead;
  tessera_document_drop_proposal (self);
  tessera_selection_unref (self->selection);
  self->selection = selection;
  tessera_document_relight (self);
  tessera_document_refresh_facts (self);
  tessera_document_changed (self, TESSERA_CHANGED_SELECTION);
}

static size_t
n_blocks_of (TesseraDocument *self)
{
  return self->data != NULL ? self->data->blocks->n_blocks : 0;
}

/* @found: (transfer full) (nullable) */
static void
join (TesseraDocument *self, TesseraSelection *found, TesseraSelectHow how, uint32_t lead)
{
  tessera_document_set_selection (
      self, tessera_selection_join (self->selection, found, how), lead);
  tessera_selection_unref (found);
}

/* Takes @is_in, a byte for each block, over. */
static void
join_marked (TesseraDocument *self, uint8_t *is_in, TesseraSelectHow how)
{
  join (self, tessera_selection_new (n_blocks_of (self), is_in), how, TESSERA_NONE);
}

void
tessera_document_select_blocks (TesseraDocument *self,
                                const uint32_t *blocks,
                                size_t n_blocks,
                                TesseraSelectHow how,
                                uint32_t lead)
{
  join (self, tessera_selection_of_blocks (n_blocks_of (self), blocks, n_blocks), how,
        lead);
}

void
tessera_document_select (TesseraDocument *self, uint32_t block)
{
  if (block == TESSERA_NONE)
    tessera_document_set_selection (self, NULL, block);
  else
    tessera_document_select_blocks (self, &block, 1, TESSERA_SELECT_ONLY, block);
}

/* Where nothing leads: the block under the pointer, else the first one born from where the part
 * that is shown begins, or the last one before it ends. */
static uint32_t
first_of (TesseraDocument *self, int direction)
{
  const TesseraSheet *sheet = self->sheets[TESSERA_SIDE_LEFT];
  uint32_t n = (uint32_t) n_blocks_of (self), n_before = 0;
  double edge = direction > 0 ? self->view.t0 : self->view.t1;

  if (self->hovered < n)
    return self->hovered;
  while (n_before < n && sheet != NULL &&
         tessera_sheet_t_of (sheet, self->data->blocks->blocks[n_before].born_index) <
             edge)
    n_before++;
  return direction > 0 ? MIN (n_before, n - 1) : MAX (n_before, 1) - 1;
}

/* The block born before or after the one that leads; TESSERA_NONE: there are none. */
static uint32_t
next_of (TesseraDocument *self, int direction)
{
  size_t n = n_blocks_of (self);

  if (n == 0)
    return TESSERA_NONE;
  if (self->selected == TESSERA_NONE)
    return first_of (self, direction);
  return (uint32_t) CLAMP ((gint64) self->selected + direction, 0, (gint64) n - 1);
}

void
tessera_document_select_next (TesseraDocument *self, int direction, TesseraSelectHow how)
{
  uint32_t next = next_of (self, direction);

  if (next == TESSERA_NONE)
    return;
  tessera_document_select_blocks (self, &next, 1, how, next);
  tessera_document_reveal (self, next);
}

size_t
tessera_document_n_selected (TesseraDocument *self)
{
  return self->selection != NULL ? self->selection->n_blocks : 0;
}

/* --- searches --------------------------------------------------------------------- */

void
tessera_document_select_in (TesseraDocument *self,
                            TesseraSide side,
                            const TesseraView *rect,
                            TesseraSelectHow how)
{
  g_autoptr (GArray) blocks = NULL;

  if (self->sheets[side] == NULL)
    return;
  blocks = tessera_scene_blocks_in (self->sheets[side]->scene, rect);
  tessera_document_select_blocks (self, (const uint32_t *) (const void *) blocks->data,
                                  blocks->len, how, TESSERA_NONE);
}

void
tessera_document_select_alive (TesseraDocument *self,
                               uint32_t event_index,
                               TesseraSelectHow how)
{
  size_t n = n_blocks_of (self);
  uint8_t *is_in = g_malloc0 (MAX (n, 1));

  for (size_t i = 0; i < n; i++)
    {
      const TesseraBlock *block = &self->data->blocks->blocks[i];

      is_in[i] = block->born_index <= event_index && block->died_index > event_index;
    }
  join_marked (self, is_in, how);
}

void
tessera_document_select_all (TesseraDocument *self)
{
  size_t n = n_blocks_of (self);
  uint8_t *is_in = g_malloc (MAX (n, 1));

  memset (is_in, 1, n);
  join_marked (self, is_in, TESSERA_SELECT_ONLY);
}

void
tessera_document_select_group_of (TesseraDocument *self, uint32_t block)
{
  size_t n = n_blocks_of (self);
  uint32_t place;
  uint8_t *is_in;

  if (block >= n)
    return;
  place = tessera_place_of (self->data, block);
  is_in = g_malloc (n);
  for (uint32_t i = 0; i < n; i++)
    is_in[i] = tessera_place_of (self->data, i) == place;
  join_marked (self, is_in, TESSERA_SELECT_ONLY);
}

/* --- searches by selectors ---------------------------------------------------------- */

static TesseraStatus
find_matches (TesseraJob *job, TesseraError *error)
{
  const TesseraData *data = job->data;
  size_t n_blocks = data->blocks->n_blocks;
  g_autofree uint8_t *matches = g_malloc0 (MAX (n_blocks, 1));

  job->is_in = g_malloc0 (MAX (n_blocks, 1));
  for (size_t i = 0; i < job->n_selectors; i++)
    {
      tessera_select (&job->selectors[i], data->trace, data->blocks, data->structure,
                      data->groups, data->n_groups, matches);
      for (size_t block = 0; block < n_blocks; block++)
        job->is_in[block] |= matches[block];
    }
  return TESSERA_OK;
}

static void
take_matches (TesseraDocument *self, TesseraJob *job)
{
  join_marked (self, g_steal_pointer (&job->is_in), TESSERA_SELECT_ONLY);
}

static const TesseraWorkKind search_kind = { TESSERA_WORK_SELECT, "search", find_matches,
                                             take_matches };

/* Takes what is in *@selector over. @with: (nullable): what matches this is found as well. */
static void
select_matches (TesseraDocument *self,
                TesseraSelector *selector,
                const TesseraSelector *with)
{
  TesseraJob *job = tessera_job_new (self, &search_kind);

  job->selectors[job->n_selectors++] = *selector;
  if (with != NULL)
    tessera_selector_copy (with, &job->selectors[job->n_selectors++]);
  tessera_job_start (self, job);
}

void
tessera_document_select_edit (TesseraDocument *self, size_t index)
{
  const TesseraEdit *edit = index < tessera_document_n_edits (self)
                                ? &tessera_history_get (self->history, NULL)[index]
                                : NULL;
  TesseraSelector what;

  /* A cap is about the pool. */
  if (self->data == NULL || edit == NULL || edit->kind == TESSERA_EDIT_CAP)
    return;
  tessera_selector_copy (&edit->what, &what);
  select_matches (self, &what, edit->has_with ? &edit->with : NULL);
}

/* --- blocks by what they are --------------------------------------------------------- */

/* All blocks where there is no query. */
static TesseraStatus
make_grouping (TesseraJob *job, TesseraError *error)
{
  TesseraData *data = job->data;
  g_autofree uint8_t *is_in = NULL;

  if (job->text != NULL)
    {
      TesseraSelector selector;
      g_autofree char *misread = NULL;

      if (!tessera_query_parse (job->text, &selector, &misread))
        return tessera_fail (error, TESSERA_INVALID, "%s", misread);
      is_in = g_malloc0 (MAX (data->blocks->n_blocks, 1));
      tessera_select (&selector, data->trace, data->blocks, data->structure, data->groups,
                      data->n_groups, is_in);
      tessera_selector_clear (&selector);
    }
  job->grouping = tessera_grouping_new (data, is_in);
  return TESSERA_OK;
}

static void start_grouping (TesseraDocument *self, const char *text);

static void
take_grouping (TesseraDocument *self, TesseraJob *job)
{
  if (job->data != self->data)
    {
      start_grouping (self, job->text);
      return;
    }
  tessera_grouping_unref (self->grouping);
  self->grouping = g_steal_pointer (&job->grouping);
  g_free (self->query);
  self->query = g_steal_pointer (&job->text);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
}

static const TesseraWorkKind filter_kind = { TESSERA_WORK_GROUPS, "query", make_grouping,
                                             take_grouping };

static void
start_grouping (TesseraDocument *self, const char *text)
{
  TesseraJob *job = tessera_job_new (self, &filter_kind);

  job->text = g_strdup (text);
  tessera_job_start (self, job);
}

void
tessera_document_refresh_grouping (TesseraDocument *self)
{
  start_grouping (self, self->query);
}

static gboolean
is_blank (const char *text)
{
  while (g_ascii_isspace (*text))
    text++;
  return *text == '\0';
}

/* Says what is wrong with it. Returns: whether *@out_selector has it. */
static gboolean
parse (TesseraDocument *self, const char *text, TesseraSelector *out_selector)
{
  gboolean is_query;

  if (self->data == NULL)
    return FALSE;
  g_clear_pointer (&self->query_error, g_free);
  is_query = tessera_query_parse (text, out_selector, &self->query_error);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
  return is_query;
}

void
tessera_document_set_query (TesseraDocument *self, const char *text)
{
  TesseraSelector selector;

  if (!parse (self, text, &selector))
    return;
  tessera_selector_clear (&selector);
  start_grouping (self, is_blank (text) ? NULL : text);
}

void
tessera_document_select_query (TesseraDocument *self, const char *text)
{
  TesseraSelector selector;

  if (parse (self, text, &selector))
    select_matches (self, &selector, NULL);
}

void
tessera_document_select_similar (TesseraDocument *self, uint32_t block)
{
  const TesseraData *data = self->data;
  TesseraSelector selector;

  if (block >= n_blocks_of (self))
    return;
  tessera_query_similar (data->trace, data->blocks, data->structure, block, &selector);
  select_matches (self, &selector, NULL);
}

/* --- the selection in words -------------------------------------------------------- */

/* One request is at work at a time; where the selection changed meanwhile, the latest is
 * next. */

static TesseraStatus
find_facts (TesseraJob *job, TesseraError *error)
{
  tessera_selection_facts (job->data, job->selection, &job->facts);
  return TESSERA_OK;
}

static void
take_facts (TesseraDocument *self, TesseraJob *job)
{
  if (job->selection != self->selection || job->data != self->data)
    {
      tessera_document_refresh_facts (self);
      return;
    }
  tessera_selection_facts_clear (&self->facts);
  self->facts = job->facts;
  job->facts = (TesseraSelectionFacts){ 0 };
  tessera_document_changed (self, TESSERA_CHANGED_FACTS);
}

static const TesseraWorkKind facts_kind = { TESSERA_WORK_FACTS, "facts", find_facts,
                                            take_facts };

void
tessera_document_refresh_facts (TesseraDocument *self)
{
  /* Of one block everything is known. */
  if (self->selection == NULL || self->selection->n_blocks < 2)
    tessera_selection_facts_clear (&self->facts);
  else if (self->jobs[TESSERA_WORK_FACTS] == NULL)
    tessera_job_start (self, tessera_job_new (self, &facts_kind));
}

/* --- all blocks, sorted and filtered ------------------------------------------------- */

static TesseraStatus
make_list (TesseraJob *job, TesseraError *error)
{
  job->list = tessera_block_list_new (job->data, &job->filter);
  return TESSERA_OK;
}

static void
take_list (TesseraDocument *self, TesseraJob *job)
{
  g_clear_pointer (&self->list, g_array_unref);
  self->list = g_steal_pointer (&job->list);
  tessera_document_changed (self, TESSERA_CHANGED_LIST);
}

static const TesseraWorkKind list_kind = { TESSERA_WORK_LIST, "list of blocks", make_list,
                                           take_list };

void
tessera_document_list_blocks (TesseraDocument *self, const TesseraBlockFilter *filter)
{
  TesseraJob *job;

  if (self->data == NULL)
    return;
  job = tessera_job_new (self, &list_kind);
  job->filter = *filter;
  job->filter.text = job->text = g_strdup (filter->text);
  tessera_job_start (self, job);
}
