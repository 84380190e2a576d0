/*
 * Where blocks could lie in a plan instead: places for them to be pinned at.
 *
 * The blocks that are moved keep their distances; their places are told by the offset of
 * the lowest. What shares their slots in other steps moves along. A place is free when
 * nothing that does not move lies there while any of them lives; at any other it pushes
 * what lies there. Stops are the places worth resting at: right on top of a block or
 * right below one, and the bottom of the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/followed.h"

typedef struct
{
  uint32_t block;
  int64_t low, high; /* it is in the way of the offsets between, without these two */
} TesseraObstacle;

typedef struct
{
  uint64_t offset_bytes;
  gboolean is_free;
} TesseraStop;

/* Shared like TesseraData, never changed. */
typedef struct
{
  uint32_t *blocks;         /* that were chosen and lie in the pool, ascending */
  uint64_t *distance_bytes; /* of each from the lowest */
  size_t n_blocks;
  uint64_t pool_addr;
  uint64_t base_bytes;        /* offset of the lowest now */
  uint64_t height_bytes;      /* from the lowest's bottom to the highest's top */
  uint64_t size_bytes;        /* block bytes of all */
  TesseraObstacle *obstacles; /* by low */
  size_t n_obstacles;
  TesseraStop *stops; /* ascending, each once */
  size_t n_stops;
} TesseraLandings;

/* @chosen: ascending. Looks at every block: for workers. TESSERA_REFUSED: none of them
 * lies in the pool. */
TesseraStatus tessera_landings_new (TesseraFollowed *planned,
                                    const uint32_t *chosen,
                                    size_t n_chosen,
                                    const TesseraProgress *progress,
                                    TesseraError *error,
                                    TesseraLandings **out_landings);
TesseraLandings *tessera_landings_ref (TesseraLandings *landings);
void tessera_landings_unref (TesseraLandings *landings); /* NULL is fine */

/* The stop that is nearest to @offset_bytes, a free one where one is within
 * @reach_bytes. */
uint64_t tessera_landings_snap (const TesseraLandings *landings,
                                int64_t offset_bytes,
                                uint64_t reach_bytes);
/* The next stop above (@direction > 0) or below, a free one unless @pushing or unless
 * there is none. Where there is nothing: @offset_bytes. */
uint64_t tessera_landings_next (const TesseraLandings *landings,
                                uint64_t offset_bytes,
                                int direction,
                                gboolean pushing);
/* The blocks that are in the way: (transfer full) (array), each once, ascending. */
GArray *tessera_landings_pushed (const TesseraLandings *landings, uint64_t offset_bytes);
