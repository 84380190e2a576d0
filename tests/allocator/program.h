/*
 * Plans made for tests, and a program of random requests that is watched while a policy
 * serves it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "allocator/policy.h"
#include "allocator/virtual.h"
#include "tests/allocator/books.h"
#include "tests/allocator/auto.h"

enum
{
  MADE_PLAN_SLOTS = 300
};

/* A plan of one section, which repeats. */
typedef struct
{
  TesseraPlan plan;
  TesseraSection section;
  TesseraSlot slots[MADE_PLAN_SLOTS];
  TesseraUnplanned unplanned[MADE_PLAN_SLOTS];
} MadePlan;

void made_plan_add_slot (MadePlan *made,
                         uint64_t block_bytes,
                         uint32_t stream,
                         uint64_t offset_bytes);
/* Comes before the slot that is added next, and has the shape of @like. */
void made_plan_add_unplanned (MadePlan *made, const TesseraSlot *like);
void made_plan_finish (MadePlan *made, uint64_t height_bytes);
/* Three blocks beside each other, of two streams. */
MadePlan *made_plan_small (void);
/* What no planner would make and no checker pass: places at random, so that the map is
 * asked for every wrong thing. One request in eight is unplanned. */
MadePlan *made_plan_hostile (GRand *rand, uint64_t height_bytes);
TesseraPolicyOptions made_plan_options (const MadePlan *made);

TesseraPolicy *program_open (const TesseraPolicyOptions *options, TesseraDevice *device);
/* The same of a plan, with somebody who looks on; and where its pool begins. */
TesseraPolicy *program_open_plan (const TesseraPolicyOptions *options,
                                  TesseraDevice *device,
                                  const TesseraObserver *observer,
                                  uint64_t *out_pool_addr);
TesseraPolicyGrant
program_take (TesseraPolicy *policy, uint64_t size_bytes, uint32_t stream);
void program_give_back (TesseraPolicy *policy, TesseraPolicyGrant grant);
/* What each() tells sums to what the figures say. */
TesseraPolicyStats program_check_sums (TesseraPolicy *policy);
/* ... as they are. */
TesseraPolicyStats program_look (TesseraPolicy *policy);

/* A device of so many bytes; 0: of any number. */
static inline TesseraVirtual
program_device (uint64_t device_bytes)
{
  TesseraVirtual device;

  tessera_virtual_init (&device, device_bytes);
  return device;
}

/* A policy over a device that keeps books, and who asks it. */
typedef struct
{
  Books books; /* the device */
  TesseraPolicy *policy;
  GArray *live, *pending; /* guint: blocks of the books */
  uint64_t pool_addr, pool_bytes;
  guint n_hits, n_in_pool;
  guint n_lent; /* times that memory of the pool was taken away */
} Program;

/* The device may be told to fail before the policy is made. */
void program_init (Program *program, uint64_t device_bytes);
void program_start (Program *program, const TesseraPolicyOptions *options);
void program_clear (Program *program);

/* Asks; the books assert that what is granted was free and in order for the stream. */
void
program_ask (Program *program, const TesseraSlot *like, uint32_t stream, uint32_t pool);
/* Frees some blocks, so that few are left; completes some that were freed. */
void program_free_some (Program *program, GRand *rand);
void program_free_all (Program *program);
