/*
 * What is tried of a problem, by its size and what its items are held to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/candidates.h"

typedef struct
{
  const TesseraPackProblem *problem;
  size_t fit_at_most; /* items; of larger problems, fits in order of time only */
  bool has_sweeps;
  bool is_brief; /* see TesseraPackOptions */
  bool is_rough; /* the same: rough_part is not 0 */
  bool is_glance; /* the same, of a preview */
} TesseraScope;

/* Tells whether sweeps can be had of a problem where so many items come before them. */
bool tessera_scope_can_sweep (const TesseraPackProblem *problem, size_t n_before);

/* Tells whether anything but sweeps is tried. */
bool tessera_scope_has_orders (const TesseraScope *scope);

/* Of few items everything else, chains too, comes before drawn rules. */
bool tessera_scope_is_small (const TesseraScope *scope);
bool tessera_scope_has_chains (const TesseraScope *scope);

/* How many of the chains are tried (fit/chain.h). */
uint32_t tessera_scope_n_chains (const TesseraScope *scope);

/* How many rules are among the candidates, and how many candidates come before them. */
uint32_t tessera_scope_n_first_rules (const TesseraScope *scope);
uint32_t tessera_scope_n_before_rules (const TesseraScope *scope);
/* How many of the first rules wait for those by which each size has its own places. */
uint32_t tessera_scope_n_late_rules (const TesseraScope *scope);

/* Tells whether a layout of before can be repaired and followed by orders, so that others
 * are hardly needed. */
bool tessera_scope_is_hinted (const TesseraScope *scope);

bool tessera_scope_tries (const TesseraScope *scope, const TesseraCandidate *candidate);

/* What improving costs where several owners share, as a multiple. */
uint64_t tessera_scope_cost_of_owners (const TesseraScope *scope);

/* What one sweep may spend on looking ahead (sweep.h). */
uint64_t tessera_scope_looks_of_sweep (const TesseraScope *scope);

/* What packing anew around the peak may spend (repack.h), a fraction of the rest. */
uint64_t tessera_scope_looks_of_repack (const TesseraScope *scope, uint64_t work_budget);
