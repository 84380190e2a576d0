/*
 * Arrays of many megabytes: written once from end to end, where most of the time would go
 * into being given each page of 4 KiB.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>

/* Like malloc() (never NULL for 0 bytes); big arrays get huge pages where the system has
 * them to give. free() takes it back. */
void *tessera_big_alloc (size_t n_bytes);
