/*
 * Fuzz target: a program that follows a plan, more or less, over a device that keeps
 * books (tests/allocator/books.h). Whatever the plan is, whatever the program asks for, in which
 * order it frees, what the device or the host refuse meanwhile: no block is handed out
 * that is not free and ordered for its stream, and no memory is taken from under one.
 *
 * The bytes are the plan, then what the program does, one byte and what it needs each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "allocator/policy.h"
#include "tests/fail_alloc.h"
#include "tests/fuzz/follow/plan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/allocator/books.h"
#include "tests/allocator/check.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)
#define SIDE_STREAM 8 /* that and the next compute, and never ask for memory */

typedef struct
{
  Bytes bytes;
  Books books; /* of the device that the policy uses */
  TesseraPlan *plan;
  bool by_length;
  TesseraPolicy *policy;
  GArray *held;            /* guint: blocks, live or pending */
  uint32_t section, place; /* in the plan: what comes next */
  guint position;          /* requests of the step */
  TesseraParameters parameters;
  uint32_t phase; /* told last */
  bool tells_phases;
  bool is_routed;
  bool host_fails; /* at some allocation of the call to come */
} Program;

static void
complete (Program *program, guint index)
{
  guint block = g_array_index (program->held, guint, index);
  uint64_t addr = books_block (&program->books, block)->addr;

  g_array_remove_index_fast (program->held, index);
  books_done (&program->books, block);
  OK (tessera_policy_free_completed (program->policy, addr));
}

static BooksBlock *
held_block (Program *program, guint index)
{
  return books_block (&program->books, g_array_index (program->held, guint, index));
}

static void
complete_pending (Program *program, guint most)
{
  for (guint i = program->held->len; i-- > 0 && most > 0;)
    if (i < program->held->len && held_block (program, i)->state == BOOKS_PENDING)
      {
        complete (program, i);
        most--;
      }
}

/* The device waits, as the runtime does: not while a graph is captured. */
static void
synchronize (void *user)
{
  Program *program = user;

  if (!program->is_routed)
    complete_pending (program, G_MAXUINT);
}

static void
release (Program *program, guint index)
{
  BooksBlock *block = held_block (program, index);
  uint64_t addr = block->addr;

  block->state = BOOKS_PENDING;
  OK (tessera_policy_free_requested (program->policy, addr));
  GIVES (TESSERA_INVALID, tessera_policy_free_requested (program->policy, addr));
  if (bytes_take (&program->bytes) < 192)
    complete (program, index);
}

/* @lifetime: in requests of the program. */
static void
ask (
    Program *program, uint64_t size_bytes, uint32_t stream, uint32_t pool, guint lifetime)
{
  guint n_failed = program->books.n_failed, block;
  TesseraPolicyGrant grant;
  bool has_failed = false;

  books_request (&program->books, size_bytes, stream, pool);
  TesseraStatus status =
      tessera_policy_malloc (program->policy, size_bytes, stream, pool, &grant);
  if (program->host_fails)
    has_failed = tessera_fail_alloc_stop ();
  program->host_fails = false;
  program->position++;
  if (status != TESSERA_OK)
    {
      g_assert_cmpuint (grant.grant.addr, ==, 0);
      g_assert_true (status == TESSERA_OUT_OF_DEVICE ||
                     (status == TESSERA_NO_MEMORY && has_failed) ||
                     (status == TESSERA_IO && program->books.n_failed > n_failed));
      return;
    }
  block = books_grant (&program->books, grant.grant.addr, grant.grant.block_bytes);
  books_block (&program->books, block)->position = program->position + lifetime;
  g_array_append_val (program->held, block);
}

/* Those of the plan: the program enters the one that the next request is of. */
static void
tell_phase (Program *program, uint32_t phase)
{
  static const char *const names[] = { "forward", "backward", "optimizer" };

  if (!program->tells_phases || phase == program->phase)
    return;
  program->phase = phase;
  tessera_policy_phase (program->policy, phase != TESSERA_NONE ? names[phase] : NULL);
}

