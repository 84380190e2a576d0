/* See process.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

static struct sigaction before; /* of SIGXFSZ */

static void
open_streams (void)
{
  int opened = open ("/dev/null", O_RDWR);

  while (opened >= 0 && opened <= STDERR_FILENO)
    opened = open ("/dev/null", O_RDWR);
  if (opened >= 0)
    close (opened);
}

static void
flush_stdout (void)
{
  bool had_failed = ferror (stdout);

  if (fflush (stdout) == 0 && !had_failed)
    return;
  fprintf (stderr, "tessera: what was to be printed cannot be written: %s\n",
           had_failed ? "the disk is full, or nobody reads on" : strerror (errno));
  _exit (CLI_FAILED);
}

void
cli_process_begin (void)
{
  const struct sigaction ignored = { .sa_handler = SIG_IGN };

  open_streams ();
  sigaction (SIGXFSZ, &ignored, &before);
  atexit (flush_stdout);
}

void
cli_process_restore (void)
{
  sigaction (SIGXFSZ, &before, NULL);
}
