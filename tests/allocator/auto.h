/*
 * Policies and maps that go with the block in which they are declared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "allocator/follow/occupancy.h"
#include "allocator/policy.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraPolicy, tessera_policy_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraOccupancy, tessera_occupancy_free)
