/*
 * What events and ranges refer to by number: strings, frames, stacks, devices with their
 * streams and pools; and the facts about the trace.
 *
 * Any thread adds, under the lock; the writer looks what is new at every batch, after it
 * has taken the events that refer to it. Nothing waits for the disk here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>

#include "db/intern.h"
#include "recorder/recorder.h"

typedef struct
{
  pthread_mutex_t lock; /* guards all below */
  TesseraTrace *shared; /* strings, frames, meta, source */
  TesseraStackTree tree;
  uint32_t *stack_of_node; /* TESSERA_NONE: no stack ends there */
  size_t cap_stack_of_node;
  TesseraTrace **devices; /* settings, streams, pools */
  size_t n_devices, cap_devices;
  bool is_assumed; /* the one device is not the program's: it named none yet */
  bool has_news;   /* of devices or meta */
} TesseraNames;

TESSERA_MUST_USE TesseraStatus tessera_names_init (TesseraNames *names,
                                                   const char *source);
void tessera_names_clear (TesseraNames *names);

/* All take the lock. What cannot be told for want of memory stays unknown: events that
 * refer to it are not written. */
void tessera_names_device (TesseraNames *names, const TesseraRecordedDevice *device);
void tessera_names_stream (TesseraNames *names,
                           uint32_t device,
                           uint16_t stream,
                           uint64_t handle);
void tessera_names_pool (TesseraNames *names,
                         uint32_t device,
                         uint16_t pool,
                         TesseraPoolId id);
void tessera_names_meta (TesseraNames *names, const char *key, const char *value);
/* Find or add; TESSERA_NONE without memory. */
uint32_t tessera_names_string (TesseraNames *names, const char *text);
uint32_t tessera_names_frame (TesseraNames *names,
                              const char *function,
                              const char *file,
                              int64_t line);
uint32_t
tessera_names_stack (TesseraNames *names, const uint32_t *frames, size_t n_frames);
