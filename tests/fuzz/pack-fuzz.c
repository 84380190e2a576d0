/*
 * Fuzz target: the packer, with whatever items may be held to. 16 bytes an item, 24 items
 * at most; what is packed is judged pair by pair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/fuzz.h"
#include "tests/planner/judge.h"

enum
{
  MOST_ITEMS = 24,
  BYTES_AN_ITEM = 16,
  WORK_BUDGET = 32
};

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
    {
      judge_assert_packed (items, (uint32_t) n_items, offsets, &packing);
      g_assert_cmpuint (packing.height_bytes, <=, INT64_MAX);
    }
  else if (status == TESSERA_REFUSED)
    g_assert_true (packing.conflict[0] <= packing.conflict[1] &&
                   packing.conflict[1] < n_items);
  else
    g_assert_cmpint (status, ==, TESSERA_INVALID);
  return 0;
}
