/*
 * Plans made for tests, and a program that is watched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/program.h"
#include "tests/allocator/check.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)

void
made_plan_finish (MadePlan *made, uint64_t height_bytes)
{
  TesseraPlan *plan = &made->plan;

  plan->slots = made->slots;
  plan->unplanned = made->unplanned;
  plan->sections = &made->section;
  plan->n_sections = 1;
  plan->n_positions = (uint32_t) plan->n_slots * 2;
  plan->height_bytes = height_bytes;
  plan->alignment_bytes = 512;
  plan->followable = TESSERA_FOLLOWABLE_YES;
  made->section = (TesseraSection){ .end = plan->n_positions,
                                    .n_slots = (uint32_t) plan->n_slots,
                                    .kind = TESSERA_SECTION_REPEATS };
}

void
made_plan_add_slot (MadePlan *made,
                    uint64_t block_bytes,
                    uint32_t stream,
                    uint64_t offset_bytes)
{
  uint32_t n = (uint32_t) made->plan.n_slots++;

  made->slots[n] = (TesseraSlot){ .size_bytes = block_bytes,
                                  .block_bytes = block_bytes,
                                  .offset_bytes = offset_bytes,
                                  .born = 2 * n,
                                  .died = 2 * n + 2,
                                  .phase = TESSERA_NONE,
                                  .group = TESSERA_NONE,
                                  .stream = (uint16_t) stream,
                                  .lifetime_class = TESSERA_CLASS_TRANSIENT };
  if (made->plan.n_streams <= stream)
    made->plan.n_streams = stream + 1;
}

void
made_plan_add_unplanned (MadePlan *made, const TesseraSlot *like)
{
  TesseraPlan *plan = &made->plan;

  made->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = like->size_bytes,
                          .block_bytes = like->block_bytes,
                          .before = (uint32_t) plan->n_slots,
                          .born = 2 * (uint32_t) plan->n_slots,
                          .phase = TESSERA_NONE,
                          .block = TESSERA_NONE,
                          .stream = like->stream };
}

MadePlan *
made_plan_small (void)
{
  MadePlan *made = g_new0 (MadePlan, 1);

  made_plan_add_slot (made, 4 * MIB, 0, 0);
  made_plan_add_slot (made, 2 * MIB, 1, 4 * MIB);
  made_plan_add_slot (made, 1024, 0, 6 * MIB);
  made_plan_finish (made, 7 * MIB);
  return made;
}

MadePlan *
made_plan_hostile (GRand *rand, uint64_t height_bytes)
{
  static const uint64_t sizes[] = { 512,     1536,      40960,       300 * 1024,
                                    1 * MIB, MIB + 512, 3 * MIB / 2, 3 * MIB };
  MadePlan *made = g_new0 (MadePlan, 1);

  for (guint i = 0; i < MADE_PLAN_SLOTS; i++)
    {
      uint64_t size = sizes[g_rand_int_range (rand, 0, G_N_ELEMENTS (sizes))];
      gint32 n_places = (gint32) ((height_bytes - size) / (128 * 1024));

      if (i > 0 && i % 8 == 0)
        made_plan_add_unplanned (made,
                                 &made->slots[g_rand_int_range (rand, 0, (gint32) i)]);
      made_plan_add_slot (made, size, (uint32_t) g_rand_int_range (rand, 0, 3),
                          (uint64_t) g_rand_int_range (rand, 0, n_places) * (128 * 1024));
      made->slots[i].died =
          made->slots[i].born + (uint32_t) g_rand_int_range (rand, 1, 9);
    }
  made_plan_finish (made, height_bytes);
  for (guint i = 0; i < MADE_PLAN_SLOTS; i++)
    made->slots[i].died = MIN (made->slots[i].died, made->plan.n_positions);
  return made;
}

TesseraPolicyOptions
made_plan_options (const MadePlan *made)
{
  return (TesseraPolicyOptions){
    .kind = TESSERA_POLICY_PLAN,
    .caching = { .settings = { .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB } },
    .plan = &made->plan,
  };
}

TesseraPolicy *
program_open_plan (const TesseraPolicyOptions *options,
                   TesseraDevice *device,
                   const TesseraObserver *observer,
                   uint64_t *out_pool_addr)
{
  TesseraPolicy *policy;

  WORKS (error, tessera_policy_new (options, device, observer, &error, &policy));
  TesseraPolicyStats stats = program_look (policy);
  *out_pool_addr = stats.pool_addr;
  return policy;
}

TesseraPolicy *
program_open (const TesseraPolicyOptions *options, TesseraDevice *device)
{
  uint64_t pool_addr;

  return program_open_plan (options, device, NULL, &pool_addr);
}

TesseraPolicyGrant
program_take (TesseraPolicy *policy, uint64_t size_bytes, uint32_t stream)
{
  TesseraPolicyGrant grant;

  OK (tessera_policy_malloc (policy, size_bytes, stream, 0, &grant));
  return grant;
}

void
program_give_back (TesseraPolicy *policy, TesseraPolicyGrant grant)
{
  OK (tessera_policy_free_requested (policy, grant.grant.addr));
  OK (tessera_policy_free_completed (policy, grant.grant.addr));
}

static void
add_block (void *user, const TesseraBlockInfo *info)
{
  TesseraCachingStats *sums = user;

  sums->reserved_bytes += info->block_bytes;
  if (info->state != TESSERA_BLOCK_FREE)
    sums->active_bytes += info->block_bytes;
  if (info->state == TESSERA_BLOCK_LIVE)
    sums->allocated_bytes += info->block_bytes;
  sums->requested_bytes += info->size_bytes;
}

TesseraPolicyStats
program_look (TesseraPolicy *policy)
{
  TesseraPolicyStats stats;

  tessera_policy_get_stats (policy, &stats);
  return stats;
}

TesseraPolicyStats
program_check_sums (TesseraPolicy *policy)
{
  TesseraCachingStats sums = { 0 };

  WORKS (error, tessera_policy_check (policy, &error));
  tessera_policy_each (policy, add_block, &sums);
  TesseraPolicyStats stats = program_look (policy);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==, sums.reserved_bytes);
  g_assert_cmpuint (stats.caching.active_bytes, ==, sums.active_bytes);
  g_assert_cmpuint (stats.caching.allocated_bytes, ==, sums.allocated_bytes);
  g_assert_cmpuint (stats.caching.requested_bytes, ==, sums.requested_bytes);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==,
                    stats.pool_bytes + stats.extra_bytes);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, >=, sums.allocated_bytes);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, >=, sums.reserved_bytes);
  return stats;
}

static void
on_unmap (void *user, const TesseraSegment *memory)
{
  Program *program = user;

  program->n_lent += memory->addr - program->pool_addr < program->pool_bytes;
}

static void
complete (Program *program)
{
  guint block = g_array_index (program->pending, guint, 0);

  g_array_remove_index_fast (program->pending, 0);
  books_done (&program->books, block);
  OK (tessera_policy_free_completed (program->policy,
                                     books_block (&program->books, block)->addr));
}

static void
complete_all (void *user)
{
  Program *program = user;

  while (program->pending->len > 0)
    complete (program);
}

void
program_init (Program *program, uint64_t device_bytes)
{
  *program = (Program){ .live = g_array_new (FALSE, FALSE, sizeof (guint)),
                        .pending = g_array_new (FALSE, FALSE, sizeof (guint)) };
  books_init (&program->books, device_bytes);
  program->books.synchronize = complete_all;
  program->books.user = program;
}

void
program_start (Program *program, const TesseraPolicyOptions *options)
{
  const TesseraObserver observer = { .memory_went = on_unmap, .user = program };

  WORKS (error, tessera_policy_new (options, &program->books.device, &observer, &error,
                                    &program->policy));
  TesseraPolicyStats stats = program_look (program->policy);
  program->pool_addr = stats.pool_addr;
  program->pool_bytes = stats.pool_height_bytes;
}

void
program_clear (Program *program)
{
  tessera_policy_free (program->policy);
  books_clear (&program->books);
  g_array_unref (program->live);
  g_array_unref (program->pending);
}

void
program_ask (Program *program, const TesseraSlot *like, uint32_t stream, uint32_t pool)
{
  TesseraPolicyGrant granted;

  books_request (&program->books, like->size_bytes, stream, pool);
  if (tessera_policy_malloc (program->policy, like->size_bytes, stream, pool, &granted) !=
      TESSERA_OK)
    return;
  TesseraPolicyStats stats = program_look (program->policy);
  if (stats.pool_bytes == 0 && stats.decline.is_declined)
    program->pool_bytes = 0; /* its addresses may be anybody's now */
  program->n_hits += granted.is_hit;
  program->n_in_pool += granted.grant.addr - program->pool_addr < program->pool_bytes;
  guint block =
      books_grant (&program->books, granted.grant.addr, granted.grant.block_bytes);
  g_array_append_val (program->live, block);
}

static void
request_free (Program *program, guint i)
{
  guint block = g_array_index (program->live, guint, i);
  BooksBlock *freed = books_block (&program->books, block);

  g_array_remove_index_fast (program->live, i);
  freed->state = BOOKS_PENDING;
  OK (tessera_policy_free_requested (program->policy, freed->addr));
  g_array_append_val (program->pending, block);
}

void
program_free_some (Program *program, GRand *rand)
{
  while (program->live->len > (guint) g_rand_int_range (rand, 2, 12))
    request_free (program,
                  (guint) g_rand_int_range (rand, 0, (gint32) program->live->len));
  while (program->pending->len > (guint) g_rand_int_range (rand, 0, 5))
    complete (program);
}

void
program_free_all (Program *program)
{
  while (program->live->len > 0)
    request_free (program, 0);
  complete_all (program);
}
