/*
 * A place that is proposed for what is selected, until it is pinned there or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

/* Looks for the places where what is selected could lie in the plan; then it is on the
 * move, at the place that it has. */
void tessera_document_propose (TesseraDocument *self);
/* Is it on the move, or are its places being looked for? */
gboolean tessera_document_is_proposing (TesseraDocument *self);
/* To the nearest stop; see tessera_landings_snap(). */
void tessera_document_propose_at (TesseraDocument *self,
                                  int64_t offset_bytes,
                                  uint64_t reach_bytes);
/* To the next stop up (@direction > 0) or down. Begins where nothing is proposed yet. */
void
tessera_document_propose_next (TesseraDocument *self, int direction, gboolean pushing);
/* Pins what is selected with its lowest at @offset_bytes, be it a stop or not: several
 * keep their distances. @by_rule: see tessera_document_edit_selection(). */
void
tessera_document_pin_at (TesseraDocument *self, uint64_t offset_bytes, gboolean by_rule);
/* Makes the edit. At the place it has it is pinned as well. */
void tessera_document_accept_proposal (TesseraDocument *self);
void tessera_document_drop_proposal (TesseraDocument *self);
/* "2.50 GiB, pushes 3 blocks": (transfer full); NULL: nothing is on the move. */
char *tessera_document_describe_proposal (TesseraDocument *self);
