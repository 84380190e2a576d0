/*
 * Choosing blocks, one or many.
 *
 * The document's `selection` is the set, `selected` one block of it that leads: the one
 * that is outlined and told of in full. Whoever changes one changes both here. A new
 * choice gives up a search that is still running.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edit.h"
#include "viewer/document/document.h"

/* At once. @lead: leads where it is in the selection; else who led, or the first. */
void tessera_document_select_blocks (TesseraDocument *self,
                                     const uint32_t *blocks,
                                     size_t n_blocks,
                                     TesseraSelectHow how,
                                     uint32_t lead);
/* @selection: (transfer full) (nullable) */
void tessera_document_set_selection (TesseraDocument *self,
                                     TesseraSelection *selection,
                                     uint32_t lead);
/* One block in or out; it leads when it came in. */
void tessera_document_select_toggle (TesseraDocument *self, uint32_t block);
/* The block born before or after the one that leads, added to the selection. */
void tessera_document_select_next_too (TesseraDocument *self, int direction);
gboolean tessera_document_is_selected (TesseraDocument *self, uint32_t block);
size_t tessera_document_n_selected (TesseraDocument *self);

/* Searches, on a worker: the selection changes a moment later, and the largest block
 * leads unless who led is in it.
 * All that meet @rect of a side, in time and address. */
void tessera_document_select_in (TesseraDocument *self,
                                 TesseraSide side,
                                 const TesseraView *rect,
                                 TesseraSelectHow how);
void tessera_document_select_alive (TesseraDocument *self,
                                    uint32_t event_index,
                                    TesseraSelectHow how);
void tessera_document_select_all (TesseraDocument *self);
/* What a selector says. @selector passes and is left cleared. */
void tessera_document_select_matches (TesseraDocument *self,
                                      TesseraSelector *selector,
                                      TesseraSelectHow how);
/* What an edit of the history is about: of those kept apart, both. Nothing changes for a
 * cap, which is about the pool. */
void tessera_document_select_edit (TesseraDocument *self, size_t index);
/* All of a block's group. */
void tessera_document_select_group_of (TesseraDocument *self, uint32_t block);
