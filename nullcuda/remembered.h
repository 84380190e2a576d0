/*
 * What small copies put on the device, given back to the host once.
 *
 * Kernels compute nothing here, so that device memory has no content but what a program
 * sent there itself. Programs do send numbers round (DistributedDataParallel its bucket
 * indices) and die on zeros. Nobody knows which kernel overwrites it later, or
 * whether the program's own allocator gave the address to another tensor: so each byte is
 * given back once, a copy as a whole for 1024 kernels, parts of it until the next one
 * (what PyTorch sends for a kernel's own use is freed when that one is launched, and a
 * count may come to lie there); copies, memsets and frees forget what they cover.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

#define NULL_REMEMBERED_COPY_BYTES 65536 /* longer copies are not remembered */
#define NULL_REMEMBERED_KERNELS 1024     /* how long a copy is given back whole */
#define NULL_REMEMBERED_BYTES                                                            \
  (UINT64_C (64) << 20) /* of all copies: then all are forgotten */

void null_remembered_put (uint64_t addr, const void *bytes, size_t n_bytes);
/* Fills the parts of @out that are known, and forgets them. */
void null_remembered_take (uint64_t addr, void *out, size_t n_bytes);
/* A kernel was launched: what is known is older by one. */
void null_remembered_age (void);
void null_remembered_forget (uint64_t addr, uint64_t n_bytes);

/* The answer queue of nullcuda_answer(): true where one of @n_bytes was waiting. */
bool null_answer_take (void *out, size_t n_bytes);
