/*
 * What the checks of plans for every length share: see check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/instance.h"
#include "db/lengths.h"
#include "planner/check.h"

/* Hears of a step as a plan of its own, whose slots' blocks are slots of the lengths, and in
 * which way it came. */
typedef TesseraStatus (*TesseraCheckStep) (const TesseraPlan *plan,
                                           const TesseraParameters *parameters,
                                           const TesseraInstanceOptions *way,
                                           void *user);

/* The observed steps and others up to the most, each in all ways in which it may come,
 * until one is not TESSERA_OK. Laws that give no size somewhere plan nothing there. */
TESSERA_MUST_USE TesseraStatus tessera_check_each_step (const TesseraLengths *lengths,
                                                        TesseraCheckStep check,
                                                        void *user);

/* TESSERA_REFUSED, saying at which parameters @found holds: "at batch 1 and length 2,
 * ...".
 */
TESSERA_MUST_USE TesseraStatus tessera_check_refuse_at (const TesseraParameters *at,
                                                        const TesseraError *found,
                                                        TesseraError *error);
