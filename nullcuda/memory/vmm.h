/*
 * The driver's virtual memory calls: physical handles mapped into reserved addresses.
 *
 * A handle takes its bytes from the budget when it is made and gives them back when it is
 * released and mapped nowhere. Mappings cover handles whole, as CUDA demands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

/* Whether any byte of the range has memory behind it. */
bool null_vmm_is_mapped (uint64_t addr, uint64_t n_bytes);
/* The mapping that holds @addr. */
bool
null_vmm_find (uint64_t addr, uint64_t *out_base, uint64_t *out_n_bytes, int *out_device);
