/*
 * Regions of a plan for dynamic requests, as asked for by --regions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/print.h"
#include "cli/study.h"
#include "simulator/regions.h"

/* What --regions says. */
typedef enum
{
  CLI_REGIONS_SMALL, /* what small blocks need: the default */
  CLI_REGIONS_BYTES, /* that many, "none" being 0 */
  CLI_REGIONS_AUTO,  /* what reserves least in simulation */
  CLI_REGIONS_CURVE  /* the default, and what others would be worth */
} CliRegionsKind;

typedef struct
{
  CliRegionsKind kind;
  guint64 size_bytes;
  TesseraRegionCurve curve; /* filled by cli_study_regions(): auto and curve */
} CliRegions;

/* "none", "auto", "curve" or a size; NULL: the default. */
gboolean cli_parse_regions (const char *text, CliRegions *out_regions);
/* Gives the plan of @study the regions that @regions says, and follows it anew. But for
 * the default, the plan has to be made with regions_for_large. */
void cli_study_regions (CliStudy *study, CliRegions *regions);
/* The curve, where it was asked for. */
void cli_print_regions (const CliStudy *study, const CliRegions *regions);
/* Members "region_curve" and "expandable_bytes", likewise. */
void cli_json_regions (JsonBuilder *json, const CliRegions *regions);
