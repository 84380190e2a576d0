/*
 * The recording held against itself, from its end backwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/replay.h"

/*
 * tessera_verify_back:
 *
 * A wrong entry also makes the state at the start wrong, which was found by walking
 * backwards over it; the replay then fails earlier, at an entry that is right. Where the
 * replay found a difference, finds the last entry that does not fit what follows it and
 * the state at the end, and if it comes later, names that one instead.
 *
 * One thing makes a difference of its own: a single segment at an odd address. (Of a
 * segment that was free from before the trace until a flush in it, nothing else tells.)
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY.
 */
TESSERA_MUST_USE TesseraStatus tessera_verify_back (TesseraReplay *replay);
