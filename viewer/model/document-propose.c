/*
 * A place that is proposed for what is selected, until it is pinned there or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <string.h>

typedef struct
{
  TesseraFollowed *planned;
  TesseraSelection *chosen;
  int first_direction; /* of the key that began it; 0: none */
  gboolean pushing;
  gboolean is_pin; /* at once, at @offset_bytes */
  uint64_t offset_bytes;
  gboolean by_rule;
  TesseraLandings *landings;
} Places;

static void
places_free (gpointer user)
{
  Places *places = user;

  tessera_landings_unref (places->landings);
  tessera_followed_unref (places->planned);
  tessera_selection_unref (places->chosen);
  g_free (places);
}

static TesseraStatus
places_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Places *places = user;

  return tessera_landings_new (places->planned, places->chosen->blocks,
                               places->chosen->n_blocks, tessera_job_progress (job, 0, 1),
                               error, &places->landings);
}

static void
move_to (TesseraDocument *self, uint64_t offset_bytes)
{
  TesseraProposal *proposal = &self->proposal;

  if (proposal->pushed != NULL && proposal->offset_bytes == offset_bytes)
    return;
  proposal->offset_bytes = offset_bytes;
  if (proposal->pushed != NULL)
    g_array_unref (proposal->pushed);
  proposal->pushed = tessera_landings_pushed (proposal->landings, offset_bytes);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

static gboolean
is_at_one_place (const TesseraLandings *landings)
{
  for (size_t i = 0; i < landings->n_blocks; i++)
    if (landings->distance_bytes[i] != 0)
      return FALSE;
  return TRUE;
}

static void *
copy_of (const void *bytes, size_t n_bytes)
{
  void *copy = malloc (n_bytes);

  if (copy == NULL)
    g_error ("out of memory");
  return memcpy (copy, bytes, n_bytes);
}

static void
accept (TesseraDocument *self, gboolean by_rule)
{
  TesseraLandings *landings = self->proposal.landings;
  TesseraEdit edit;

  if (landings == NULL || self->selection == NULL)
    return;
  tessera_landings_ref (landings);
  edit = tessera_edit_of (TESSERA_EDIT_PIN);
  edit.at = self->proposal.offset_bytes;
  tessera_document_drop_proposal (self);
  /* What lies at one place is told by a rule; the distances of several are of these very
   * blocks. */
  if (is_at_one_place (landings) && self->selection->n_blocks == landings->n_blocks)
    tessera_document_edit_selection (self, &edit, by_rule);
  else
    {
      edit.what.blocks =
          copy_of (landings->blocks, landings->n_blocks * sizeof *landings->blocks);
      edit.what.n_blocks = landings->n_blocks;
      edit.shape = copy_of (landings->distance_bytes,
                            landings->n_blocks * sizeof *landings->distance_bytes);
      tessera_document_add_listed (self, &edit);
    }
  tessera_landings_unref (landings);
}

static void
places_done (gpointer owner,
             gpointer user,
             TesseraStatus status,
             const TesseraError *error)
{
  TesseraDocument *self = owner;
  Places *places = user;

  if (!tessera_work_finished (self, TESSERA_WORK_PLACES, status, error) ||
      places->planned != self->planned)
    return;
  self->proposal.landings = g_steal_pointer (&places->landings);
  move_to (self,
           places->is_pin ? places->offset_bytes : self->proposal.landings->base_bytes);
  if (places->is_pin)
    accept (self, places->by_rule);
  else if (places->first_direction != 0)
    tessera_document_propose_next (self, places->first_direction, places->pushing);
}

static const TesseraJobKind places_kind = { places_work, places_done, NULL, places_free,
                                            "places" };

/* NULL: there is nothing to be moved. */
static Places *
places_new (TesseraDocument *self)
{
  Places *places;

  tessera_document_drop_proposal (self);
  if (self->selection == NULL || self->planned == NULL)
    return NULL;
  places = g_new0 (Places, 1);
  places->planned = tessera_followed_ref (self->planned);
  places->chosen = tessera_selection_ref (self->selection);
  return places;
}

static void
propose (TesseraDocument *self, int first_direction, gboolean pushing)
{
  Places *places = places_new (self);

  if (places == NULL)
    return;
  places->first_direction = first_direction;
  places->pushing = pushing;
  tessera_work_start (self, TESSERA_WORK_PLACES, &places_kind, places);
}

void
tessera_document_pin_at (TesseraDocument *self, uint64_t offset_bytes, gboolean by_rule)
{
  Places *places = places_new (self);

  if (places == NULL)
    return;
  places->is_pin = TRUE;
  places->offset_bytes = offset_bytes;
  places->by_rule = by_rule;
  tessera_work_start (self, TESSERA_WORK_PLACES, &places_kind, places);
}

void
tessera_document_propose (TesseraDocument *self)
{
  propose (self, 0, FALSE);
}

gboolean
tessera_document_is_proposing (TesseraDocument *self)
{
  return self->proposal.landings != NULL || self->jobs[TESSERA_WORK_PLACES] != NULL;
}

void
tessera_document_propose_at (TesseraDocument *self,
                             int64_t offset_bytes,
                             uint64_t reach_bytes)
{
  if (self->proposal.landings != NULL)
    move_to (self,
             tessera_landings_snap (self->proposal.landings, offset_bytes, reach_bytes));
}

void
tessera_document_propose_next (TesseraDocument *self, int direction, gboolean pushing)
{
  if (self->proposal.landings != NULL)
    move_to (self,
             tessera_landings_next (self->proposal.landings, self->proposal.offset_bytes,
                                    direction, pushing));
  else if (self->jobs[TESSERA_WORK_PLACES] == NULL)
    propose (self, direction, pushing);
}

void
tessera_document_drop_proposal (TesseraDocument *self)
{
  g_clear_pointer (&self->jobs[TESSERA_WORK_PLACES], tessera_job_drop);
  if (self->proposal.landings == NULL)
    return;
  g_clear_pointer (&self->proposal.landings, tessera_landings_unref);
  g_clear_pointer (&self->proposal.pushed, g_array_unref);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

void
tessera_document_accept_proposal (TesseraDocument *self)
{
  accept (self, TRUE);
}

char *
tessera_document_describe_proposal (TesseraDocument *self)
{
  const TesseraProposal *proposal = &self->proposal;
  g_autofree char *place = NULL, *count = NULL;

  if (proposal->landings == NULL)
    return NULL;
  place = tessera_describe_bytes (proposal->offset_bytes);
  if (proposal->offset_bytes == proposal->landings->base_bytes)
    return g_strdup_printf ("%s, as it lies", place);
  if (proposal->pushed->len == 0)
    return g_strdup_printf ("%s, free", place);
  count = tessera_describe_count (proposal->pushed->len);
  return g_strdup_printf ("%s, pushes %s block%s", place, count,
                          proposal->pushed->len == 1 ? "" : "s");
}
