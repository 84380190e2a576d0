/*
 * Host memory that CUDA knows: pinned, registered, managed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

/* The kind of memory at @addr (NULL_MEMORY_...), where CUDA knows it; else unregistered.
 */
int null_host_kind (uint64_t addr);

/* Makes the bytes zero. Whole pages of pinned memory are given back instead of written,
 * so that a run may move more to the host than the machine has memory. */
void null_host_clear (void *addr, size_t n_bytes);
