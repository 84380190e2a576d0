/*
 * Where the files lie that go into a training process: beside this program in the build
 * tree, or where they are installed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

typedef enum
{
  CLI_PLACE_VIEWER,   /* the viewer's program */
  CLI_PLACE_LIBRARY,  /* libtessera.so */
  CLI_PLACE_NULLCUDA, /* the folder of libnullcuda.so */
  CLI_PLACE_AUTOLOAD, /* the folder that Python enables Tessera from */
} CliPlace;

/*
 * cli_place_find:
 *
 * Returns: (transfer full) (nullable) (type filename): an absolute path of what is there
 */
char *cli_place_find (CliPlace place);
