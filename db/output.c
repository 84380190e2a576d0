/*
 * Writing a file beside its target, then renaming it: see output.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names tried for the temporary file before giving up. */
#define N_NAMES 1000
/* Links followed before giving up, as the system does. */
#define MOST_LINKS 40

/* Temporary files that a signal's handler removes: more at once are left to their owner. */
static _Atomic (char *) temporaries[8];

void
tessera_outputs_remove (void)
{
  for (size_t i = 0; i < sizeof temporaries / sizeof *temporaries; i++)
    {
      const char *path = atomic_exchange (&temporaries[i], NULL);

      if (path)
        unlink (path);
    }
}

/* Returns: its place, or -1. */
static int
remember (char *path)
{
  for (size_t i = 0; i < sizeof temporaries / sizeof *temporaries; i++)
    {
      char *none = NULL;

      if (atomic_compare_exchange_strong (&temporaries[i], &none, path))
        return (int) i;
    }
  return -1;
}

/* A name that a handler has taken stays in memory: the handler reads it. */
static void
forget (TesseraOutput *output)
{
  char *expected = output->temporary;

  if (output->place < 0 ||
      atomic_compare_exchange_strong (&temporaries[output->place], &expected, NULL))
    free (output->temporary);
  output->temporary = NULL;
  output->place = -1;
}

/* Splits @path into the real path of its folder and a name in it. Returns: 0 or errno. */
static int
split (const char *path, char *folder, char *name)
{
  const char *slash = strrchr (path, '/');
  char above[PATH_MAX];

  if (strlen (path) >= PATH_MAX)
    return ENAMETOOLONG;
  strcpy (name, slash ? slash + 1 : path);
  if (!slash)
    strcpy (above, ".");
  else
    snprintf (above, sizeof above, "%.*s", slash > path ? (int) (slash - path) : 1, path);
  return realpath (above, folder) ? 0 : errno;
}

/* Which descriptor of this process a name in @folder is, or -1. */
static int
descriptor_of (const char *folder, const char *name)
{
  char own[64], *end;
  long number;

  snprintf (own, sizeof own, "/proc/%ld/fd", (long) getpid ());
  if (strcmp (folder, own) != 0)
    return -1;
  number = strtol (name, &end, 10);
  return end != name && *end == '\0' && number >= 0 && number <= INT_MAX ? (int) number
                                                                         : -1;
}

/* Follows links to what is there, or would be. Returns: 0 or an errno. */
static int
resolve (const char *path, char *target, int *out_descriptor)
{
  char folder[PATH_MAX], name[PATH_MAX], link[PATH_MAX];
  int failure;

  *out_descriptor = -1;
  snprintf (link, sizeof link, "%s", path);
  for (int i = 0; i < MOST_LINKS; i++)
    {
      ssize_t n_bytes;

      failure = split (link, folder, name);
      if (failure)
        return failure;
      *out_descriptor = descriptor_of (folder, name);
      if (snprintf (target, PATH_MAX, "%s/%s", folder[1] ? folder : "", name) >= PATH_MAX)
        return ENAMETOOLONG;
      n_bytes = *out_descriptor < 0 ? readlink (target, link, sizeof link - 1) : -1;
      if (n_bytes < 0)
        return 0;
      link[n_bytes] = '\0';
      if (*link != '/' && snprintf (target, PATH_MAX, "%s/%s", folder, link) < PATH_MAX)
        strcpy (link, target);
    }
  return ELOOP;
}

/* Returns: 0 or an errno. */
static int
find (const char *path, TesseraOutput *out)
{
  char target[PATH_MAX];
  int failure;

  *out = (TesseraOutput){ .descriptor = -1, .place = -1 };
  failure = *path ? resolve (path, target, &out->descriptor) : ENOENT;
  if (failure)
    return failure;
  if (stat (target, &out->there) != 0)
    memset (&out->there, 0, sizeof out->there);
  if (S_ISDIR (out->there.st_mode))
    return EISDIR;
  /* A file that is protected against writing is not replaced either. */
  if (out->there.st_mode && out->descriptor < 0 && access (target, W_OK) != 0)
    return errno;
  out->is_stream =
      out->descriptor >= 0 || (out->there.st_mode && !S_ISREG (out->there.st_mode));
  out->target = strdup (target);
  return out->target ? 0 : ENOMEM;
}

int
tessera_output_check (const char *path)
{
  TesseraOutput output;
  int failure = find (path, &output);

  if (!failure && !output.is_stream)
    {
      *strrchr (output.target, '/') = '\0';
      if (access (*output.target ? output.target : "/", W_OK | X_OK) != 0)
        failure = errno;
    }
  free (output.target);
  return failure;
}

int
tessera_output_descriptor (const char *path)
{
  char target[PATH_MAX];
  int descriptor;

  return resolve (path, target, &descriptor) == 0 ? descriptor : -1;
}

static TesseraStatus
fail (TesseraOutput *output, const char *path, int failure, TesseraError *error)
{
  tessera_output_discard (output);
  if (failure == ENOMEM)
    return tessera_fail (error, TESSERA_NO_MEMORY,
                         "Cannot write %s: this machine has no memory left", path);
  return tessera_fail (error, TESSERA_IO, "Cannot write %s: %s", path,
                       strerror (failure));
}

/* The name holds the process id, so that two processes that write to one place do not
 * meet. What replaces a file that few may read is not open to more meanwhile. */
