/*
 * Blocks by what they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "edits/edits.h"

typedef struct
{
  TesseraData *data;
  char *text; /* NULL: all blocks */
  TesseraGrouping *grouping;
} Filter;

static void
filter_free (gpointer user)
{
  Filter *filter = user;

  tessera_data_unref (filter->data);
  tessera_grouping_unref (filter->grouping);
  g_free (filter->text);
  g_free (filter);
}

TesseraStatus
tessera_query_groups (TesseraData *data,
                      const char *text,
                      TesseraError *error,
                      TesseraGrouping **out_grouping)
{
  g_autofree uint8_t *is_in = NULL;
  TesseraStatus status = TESSERA_OK;

  *out_grouping = NULL;
  if (text != NULL)
    {
      TesseraSelector selector;
      g_autofree char *misread = NULL;

      if (!tessera_query_parse (text, &selector, &misread))
        return tessera_fail (error, TESSERA_INVALID, "%s", misread);
      is_in = g_malloc0 (MAX (data->blocks->n_blocks, 1));
      status = tessera_select (&selector, data->trace, data->blocks, data->structure,
                               data->groups, data->n_groups, is_in);
      tessera_selector_clear (&selector);
    }
  if (status != TESSERA_OK)
    return tessera_explain (status, error, "looking for blocks");
  *out_grouping = tessera_grouping_new (data, is_in);
  return TESSERA_OK;
}

static TesseraStatus
filter_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Filter *filter = user;

  return tessera_query_groups (filter->data, filter->text, error, &filter->grouping);
}

static void
filter_done (gpointer owner,
             gpointer user,
             TesseraStatus status,
             const TesseraError *error)
{
  TesseraDocument *self = owner;
  Filter *filter = user;

  if (!tessera_work_finished (self, TESSERA_WORK_GROUPS, status, error))
    return;
  if (filter->data != self->data)
    {
      tessera_document_set_query (self, filter->text != NULL ? filter->text : "");
      return;
    }
  tessera_grouping_unref (self->grouping);
  self->grouping = g_steal_pointer (&filter->grouping);
  g_free (self->query);
  self->query = g_steal_pointer (&filter->text);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
}

static const TesseraJobKind filter_kind = { filter_work, filter_done, NULL, filter_free,
                                            "query" };

static gboolean
is_blank (const char *text)
{
  while (g_ascii_isspace (*text))
    text++;
  return *text == '\0';
}

void
tessera_document_set_query (TesseraDocument *self, const char *text)
{
  TesseraSelector selector;
  gboolean is_query;
  Filter *filter;

  if (self->data == NULL)
    return;
  g_clear_pointer (&self->query_error, g_free);
  tessera_selector_init (&selector);
  is_query = tessera_query_parse (text, &selector, &self->query_error);
  tessera_selector_clear (&selector);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
  if (!is_query)
    return;
  filter = g_new0 (Filter, 1);
  filter->data = tessera_data_ref (self->data);
  filter->text = is_blank (text) ? NULL : g_strdup (text);
  tessera_work_start (self, TESSERA_WORK_GROUPS, &filter_kind, filter);
}

gboolean
tessera_document_select_query (TesseraDocument *self,
                               const char *text,
                               TesseraSelectHow how,
                               char **out_error)
{
  TesseraSelector selector;
  g_autofree char *error = NULL;

  tessera_selector_init (&selector);
  if (tessera_query_parse (text, &selector, &error))
    {
      tessera_document_select_matches (self, &selector, how);
      return TRUE;
    }
  tessera_selector_clear (&selector);
  if (out_error != NULL)
    *out_error = g_steal_pointer (&error);
  return FALSE;
}

void
tessera_document_select_similar (TesseraDocument *self, uint32_t block)
{
  const TesseraData *data = self->data;
  TesseraSelector selector;

  if (data == NULL || block >= data->blocks->n_blocks)
    return;
  tessera_selector_init (&selector);
  tessera_query_similar (data->trace, data->blocks, data->structure, block, &selector);
  tessera_document_select_matches (self, &selector, TESSERA_SELECT_ONLY);
}
