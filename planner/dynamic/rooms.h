/*
 * Rooms for dynamic requests: what slots leave free where they come.
 *
 * After HomoLayer groups of STAlloc (EuroSys '26): there a group is what is allocated in
 * one module and freed in another, and its reusable space what no planned request needs
 * from the begin of the one to the end of the other. Here a group is what is asked for
 * between two planned requests, so it needs no modules, and its space is the largest
 * range, so that it can be looked through at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

/* Fills the rooms of a plan that has its offsets; none where nothing is dynamic.
 * TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_build_rooms (TesseraPlanBuild *build);
