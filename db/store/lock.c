/*
 * One writer at a time for a file that is read, changed and written anew.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/store.h"

/* Network file systems lock only what is open for writing, a snapshot may be open for
 * reading alone. */
static int
open_for_lock (const char *path)
{
  int fd = open (path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

  return fd < 0 && errno != ENOENT ? open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : fd;
}

/* A writer replaces the file: who waited for the lock holds that of the old one. */
static bool
is_still_at (int fd, const char *path)
{
  struct stat locked, there;

  return fstat (fd, &locked) == 0 && stat (path, &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

TesseraStatus
tessera_file_lock (const char *path, TesseraError *error, int *out_lock)
{
  int fd;

  *out_lock = -1;
  while ((fd = open_for_lock (path)) >= 0)
    {
      while (flock (fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
      if (is_still_at (fd, path))
        {
          *out_lock = fd;
          return TESSERA_OK;
        }
      close (fd);
    }
  return tessera_fail (error, TESSERA_IO, "Cannot open %s: %s", path, strerror (errno));
}

void
tessera_file_unlock (int lock)
{
  if (lock >= 0)
    close (lock);
}
