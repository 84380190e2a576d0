/*
 * What a person should read: sentences that wait until somebody asks for them, and the
 * exception by which PyTorch is told of an allocation that failed.
 *
 * A guest does not print. Each sentence is kept once, however often it is said; the
 * newest are dropped where nobody ever asks. Any thread, no other lock is taken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

/* For whoever calls tessera_take_notice(). */
void tessera_notice (const char *format, ...) TESSERA_PRINTF (1, 2);
/* In a forked child: whoever held the lock is not there. */
void tessera_notice_after_fork (void);

/* The calling thread's sentence for tessera_last_error(). Returns: -1. */
int tessera_set_last_error (const char *format, ...) TESSERA_PRINTF (1, 2);

/* Looks for what it takes, once, before the first throw: a forked child may not ask the
 * loader, whose locks a thread of its parent may have held. */
void tessera_throw_prepare (void);

/* PyTorch's OutOfMemoryError with @text; where the process has none that we know how to
 * build, std::runtime_error, which is its base in Python too. The caller holds no lock
 * and nothing to be freed. Returns only where the process has no libstdc++. */
void tessera_throw (const char *text);
