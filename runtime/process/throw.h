/*
 * A C++ exception through C: how an allocation that failed is told to PyTorch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/* Looks for what it takes, once, before the first throw: a forked child may not ask the
 * loader, whose locks a thread of its parent may have held. */
void tessera_throw_prepare (void);

/* PyTorch's OutOfMemoryError with @text; where the process has none that we know how to
 * build, std::runtime_error, which is its base in Python too. The caller holds no lock
 * and nothing to be freed. Returns only where the process has no libstdc++. */
void tessera_throw (const char *text);