static int
make_temporary (TesseraOutput *output)
{
  const char *folder = getenv ("TMPDIR");
  const char *beside = output->target;
  mode_t mode = output->is_stream || output->there.st_mode ? 0600 : 0666;
  size_t n_bytes;
  int failure = EEXIST;
  char in_folder[PATH_MAX];

  if (output->is_stream)
    {
      snprintf (in_folder, sizeof in_folder, "%s/tessera",
                folder && *folder ? folder : "/tmp");
      beside = in_folder;
    }
  n_bytes = strlen (beside) + 48;
  output->temporary = malloc (n_bytes);
  if (!output->temporary)
    return ENOMEM;
  for (unsigned i = 0; i < N_NAMES && failure == EEXIST; i++)
    {
      sigset_t all, before;
      int fd;

      snprintf (output->temporary, n_bytes, "%s.%ld-%u.tmp", beside, (long) getpid (), i);
      /* A signal between the two would leave the file. */
      sigfillset (&all);
      pthread_sigmask (SIG_BLOCK, &all, &before);
      fd = open (output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      failure = fd < 0 ? errno : 0;
      /* Not before the name is whole: half of one may be that of a file to keep. */
      if (fd >= 0)
        output->place = remember (output->temporary);
      pthread_sigmask (SIG_SETMASK, &before, NULL);
      if (fd >= 0)
        close (fd);
    }
  if (failure != 0)
    forget (output);
  return failure;
}

TesseraStatus
tessera_output_begin (TesseraOutput *output, const char *path, TesseraError *error)
{
  int failure = find (path, output);

  if (!failure)
    failure = make_temporary (output);
  return failure ? fail (output, path, failure, error) : TESSERA_OK;
}

void
tessera_output_discard (TesseraOutput *output)
{
  if (output->temporary)
    {
      unlink (output->temporary);
      forget (output);
    }
  free (output->target);
  *output = (TesseraOutput){ .descriptor = -1, .place = -1 };
}

/* Returns: 0 or an errno. */
static int
write_all (int fd, const char *bytes, size_t n_bytes)
{
  while (n_bytes > 0)
    {
      ssize_t n = write (fd, bytes, n_bytes);

      if (n < 0 && errno != EINTR)
        return errno;
      if (n > 0)
        {
          bytes += n;
          n_bytes -= (size_t) n;
        }
    }
  return 0;
}

/* Copies @from, and removes its name before: whoever reads a pipe may go away, and we die
 * of it. Returns: 0 or an errno. */
static int
pour (TesseraOutput *output, int from)
{
  int to = output->descriptor >= 0
               ? output->descriptor
               : open (output->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  int failure = to < 0 ? errno : 0;
  char bytes[1 << 14];
  ssize_t n = 1;

  unlink (output->temporary);
  while (!failure && n > 0)
    {
      n = read (from, bytes, sizeof bytes);
      failure = n < 0 ? errno : write_all (to, bytes, (size_t) n);
    }
  if (to >= 0 && to != output->descriptor && close (to) != 0 && !failure)
    failure = errno;
  return failure;
}

/* An owner that we may not give away to stays ours, with the group where that goes. */
static int
take_over_mode (int fd, const struct stat *there)
{
  if (fchown (fd, there->st_uid, there->st_gid) != 0 &&
      fchown (fd, (uid_t) -1, there->st_gid) != 0 && errno != EPERM)
    return errno;
  return fchmod (fd, there->st_mode & 0777) == 0 ? 0 : errno;
}

/* The rename itself is on disk once its folder is. Where a file system cannot sync a
 * folder, the rename is no less done. */
static void
sync_folder (char *target)
{
  char *slash = strrchr (target, '/');
  int fd;

  slash[slash == target] = '\0';
  fd = open (target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0)
    {
      fsync (fd);
      close (fd);
    }
}

/* Returns: 0 or an errno. */
static int
replace (TesseraOutput *output, int fd)
{
  int failure = output->there.st_mode ? take_over_mode (fd, &output->there) : 0;

  if (!failure && fsync (fd) != 0)
    failure = errno;
  if (!failure && rename (output->temporary, output->target) != 0)
    failure = errno;
  if (!failure)
    sync_folder (output->target);
  return failure;
}

TesseraStatus
tessera_output_commit (TesseraOutput *output, const char *path, TesseraError *error)
{
  int fd = open (output->temporary, O_RDWR | O_CLOEXEC), failure;

  if (fd < 0)
    return fail (output, path, errno, error);
  failure = output->is_stream ? pour (output, fd) : replace (output, fd);
  close (fd);
  if (failure)
    return fail (output, path, failure, error);
  forget (output);
  tessera_output_discard (output);
  return TESSERA_OK;
}

TesseraStatus
tessera_write_file (const char *path,
                    const void *bytes,
                    size_t n_bytes,
                    TesseraError *error)
{
  TesseraOutput output;
  TesseraStatus status = tessera_output_begin (&output, path, error);
  int fd, failure;

  if (status != TESSERA_OK)
    return status;
  fd = open (output.temporary, O_WRONLY | O_CLOEXEC);
  failure = fd < 0 ? errno : write_all (fd, bytes, n_bytes);
  if (fd >= 0 && close (fd) != 0 && !failure)
    failure = errno;
  return failure ? fail (&output, path, failure, error)
                 : tessera_output_commit (&output, path, error);
}
