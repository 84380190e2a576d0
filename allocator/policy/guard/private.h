/*
 * The record that a guard (allocator/policy/guard/guard.h) keeps. guard.c grants and
 * takes by it, memory.c tells which of the pool's memory nobody needs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy/guard/evidence.h"
#include "allocator/policy/guard/guard.h"
#include "allocator/policy/guard/pieces.h"

struct TesseraGuard
{
  TesseraPieces pieces; /* of the pool */
  uint64_t now;         /* counts requests */
  TesseraPiece *recent; /* freed last, or NULL */
  TesseraEvidence evidence;
  TesseraGuardStats stats;
  uint32_t first_stream; /* of the first request */
  bool has_several;      /* streams at work */
  TesseraGuardLaws laws;
  uint64_t released[(UINT16_MAX + 1) / 64]; /* private pools, one bit each */
};
