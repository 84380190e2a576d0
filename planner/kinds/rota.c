/*
 * Rotas of several kinds of step: how many places they need.
 *
 * A step of a kind *clears* a rota when all blocks that it finds of it end in it. Where
 * every kind that makes requests of the rota clears it, the blocks found are those of one
 * earlier step; else each kind may have left all that it makes. What was never seen to
 * enter a kind that makes such requests is taken to end with its step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/rota.h"

#include <stdlib.h>

typedef struct
{
  const TesseraUnits *units;
  TesseraSpot **spots;
  size_t n_spots;
  bool makes[TESSERA_MAX_KINDS];
  bool are_cleared;
} Rota;

static void
guess_ends (Rota *rota)
{
  rota->are_cleared = true;
  for (size_t i = 0; i < rota->n_spots; i++)
    rota->makes[rota->spots[i]->kind] = true;
  for (size_t i = 0; i < rota->n_spots; i++)
    for (uint32_t k = 0; k < rota->units->n_kinds; k++)
      {
        const TesseraStepKind *kind = &rota->units->kinds[k];
        uint32_t *end = &rota->spots[i]->ends[k];

        if (*end == 0)
          *end =
              rota->makes[k] && kind->end - kind->begin > 1 ? kind->end - 1 : kind->end;
        /* Of its own kind only ends count that are not before the birth. */
        if (k == rota->spots[i]->kind && *end < rota->spots[i]->born)
          *end = rota->spots[i]->born;
        if (k == rota->spots[i]->kind && *end <= kind->begin)
          *end = kind->begin + 1;
        if (rota->makes[k] && *end == kind->end)
          rota->are_cleared = false;
      }
}

/* Blocks that a step of @kind found and that are there at @position: of the one kind that
 * left most, or of all. */
static size_t
count_found (const Rota *rota, uint32_t kind, uint32_t position)
{
  size_t counts[TESSERA_MAX_KINDS] = { 0 }, most = 0, sum = 0;

  for (size_t i = 0; i < rota->n_spots; i++)
    counts[rota->spots[i]->kind] += rota->spots[i]->ends[kind] > position;
  for (uint32_t k = 0; k < rota->units->n_kinds; k++)
    {
      most = counts[k] > most ? counts[k] : most;
      sum += counts[k];
    }
  return rota->are_cleared ? most : sum;
}

static size_t
count_places (const Rota *rota)
{
  size_t most = 0, n_born = 0;

  for (size_t i = 0; i < rota->n_spots; i++)
    {
      const TesseraSpot *spot = rota->spots[i];
      size_t n;

      n_born = i > 0 && rota->spots[i - 1]->kind == spot->kind ? n_born + 1 : 1;
      n = n_born + count_found (rota, spot->kind, spot->born);
      most = n > most ? n : most;
    }
  return most;
}

TesseraStatus
tessera_carries_rota (TesseraCarries *carries, TesseraSpot **spots, size_t n_spots)
{
  Rota rota = { .units = carries->units, .spots = spots, .n_spots = n_spots };
  uint32_t first = carries->n_carries, after = 0, n_of_kind = 0;
  size_t n_places;

  guess_ends (&rota);
  n_places = count_places (&rota);
  for (size_t i = 0; i < n_spots; i++)
    after = spots[i]->after > after ? spots[i]->after : after;
  for (size_t i = 0; i < n_places; i++)
    {
      TesseraCarry *carry = tessera_carries_add (carries, spots[0]);

      if (!carry)
        return TESSERA_NO_MEMORY;
      carry->is_turn = true;
      carry->rota = first;
      carry->after = after;
      for (uint32_t k = 0; k < carries->units->n_kinds; k++)
        carry->ends[k] = carries->units->kinds[k].end;
    }
  for (size_t i = 0; i < n_spots; i++)
    {
      n_of_kind = i > 0 && spots[i - 1]->kind == spots[i]->kind ? n_of_kind + 1 : 0;
      spots[i]->carry = first + n_of_kind;
      carries->carries[first + n_of_kind].spots[spots[i]->kind] =
          (uint32_t) (spots[i] - carries->spots);
    }
  return TESSERA_OK;
}
