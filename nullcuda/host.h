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
