/*
 * A C++ exception through C: how an allocation that failed is told to PyTorch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

/* std::runtime_error with @text, by what libstdc++ exports. The caller holds no lock and
 * nothing to be freed. Returns only where the process has no libstdc++. */
void tessera_throw (const char *text);
