/*
 * What the files of the verification share, and the way in for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/replay.h"
#include "simulator/verify.h"

/* With rules altered on purpose: must disagree somewhere. */
TESSERA_MUST_USE TesseraStatus
tessera_verify_with_rules (const TesseraTrace *trace,
                           const TesseraRules *rules,
                           const TesseraProgress *progress,
                           TesseraVerification *out_verification);

/* Returns: the block that begins at @addr, or n_blocks. */
size_t tessera_held_find (const TesseraHeld *held, uint64_t addr);

/* Compares what the policy holds now with the state at the end of the trace. */
TESSERA_MUST_USE TesseraStatus tessera_verify_final (const TesseraCaching *caching,
                                                     TesseraReplay *replay,
                                                     TesseraVerification *verification);
