/*
 * What the writer has seen of the names, and what came since: see news.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/news.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

/* Copies @from's facts of the device; streams and pools are only ever added. */
static TesseraStatus
copy_head (TesseraTrace *head, const TesseraTrace *from)
{
  TesseraStatus status = tessera_trace_set_source (head, from->source);
  uint16_t added;

  head->device = from->device;
  head->device_bytes = from->device_bytes;
  head->limit_bytes = from->limit_bytes;
  head->alignment_bytes = from->alignment_bytes;
  head->settings = from->settings;
  head->has_addresses = from->has_addresses;
  head->has_segments = from->has_segments;
  head->has_time = from->has_time;
  head->starts_empty = from->starts_empty;
  for (size_t i = head->n_streams; status == TESSERA_OK && i < from->n_streams; i++)
    status = tessera_trace_add_stream (head, from->streams[i], &added);
  for (size_t i = head->n_pools; status == TESSERA_OK && i < from->n_pools; i++)
    status = tessera_trace_add_pool (head, from->pools[i], &added);
  return status;
}

static TesseraStatus
take_devices (TesseraNews *news, const TesseraNames *names)
{
  TesseraStatus status = TESSERA_OK;

  if (!TESSERA_RESERVE (news->heads, news->cap_heads, names->n_devices) ||
      !TESSERA_RESERVE (news->devices, news->cap_devices, names->n_devices))
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; status == TESSERA_OK && i < names->n_devices; i++)
    {
      if (i == news->n_devices)
        {
          status = tessera_trace_new (&news->heads[i]);
          if (status != TESSERA_OK)
            break;
          news->n_devices++;
        }
      news->devices[i] = (TesseraLiveDevice){ .head = news->heads[i], .has_news = true };
      status = copy_head (news->heads[i], names->devices[i]);
    }
  return status;
}

static TesseraStatus
take_meta (TesseraNews *news, const TesseraNames *names)
{
  const TesseraTrace *shared = names->shared;
  TesseraStatus status = news->meta ? TESSERA_OK : tessera_trace_new (&news->meta);

  for (size_t i = 0; status == TESSERA_OK && i < shared->n_meta; i++)
    status =
        tessera_trace_set_meta (news->meta, shared->meta[i].key, shared->meta[i].value);
  news->has_meta = true;
  return status;
}

typedef struct
{
  void **array; /* of the copies */
  size_t *cap, *n_new;
  const void *from;
  size_t n_seen, n_all, item_bytes;
} List;

static bool
take_list (const List *list)
{
  size_t n_new = list->n_all - list->n_seen;

  if (!tessera_array_reserve (list->array, list->cap, n_new, list->item_bytes))
    return false;
  if (n_new)
    memcpy (*list->array, (const char *) list->from + list->n_seen * list->item_bytes,
            n_new * list->item_bytes);
  *list->n_new = n_new;
  return true;
}

static bool
take_lists (TesseraNews *news, const TesseraNames *names)
{
  const TesseraTrace *shared = names->shared;
  const TesseraStackTree *tree = &names->tree;
  size_t n_strings = tessera_trace_n_strings (shared);
  const List lists[] = {
    { (void **) &news->frames, &news->cap_frames, &news->n_new_frames, shared->frames,
      news->n_frames, shared->n_frames, sizeof *news->frames },
    { (void **) &news->nodes, &news->cap_nodes, &news->n_new_nodes, tree->nodes,
      news->n_nodes, tree->n_nodes, sizeof *news->nodes },
    { (void **) &news->stack_nodes, &news->cap_stacks, &news->n_new_stacks,
      tree->stack_nodes, news->n_stacks, tree->n_stacks, sizeof *news->stack_nodes }
  };

  if (!TESSERA_RESERVE (news->strings, news->cap_strings, n_strings - news->n_strings))
    return false;
  news->n_new_strings = n_strings - news->n_strings;
  for (size_t i = 0; i < news->n_new_strings; i++) /* the text itself never moves */
    news->strings[i] = tessera_trace_string (shared, (uint32_t) (news->n_strings + i));
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (!take_list (&lists[i]))
      return false;
  return true;
}

TesseraStatus
tessera_news_take (TesseraNews *news, TesseraNames *names)
{
  TesseraStatus status = TESSERA_OK;

  pthread_mutex_lock (&names->lock);
  if (names->has_news)
    {
      status = take_devices (news, names);
      if (status == TESSERA_OK)
        status = take_meta (news, names);
      names->has_news = false;
    }
  if (status == TESSERA_OK && !take_lists (news, names))
    status = TESSERA_NO_MEMORY;
  pthread_mutex_unlock (&names->lock);
  return status;
}

bool
tessera_news_any (const TesseraNews *news)
{
  return news->has_meta || news->n_new_strings || news->n_new_frames ||
         news->n_new_nodes || news->n_new_stacks;
}

void
tessera_news_fill (const TesseraNews *news, TesseraLiveBatch *batch)
{
  *batch = (TesseraLiveBatch){ .devices = news->devices,
                               .n_devices = news->n_devices,
                               .strings = news->strings,
                               .n_strings = news->n_new_strings,
                               .frames = news->frames,
                               .n_frames = news->n_new_frames,
                               .nodes = news->nodes,
                               .n_nodes = news->n_new_nodes,
                               .stack_nodes = news->stack_nodes,
                               .n_stacks = news->n_new_stacks,
                               .meta = news->meta->meta,
                               .n_meta = news->has_meta ? news->meta->n_meta : 0 };
}

void
tessera_news_written (TesseraNews *news)
{
  news->n_strings += news->n_new_strings;
  news->n_frames += news->n_new_frames;
  news->n_nodes += news->n_new_nodes;
  news->n_stacks += news->n_new_stacks;
  news->has_meta = false;
  for (size_t i = 0; i < news->n_devices; i++)
    news->devices[i] = (TesseraLiveDevice){ .head = news->heads[i] };
}

void
tessera_news_clear (TesseraNews *news)
{
  for (size_t i = 0; i < news->n_devices; i++)
    tessera_trace_free (news->heads[i]);
  free (news->heads);
  free (news->devices);
  tessera_trace_free (news->meta);
  free (news->strings);
  free (news->frames);
  free (news->nodes);
  free (news->stack_nodes);
  memset (news, 0, sizeof *news);
}
