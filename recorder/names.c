/*
 * What events and ranges refer to by number: private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/private.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

static TesseraTrace *
add_device (TesseraNames *names, uint32_t device)
{
  TesseraTrace *head = NULL;

  if (!TESSERA_RESERVE (names->devices, names->cap_devices, names->n_devices + 1) ||
      tessera_trace_new (&head) != TESSERA_OK)
    return NULL;
  if (tessera_trace_set_source (head, names->shared->source) != TESSERA_OK)
    {
      tessera_trace_free (head);
      return NULL;
    }
  head->device = device;
  head->has_addresses = head->has_segments = head->has_time = head->starts_empty = true;
  names->devices[names->n_devices++] = head;
  names->has_news = true;
  return head;
}

static TesseraTrace *
find_device (TesseraNames *names, uint32_t device)
{
  for (size_t i = 0; !names->is_assumed && i < names->n_devices; i++)
    if (names->devices[i]->device == device)
      return names->devices[i];
  return NULL;
}

TesseraStatus
tessera_names_init (TesseraNames *names, const char *source)
{
  TesseraStatus status;

  memset (names, 0, sizeof *names);
  if (pthread_mutex_init (&names->lock, NULL) != 0)
    return TESSERA_NO_MEMORY;
  status = tessera_trace_new (&names->shared);
  if (status == TESSERA_OK)
    status = tessera_trace_set_source (names->shared, source);
  /* a trace holds at least one device, also when it is killed before the first is told */
  if (status == TESSERA_OK && !add_device (names, 0))
    status = TESSERA_NO_MEMORY;
  names->is_assumed = true;
  if (status != TESSERA_OK)
    tessera_names_clear (names);
  return status;
}

void
tessera_names_clear (TesseraNames *names)
{
  for (size_t i = 0; i < names->n_devices; i++)
    tessera_trace_free (names->devices[i]);
  free (names->devices);
  free (names->stack_of_node);
  tessera_stack_tree_clear (&names->tree);
  tessera_trace_free (names->shared);
  pthread_mutex_destroy (&names->lock);
  memset (names, 0, sizeof *names);
}

void
tessera_recorder_device (TesseraRecorder *recorder, const TesseraRecordedDevice *device)
{
  TesseraNames *names = &recorder->names;
  TesseraTrace *head;

  if (!tessera_recorder_is_recording (recorder))
    return;
  pthread_mutex_lock (&names->lock);
  head = names->is_assumed ? names->devices[0] : find_device (names, device->device);
  if (!head)
    head = add_device (names, device->device);
  if (head)
    {
      head->device = device->device;
      head->device_bytes = device->memory_bytes;
      head->limit_bytes = device->limit_bytes;
      head->alignment_bytes = device->alignment_bytes ? device->alignment_bytes : 1;
      head->settings = device->settings;
      names->is_assumed = false;
      names->has_news = true;
    }
  pthread_mutex_unlock (&names->lock);
}

/* Adds a stream, or a pool where @pool is one; they are numbered in the order they come. */
static void
add_to_device (TesseraRecorder *recorder,
               uint32_t device,
               uint16_t index,
               uint64_t stream,
               const TesseraPoolId *pool)
{
  TesseraNames *names = &recorder->names;
  TesseraTrace *head;
  uint16_t added;

  if (!tessera_recorder_is_recording (recorder))
    return;
  pthread_mutex_lock (&names->lock);
  head = find_device (names, device);
  if (head && index == (pool ? head->n_pools : head->n_streams) &&
      (pool ? tessera_trace_add_pool (head, *pool, &added)
            : tessera_trace_add_stream (head, stream, &added)) == TESSERA_OK)
    names->has_news = true;
  pthread_mutex_unlock (&names->lock);
}

void
tessera_recorder_stream (TesseraRecorder *recorder,
                         uint32_t device,
                         uint16_t stream,
                         uint64_t handle)
{
  add_to_device (recorder, device, stream, handle, NULL);
}

void
tessera_recorder_pool (TesseraRecorder *recorder,
                       uint32_t device,
                       uint16_t pool,
                       TesseraPoolId id)
{
  add_to_device (recorder, device, pool, 0, &id);
}

