/*
 * One colour for each name of a phase, the same in every view and run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdint.h>

/* 0xRRGGBB */
uint32_t tessera_phase_colour (const char *name, gboolean dark);
