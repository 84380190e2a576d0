/*
 * How the ranks of a job are laid out: "pp=4 dp=16", the outermost axis first, so that the
 * last one's positions are neighbouring ranks. Axes whose names begin with p, t or e are
 * stages, tensor and expert positions, where ranks do something else; ranks that differ along
 * others do the same on other data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

typedef struct
{
  char name[16];
  guint64 size, stride;
} CliAxis;

typedef struct
{
  CliAxis axes[8];
  guint n; /* 0: not known */
  guint64 world;
  guint64 n_classes; /* ranks of one stage, tensor and expert position are one */
  char text[160];    /* as above; "": not known */
} CliTopology;

/* Returns FALSE, and nothing known: @text is something else. A line's rest from # on is a
 * remark. */
gboolean cli_topology_read (CliTopology *topology, const char *text);
guint64 cli_topology_class (const CliTopology *topology, guint64 rank);
/* Where these ranks are and no others along that axis: "stage 3, tp 0-1"; or "". */
char *cli_topology_describe (const CliTopology *topology, const GArray *ranks);
