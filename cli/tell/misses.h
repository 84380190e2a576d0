/*
 * What of a plan's misses was planned, as subcommands tell it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* To be said right after the number of misses: "", ", all planned" or ", 2 of them
 * planned" (requests that the plan leaves to the dynamic allocator). To be freed. */
char *cli_planned_misses (guint64 n_misses, guint64 n_planned);
