/*
 * The session's selection in numbers: found by a worker.
 *
 * One request is at work at a time; where the selection changed meanwhile, the latest is
 * next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

typedef struct
{
  TesseraData *data;
  TesseraSelection *selection;
  TesseraSelectionFacts facts;
} Facts;

static void
facts_free (gpointer user)
{
  Facts *facts = user;

  tessera_selection_facts_clear (&facts->facts);
  tessera_selection_unref (facts->selection);
  tessera_data_unref (facts->data);
  g_free (facts);
}

static TesseraStatus
facts_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Facts *facts = user;

  tessera_selection_facts (facts->data, facts->selection, &facts->facts);
  return TESSERA_OK;
}

static void
facts_done (gpointer owner,
            gpointer user,
            TesseraStatus status,
            const TesseraError *error)
{
  TesseraDocument *self = owner;
  Facts *facts = user;

  if (!tessera_work_finished (self, TESSERA_WORK_FACTS, status, error))
    return;
  if (facts->selection != self->selection || facts->data != self->data)
    {
      tessera_document_refresh_facts (self);
      return;
    }
  tessera_selection_facts_clear (&self->facts);
  self->facts = facts->facts;
  facts->facts = (TesseraSelectionFacts){ 0 };
  tessera_document_changed (self, TESSERA_CHANGED_FACTS);
}

static const TesseraJobKind facts_kind = { facts_work, facts_done, NULL, facts_free,
                                           "facts" };

void
tessera_document_refresh_facts (TesseraDocument *self)
{
  Facts *facts;

  /* Of one block everything is known. */
  if (self->selection == NULL || self->selection->n_blocks < 2)
    {
      tessera_selection_facts_clear (&self->facts);
      return;
    }
  if (self->jobs[TESSERA_WORK_FACTS] != NULL)
    return;
  facts = g_new0 (Facts, 1);
  facts->data = tessera_data_ref (self->data);
  facts->selection = tessera_selection_ref (self->selection);
  tessera_work_start (self, TESSERA_WORK_FACTS, &facts_kind, facts);
}
