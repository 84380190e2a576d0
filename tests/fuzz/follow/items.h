/*
 * The step of a random program of several streams (streams.h), and the plan that lets them
 * share addresses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tests/allocator/program.h"

enum
{
  GRAPHS = 1 /* the private pool */
};

typedef enum
{
  JOINED,   /* the block's stream waits for the others before the free, */
  RECORDED, /* or their events are waited for, */
  TRAPPED   /* or the stream waits before its next allocation */
} Ending;

/* One request of the step, and what becomes of its block. */
typedef struct
{
  uint64_t size_bytes;
  guint stream, pool, thread, freed_by;
  guint lifetime; /* requests */
  guint sides;    /* other streams, one bit each */
  Ending ending;
  bool skips_owner;   /* is used on the others first */
  bool is_used_late;  /* after the free, */
  bool is_late_aside; /* ... on another stream */
} Item;

/* @small: so many of a hundred are, and some of the others. */
Item item_random (GRand *rand, guint n_streams, guint n_threads, guint small);
/* Steps of these requests, each at the lowest place that is free while its block is live.
 */
MadePlan *
items_plan (const Item *items, guint n_items, guint n_streams, bool crosses_streams);
