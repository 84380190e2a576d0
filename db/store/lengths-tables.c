/*
 * The tables of a plan for every length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/tables.h"

#include "db/store/columns.h"

static const TesseraColumn length_plan_columns[] = {
  NAMED ("most_batch", TesseraLengths, most.batch, BYTES, .minimum = 1),
  NAMED ("most_length", TesseraLengths, most.length, BYTES, .minimum = 1),
  COLUMN (TesseraLengths, has_batch, BOOL),
  COLUMN (TesseraLengths, n_steps, U32),
  COLUMN (TesseraLengths, n_early, U32),
  COLUMN (TesseraLengths, fixed_bytes, BYTES),
  COLUMN (TesseraLengths, start_bytes, BYTES),
  COLUMN (TesseraLengths, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraLengths, cut_phase, TEXT_OR_NULL),
  NAMED ("most_second", TesseraLengths, most.second, BYTES),
};
TABLE (
    length_plan, "length_plan", "length_plan_index", TesseraLengths, length_plan_columns);

static const TesseraColumn length_step_columns[] = {
  COLUMN (TesseraParameters, batch, BYTES),
  COLUMN (TesseraParameters, length, BYTES),
  COLUMN (TesseraParameters, second, BYTES),
};
TABLE (length_step,
       "length_step",
       "length_step_index",
       TesseraParameters,
       length_step_columns);

static const TesseraColumn length_phase_columns[] = { NAMED (
    "name", TesseraTextItem, text, TEXT) };
TABLE (length_phase,
       "length_phase",
       "length_phase_index",
       TesseraTextItem,
       length_phase_columns);

static const TesseraColumn length_law_columns[] = {
  NAMED ("by_one", TesseraSizeLaw, numerators[TESSERA_TERM_ONE], NUMBER),
  NAMED ("by_batch", TesseraSizeLaw, numerators[TESSERA_TERM_BATCH], NUMBER),
  NAMED ("by_length", TesseraSizeLaw, numerators[TESSERA_TERM_LENGTH], NUMBER),
  NAMED ("by_tokens", TesseraSizeLaw, numerators[TESSERA_TERM_TOKENS], NUMBER),
  NAMED ("by_square", TesseraSizeLaw, numerators[TESSERA_TERM_SQUARE], NUMBER),
  COLUMN (TesseraSizeLaw, denominator, NUMBER),
  COLUMN (TesseraSizeLaw, cap_bytes, BYTES),
  COLUMN (TesseraSizeLaw, rounding, U32),
  COLUMN (TesseraSizeLaw, kind, U8),
  NAMED ("by_second", TesseraSizeLaw, numerators[TESSERA_TERM_SECOND], NUMBER),
  NAMED (
      "by_second_tokens", TesseraSizeLaw, numerators[TESSERA_TERM_SECOND_TOKENS], NUMBER),
  NAMED (
      "by_second_square", TesseraSizeLaw, numerators[TESSERA_TERM_SECOND_SQUARE], NUMBER),
  NAMED ("by_cross", TesseraSizeLaw, numerators[TESSERA_TERM_CROSS], NUMBER),
  NAMED ("by_bare_square", TesseraSizeLaw, numerators[TESSERA_TERM_BARE_SQUARE], NUMBER),
  NAMED ("by_bare_second_square",
         TesseraSizeLaw,
         numerators[TESSERA_TERM_BARE_SECOND_SQUARE],
         NUMBER),
  NAMED ("by_bare_cross", TesseraSizeLaw, numerators[TESSERA_TERM_BARE_CROSS], NUMBER),
  COLUMN (TesseraSizeLaw, rounds, U8),
  COLUMN (TesseraSizeLaw, when_second, U8),
  COLUMN (TesseraSizeLaw, when_other, U8),
  COLUMN (TesseraSizeLaw, when_multiple, U32),
  COLUMN (TesseraSizeLaw, from_tokens, BYTES),
  COLUMN (TesseraSizeLaw, to_tokens, BYTES),
};
TABLE (length_law, "length_law", "length_law_index", TesseraSizeLaw, length_law_columns);

static const TesseraColumn length_slot_columns[] = {
  COLUMN (TesseraLengthsSlot, law, U32, BELOW (LAWS)),
  COLUMN (TesseraLengthsSlot, died, U32),
  COLUMN (TesseraLengthsSlot, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraLengthsSlot, stream, U16),
  COLUMN (TesseraLengthsSlot, pool, U16),
  COLUMN (TesseraLengthsSlot, place, U8, BELOW (PLACES)),
  COLUMN (TesseraLengthsSlot, is_once, FLAG),
  COLUMN (TesseraLengthsSlot, crosses, FLAG),
  COLUMN (TesseraLengthsSlot, offset_bytes, BYTES),
  COLUMN (TesseraLengthsSlot, spare_bytes, BYTES),
  COLUMN (TesseraLengthsSlot, seen, U8),
  COLUMN (TesseraLengthsSlot, is_over_cuts, FLAG),
  COLUMN (TesseraLengthsSlot, from_tokens, BYTES),
  COLUMN (TesseraLengthsSlot, to_tokens, BYTES),
};
TABLE (length_slot,
       "length_slot",
       "length_slot_index",
       TesseraLengthsSlot,
       length_slot_columns);

static const TesseraColumn start_slot_columns[] = {
  COLUMN (TesseraStartSlot, size_bytes, BYTES),
  COLUMN (TesseraStartSlot, block_bytes, BYTES),
  COLUMN (TesseraStartSlot, offset_bytes, BYTES),
  COLUMN (TesseraStartSlot, died, U32),
  COLUMN (TesseraStartSlot, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraStartSlot, stream, U16),
  COLUMN (TesseraStartSlot, pool, U16),
  COLUMN (TesseraStartSlot, is_held, FLAG),
  COLUMN (TesseraStartSlot, is_left, FLAG),
};
TABLE (
    start_slot, "start_slot", "start_slot_index", TesseraStartSlot, start_slot_columns);

static const TesseraColumn order_columns[] = {
  COLUMN (TesseraOrder, from_tokens, BYTES),
  COLUMN (TesseraOrder, is_first, FLAG),
  COLUMN (TesseraOrder, n_low, U32),
};
TABLE (order, "length_order", "length_order_index", TesseraOrder, order_columns);

static const TesseraColumn order_slot_columns[] = { WHOLE ("slot", U32, BELOW (SLOTS)) };
TABLE (order_slot,
       "length_order_slot",
       "length_order_slot_index",
       uint32_t,
       order_slot_columns);

static const TesseraColumn order_edge_columns[] = {
  COLUMN (TesseraOrderEdge, above, U32),
  COLUMN (TesseraOrderEdge, below, U32),
};
TABLE (order_edge,
       "length_order_edge",
       "length_order_edge_index",
       TesseraOrderEdge,
       order_edge_columns);
