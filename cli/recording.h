/*
 * What a trace that libtessera recorded says of itself (docs/FORMAT.md), and how the plan
 * that it followed fared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"

/* Strings are the trace's. */
typedef struct
{
  const char *policy;      /* NULL: not recorded by libtessera, the rest says nothing */
  const char *plan_source; /* NULL: no plan was named */
  gboolean was_followed;   /* a plan's pool was taken */
  guint64 rank, world;     /* world 0: not told */
  guint64 lost_events;
  guint64 pool_bytes;
  guint64 declined_index; /* event from which on it was followed no more; 0: none */
  guint64 planned_misses; /* of the misses */
  guint64 hits, misses, missed_bytes; /* requests inside and outside of the pool */
  guint64 extra_bytes;                /* the most reserved outside of the pool */
} CliRecording;

/* @study has a layout as recorded. */
void cli_recording (const CliStudy *study, CliRecording *out_recording);
/* One line, or none. */
void cli_recording_print (const CliRecording *recording);
/* Member recording: an object, or null. */
void cli_recording_json (JsonBuilder *builder, const CliRecording *recording);
