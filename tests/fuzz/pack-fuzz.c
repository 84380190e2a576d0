/*
 * Fuzz target: the packer, with whatever items may be held to. 16 bytes an item, 24 items
 * at most; what is packed is judged pair by pair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack.h"
#include "tests/fuzz/fuzz.h"

enum
{
  MOST_ITEMS = 24,
  BYTES_AN_ITEM = 16,
  WORK_BUDGET = 32
};

static void
expect (bool holds)
{
  if (!holds)
    abort ();
}

/* Sizes are small or of many TiB; times may make no sense. */
static TesseraItem
read_item (const uint8_t *b)
{
  return (TesseraItem){
    .size_bytes = b[0] & 0x80 ? (uint64_t) b[0] << 52 : b[0] & 0x3f,
    .begin = b[1],
    .end = (uint32_t) b[1] + (b[2] & 0x1f),
    .begin2 = b[3] & 0x80 ? b[3] & 0x7f : 0,
    .end2 = b[3] & 0x80 ? (uint32_t) (b[3] & 0x7f) + b[4] : 0,
    .zone = b[2] >> 6,
    .prefer_low = b[2] >> 5 & 1,
    .is_pinned = b[6] & 1,
    .pinned_bytes = b[6] & 2 ? (uint64_t) b[7] << 52 : b[7],
    .in = UINT64_C (1) << (b[8] & 63) & -(uint64_t) (b[8] >> 7),
    .apart = UINT64_C (1) << (b[9] & 63) & -(uint64_t) (b[9] >> 7),
    .body = b[10] & 3,
    .body_offset_bytes = b[10] & 4 ? (uint64_t) b[11] << 52 : b[11],
  };
}

static bool
ranges_meet (uint32_t a_begin, uint32_t a_end, uint32_t b_begin, uint32_t b_end)
{
  return a_begin < a_end && b_begin < b_end && a_begin < b_end && b_begin < a_end;
}

static bool
lives_meet (const TesseraItem *a, const TesseraItem *b)
{
  const uint32_t of_a[] = { a->begin, a->end, a->begin2, a->end2 };
  const uint32_t of_b[] = { b->begin, b->end, b->begin2, b->end2 };
  for (int i = 0; i < 4; i += 2)
    for (int k = 0; k < 4; k += 2)
      if (ranges_meet (of_a[i], of_a[i + 1], of_b[k], of_b[k + 1]))
        return true;
  return false;
}

static void
expect_pair (const TesseraItem *a, uint64_t at_a, const TesseraItem *b, uint64_t at_b)
{
  bool apart = a->zone != b->zone || (a->apart & b->in) != 0 || (b->apart & a->in) != 0 ||
               lives_meet (a, b);
  expect (!apart || at_a >= at_b + b->size_bytes || at_b >= at_a + a->size_bytes);
  expect (a->body == 0 || a->body != b->body ||
          at_a + b->body_offset_bytes == at_b + a->body_offset_bytes);
}

static void
judge (const TesseraItem *items,
       size_t n_items,
       const uint64_t *offsets,
       const TesseraPacking *packing)
{
  uint64_t top = 0;
  for (size_t i = 0; i < n_items; i++)
    {
      uint64_t end = offsets[i] + items[i].size_bytes;
      top = end > top ? end : top;
      expect (!items[i].is_pinned || offsets[i] == items[i].pinned_bytes);
      for (size_t k = 0; k < i; k++)
        expect_pair (&items[i], offsets[i], &items[k], offsets[k]);
    }
  expect (top == packing->height_bytes && top <= INT64_MAX);
  expect (packing->bound_bytes <= packing->proven_bound_bytes &&
          packing->proven_bound_bytes <= top);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraItem items[MOST_ITEMS] = { 0 };
  uint64_t offsets[MOST_ITEMS] = { 0 };
  TesseraPacking packing;
  const TesseraPackOptions options = { .work_budget = WORK_BUDGET };
  size_t n_items = n_bytes / BYTES_AN_ITEM;
  n_items = n_items < MOST_ITEMS ? n_items : MOST_ITEMS;
  for (size_t i = 0; i < n_items; i++)
    items[i] = read_item (bytes + i * BYTES_AN_ITEM);
  TesseraStatus status = tessera_pack (items, n_items, &options, offsets, &packing);
  if (status == TESSERA_OK)
    judge (items, n_items, offsets, &packing);
  else if (status == TESSERA_REFUSED)
    expect (packing.conflict[0] <= packing.conflict[1] && packing.conflict[1] < n_items);
  else
    expect (status == TESSERA_INVALID);
  return 0;
}
