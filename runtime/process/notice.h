/*
 * What a person should read: sentences that wait until somebody asks for them.
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