static void
ask_slot (Program *program, uint32_t index)
{
  const TesseraSlot *slot = &program->plan->slots[index];

  tell_phase (program, slot->phase);
  ask (program, slot->size_bytes, slot->stream, slot->pool,
       (slot->died - slot->born + 1) / 2);
}

static void
ask_by_length (Program *program, uint32_t index)
{
  const TesseraLengths *lengths = program->plan->lengths;
  const TesseraLengthsSlot *slot = &lengths->slots[index];
  uint64_t size_bytes;

  tell_phase (program, slot->phase);
  if (tessera_size_law_evaluate (&lengths->laws[slot->law], &program->parameters,
                                 &size_bytes) &&
      size_bytes > 0 && size_bytes < 64 * MIB)
    ask (program, size_bytes, slot->stream, slot->pool,
         slot->crosses ? lengths->n_slots : slot->died - index);
}

/* The first request of a section, or of a step by length. */
static void
begin (Program *program, uint32_t section)
{
  const TesseraPlan *plan = program->plan;
  const TesseraLengths *lengths = plan->lengths;

  program->section = section;
  program->place = 0;
  if (program->by_length)
    program->parameters = (TesseraParameters){
      .batch = 1 + bytes_below (&program->bytes, (uint32_t) lengths->most.batch),
      .length = 1 + bytes_below (&program->bytes, (uint32_t) lengths->most.length + 9),
    };
  if (program->by_length || plan->sections[section].kind == TESSERA_SECTION_REPEATS)
    tessera_policy_step (program->policy);
}

/* A section that repeats does so, mostly; the last one as well. */
static uint32_t
next_section (Program *program)
{
  const TesseraPlan *plan = program->plan;
  uint32_t section = program->section;

  if (plan->sections[section].kind == TESSERA_SECTION_REPEATS &&
      bytes_take (&program->bytes) < 160)
    return section;
  return section + 1 < plan->n_sections ? section + 1 : section;
}

static void
ask_next (Program *program)
{
  const TesseraLengths *lengths = program->plan->lengths;
  const TesseraSection *section = &program->plan->sections[program->section];

  for (guint i = program->held->len; i-- > 0;)
    if (i < program->held->len && held_block (program, i)->state == BOOKS_LIVE &&
        held_block (program, i)->position <= program->position)
      release (program, i);
  if (program->by_length && program->place < lengths->n_slots)
    ask_by_length (program, program->place++);
  else if (!program->by_length && program->place < section->n_slots)
    ask_slot (program, section->first_slot + program->place++);
  else
    begin (program, next_section (program));
}

static void
ask_any (Program *program)
{
  Bytes *bytes = &program->bytes;

  if (program->by_length && program->plan->lengths->n_slots > 0)
    ask_by_length (program, bytes_below (bytes, program->plan->lengths->n_slots));
  else if (!program->by_length && program->plan->n_slots > 0)
    ask_slot (program, bytes_below (bytes, (uint32_t) program->plan->n_slots));
}

static void
ask_stranger (Program *program)
{
  uint64_t size_bytes = fuzz_size (&program->bytes);
  uint32_t what = bytes_take (&program->bytes);

  ask (program, size_bytes, what % 8 < 3 ? what % 8 : 0, what >= 240, what / 8);
}

static void
enter_phase (Program *program)
{
  static const char *const names[] = { "forward", "backward", "optimizer", "evaluate",
                                       NULL };

  tessera_policy_phase (program->policy,
                        names[bytes_below (&program->bytes, G_N_ELEMENTS (names))]);
}

/* What the allocator is told beside requests. */
static void
tell (Program *program)
{
  uint32_t what = bytes_take (&program->bytes);

  switch (what % 8)
    {
    case 0:
      books_stream (&program->books);
      (void) !tessera_policy_set_stream_handle (program->policy, SIDE_STREAM + what / 128,
                                                1000 + what / 128);
      break;
    case 1:
    case 2:
      program->is_routed = !program->is_routed;
      tessera_policy_set_routed (program->policy, program->is_routed);
      break;
    case 3:
      (void) !tessera_policy_release_pool (program->policy, 1);
      break;
    case 4:
      tessera_policy_set_limit (program->policy, what < 128 ? 0 : what * MIB / 4);
      break;
    default:
      if (!program->is_routed) /* as the runtime */
        tessera_policy_empty_cache (program->policy);
    }
}

