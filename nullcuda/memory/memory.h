/*
 * Device memory: addresses and a budget, no bytes.
 *
 * Addresses come from one range of the process's own address space, reserved with
 * PROT_NONE: the kernel maps nothing else there, so an address tells exactly whether it
 * is the device's, and a program that follows one on the CPU stops at once. All kinds of
 * memory (plain, pools, physical handles of the virtual memory calls) draw on one budget
 * per device.
 *
 * The functions lock by themselves. Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

/* A number of bytes of @device's budget, or give them back. False: over the budget. */
bool null_budget_take (int device, uint64_t n_bytes);
void null_budget_give (int device, uint64_t n_bytes);

/* Memory with an address; NULL_OUT_OF_MEMORY, *out_addr 0 then. Sizes are rounded up to
 * NULL_GRANULE, since that is what the driver takes from the device. */
int null_memory_allocate (int device, uint64_t n_bytes, uint64_t *out_addr);
int null_memory_release (uint64_t addr);

/* Addresses without memory. @wanted_addr 0: anywhere. */
int null_memory_reserve (uint64_t n_bytes,
                         uint64_t alignment,
                         uint64_t wanted_addr,
                         uint64_t *out_addr);
int null_memory_unreserve (uint64_t addr, uint64_t n_bytes);
/* Whether all of it lies in one reservation. */
bool null_memory_is_reserved (uint64_t addr, uint64_t n_bytes);

/* Whether @addr lies in the device's address range, backed or not. */
bool null_memory_is_ours (uint64_t addr);
/* The backed range that holds @addr. False: no memory is there. */
bool null_memory_find (uint64_t addr,
                       uint64_t *out_base,
                       uint64_t *out_n_bytes,
                       int *out_device);
/* Whether every byte may be read and written by a copy. Host memory always may. */
bool null_memory_is_backed (uint64_t addr, uint64_t n_bytes);

/*
 * Host memory that CUDA knows: pinned, registered, managed.
 */

/* The kind of memory at @addr (NULL_MEMORY_...), where CUDA knows it; else unregistered.
 */
int null_host_kind (uint64_t addr);

/* Makes the bytes zero. Whole pages of pinned memory are given back instead of written,
 * so that a run may move more to the host than the machine has memory. */
void null_host_clear (void *addr, size_t n_bytes);

/*
 * The driver's virtual memory calls: physical handles mapped into reserved addresses.
 *
 * A handle takes its bytes from the budget when it is made and gives them back when it is
 * released and mapped nowhere. Mappings cover handles whole, as CUDA demands.
 */

/* Whether any byte of the range has memory behind it. */
bool null_vmm_is_mapped (uint64_t addr, uint64_t n_bytes);
/* The mapping that holds @addr. */
bool
null_vmm_find (uint64_t addr, uint64_t *out_base, uint64_t *out_n_bytes, int *out_device);