bool
tessera_held_copy (TesseraHeld *to, const TesseraHeld *from)
{
  if (!TESSERA_RESERVE (to->segments, to->cap_segments, from->n_segments) ||
      !TESSERA_RESERVE (to->blocks, to->cap_blocks, from->n_blocks))
    return false;
  for (; to->n_segments < from->n_segments; to->n_segments++)
    to->segments[to->n_segments] = from->segments[to->n_segments];
  for (; to->n_blocks < from->n_blocks; to->n_blocks++)
    to->blocks[to->n_blocks] = from->blocks[to->n_blocks];
  tessera_held_sort (to);
  return true;
}

/* Replaces an earlier state; without memory there is none. */
void
tessera_recorder_state (TesseraRecorder *recorder,
                        uint32_t device,
                        const TesseraHeld *held,
                        bool at_end)
{
  TesseraNames *names = &recorder->names;
  TesseraTrace *head;
  TesseraHeld *state;

  if (!tessera_recorder_is_recording (recorder))
    return;
  pthread_mutex_lock (&names->lock);
  head = find_device (names, device);
  if (head)
    {
      state = at_end ? &head->end : &head->start;
      tessera_held_clear (state);
      if (!tessera_held_copy (state, held))
        tessera_held_clear (state);
      head->starts_empty &= at_end || held->n_segments == 0;
      names->has_news |= !at_end;
    }
  pthread_mutex_unlock (&names->lock);
}

void
tessera_names_meta (TesseraNames *names, const char *key, const char *value)
{
  pthread_mutex_lock (&names->lock);
  if (tessera_trace_set_meta (names->shared, key, value) == TESSERA_OK)
    names->has_news = true;
  pthread_mutex_unlock (&names->lock);
}

static uint32_t
intern (TesseraNames *names, const char *text)
{
  uint32_t string;

  return text && tessera_trace_intern (names->shared, text, strlen (text), &string) ==
                     TESSERA_OK
             ? string
             : TESSERA_NONE;
}

uint32_t
tessera_names_string (TesseraNames *names, const char *text)
{
  uint32_t string;

  pthread_mutex_lock (&names->lock);
  string = intern (names, text);
  pthread_mutex_unlock (&names->lock);
  return string;
}

uint32_t
tessera_names_frame (TesseraNames *names,
                     const char *function,
                     const char *file,
                     int64_t line)
{
  TesseraFrame frame = { .line = line };
  uint32_t found = TESSERA_NONE;

  pthread_mutex_lock (&names->lock);
  frame.name = intern (names, function);
  frame.file = intern (names, file);
  if (tessera_trace_add_frame (names->shared, &frame, &found) != TESSERA_OK)
    found = TESSERA_NONE;
  pthread_mutex_unlock (&names->lock);
  return found;
}

/* The stack that ends at @node, numbered when it is first asked for. */
static uint32_t
stack_at (TesseraNames *names, uint32_t node)
{
  TesseraStackTree *tree = &names->tree;
  size_t n_known = names->cap_stack_of_node;

  if (!TESSERA_RESERVE (names->stack_of_node, names->cap_stack_of_node,
                        (size_t) node + 1))
    return TESSERA_NONE;
  for (; n_known < names->cap_stack_of_node; n_known++)
    names->stack_of_node[n_known] = TESSERA_NONE;
  if (names->stack_of_node[node] == TESSERA_NONE && tree->n_stacks < TESSERA_NONE &&
      TESSERA_RESERVE (tree->stack_nodes, tree->cap_stacks, tree->n_stacks + 1))
    {
      names->stack_of_node[node] = (uint32_t) tree->n_stacks;
      tree->stack_nodes[tree->n_stacks++] = node;
    }
  return names->stack_of_node[node];
}

uint32_t
tessera_names_stack (TesseraNames *names, const uint32_t *frames, size_t n_frames)
{
  uint32_t node, stack = TESSERA_NONE;

  pthread_mutex_lock (&names->lock);
  if (tessera_stack_tree_add (&names->tree, frames, n_frames, &node) == TESSERA_OK &&
      node != TESSERA_NONE)
    stack = stack_at (names, node);
  pthread_mutex_unlock (&names->lock);
  return stack;
}