static void
break_something (Program *program)
{
  uint32_t what = bytes_take (&program->bytes);

  if (what < 16)
    program->books.n_lost_to_come = 1;
  else if (what < 128)
    {
      program->books.fails_with = what < 64 ? TESSERA_OUT_OF_DEVICE : TESSERA_IO;
      program->books.fails_after = what % 4;
      program->books.n_to_fail = 1;
    }
  else
    {
      program->host_fails = true;
      tessera_fail_alloc_at (1 + what % 8);
    }
}

/* What it says it holds is what the device gave, but for the end of the pool's last page
 * and what a driver kept that would not wait. */
static void
check (Program *program)
{
  TesseraPolicyStats stats;
  uint64_t used_bytes = program->books.used_bytes;

  WORKS (error, tessera_policy_check (program->policy, &error));
  tessera_policy_get_stats (program->policy, &stats);
  g_assert_cmpuint (stats.caching.reserved_bytes, <=, used_bytes);
  g_assert_true (program->books.has_lost ||
                 used_bytes - stats.caching.reserved_bytes < BOOKS_PAGE_BYTES);
}

static void
do_one_thing (Program *program)
{
  uint32_t what = bytes_take (&program->bytes);

  if (what < 160)
    ask_next (program);
  else if (what < 180)
    ask_any (program);
  else if (what < 192)
    ask_stranger (program);
  else if (what < 212 && program->held->len > 0)
    {
      guint index = bytes_below (&program->bytes, program->held->len);

      if (held_block (program, index)->state == BOOKS_LIVE)
        release (program, index);
    }
  else if (what < 224)
    complete_pending (program, 1 + what % 4);
  else if (what < 230)
    tessera_policy_step (program->policy);
  else if (what < 238)
    enter_phase (program);
  else if (what < 246)
    tell (program);
  else if (what < 252)
    break_something (program);
  else
    check (program);
}

static bool
open_policy (Program *program)
{
  uint32_t what = bytes_take (&program->bytes);
  const TesseraPolicyOptions options = {
    .kind = TESSERA_POLICY_PLAN,
    .caching = { .settings = { .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB } },
    .plan = program->plan,
    .by_length = program->by_length,
    .never_declines = what % 4 != 0,
  };
  TesseraError error = { 0 };

  books_init (&program->books, (20 + what / 4 * 4) * MIB);
  program->books.synchronize = synchronize;
  program->books.user = program;
  TesseraStatus status = tessera_policy_new (&options, &program->books.device, NULL,
                                             &error, &program->policy);
  fuzz_check (status, &error);
  return status == TESSERA_OK;
}

static void
end (Program *program)
{
  TesseraPolicyStats stats;

  tessera_fail_alloc_stop ();
  tessera_policy_set_routed (program->policy, program->is_routed = false);
  for (guint i = program->held->len; i-- > 0;)
    if (held_block (program, i)->state == BOOKS_LIVE)
      release (program, i);
  complete_pending (program, G_MAXUINT);
  check (program);
  tessera_policy_empty_cache (program->policy);
  tessera_policy_get_stats (program->policy, &stats);
  g_assert_cmpuint (stats.caching.active_bytes, ==, 0);
  g_assert_cmpuint (stats.caching.requested_bytes, ==, 0);
  tessera_policy_free (program->policy);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t n_bytes)
{
  Program program = { .bytes = { data, n_bytes } };

  program.by_length = bytes_take (&program.bytes) % 3 == 0;
  program.plan = fuzz_plan_new (&program.bytes);
  if (program.by_length)
    program.plan->lengths = fuzz_lengths_new (&program.bytes);
  program.held = g_array_new (FALSE, FALSE, sizeof (guint));
  if (open_policy (&program))
    {
      program.phase = TESSERA_NONE;
      program.tells_phases = bytes_take (&program.bytes) < 128;
      begin (&program, 0);
      while (program.bytes.n_left > 0)
        do_one_thing (&program);
      end (&program);
    }
  books_clear (&program.books);
  g_array_unref (program.held);
  tessera_plan_free (program.plan);
  return 0;
}
