/*
 * What a training program's command line tells before it is started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/status.h"

/* "train" for `python dir/train.py`, "pkg.main" for `python -m pkg.main`, else the
 * program's own name. Transfer full. */
char *cli_program_name (char **program);

/* The launcher of several processes that the command line names ("torchrun"); NULL: none.
 * Borrowed. */
const char *cli_program_launcher (char **program);

/* Where the program is a Python: whether it starts, and has a PyTorch built for CUDA. One
 * sentence where not. Other programs pass. */
TESSERA_MUST_USE TesseraStatus cli_program_check (char **program, TesseraError *error);
