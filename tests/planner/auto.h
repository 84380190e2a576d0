/*
 * What planning makes, gone with the block in which it is declared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"
#include "tests/db/auto.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraBlocks, tessera_blocks_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraStructure, tessera_structure_free)
