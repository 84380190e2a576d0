/*
 * The largest range that slots leave free as long as a room is in use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* Sets the range of each room, all else of which is set. Where slots of another stream or
 * pool ever lie is none of its; @splits_sizes: nor where those of the other size class
 * do. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_find_holes (TesseraPlan *plan, bool splits_sizes);
