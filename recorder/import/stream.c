/*
 * Bytes of a file from front to back, gzip undone on the way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define STORED_BYTES ((size_t) 64 * 1024)
#define GZIP_WINDOW_BITS (15 + 16) /* zlib: 32 KiB, gzip header */
/* Snapshots shrink to a fifteenth, tables to a tenth. */
#define MOST_INFLATED 200
#define FREE_INFLATED_BYTES ((uint64_t) 4 << 20)
#define REPORT_STEP 0.005 /* a report each half per cent: some 200 in all */

struct TesseraStreamInside
{
  int fd;
  bool is_inflating;
  bool between_members; /* one gzip member has ended; another may follow */
  z_stream z;
  uint8_t stored[STORED_BYTES]; /* gzip: as read from the file */
};

static void
stop (TesseraStream *stream, TesseraStatus status, const char *reason)
{
  stream->is_at_end = true;
  stream->status = status;
  g_strlcpy (stream->reason, reason, sizeof stream->reason);
}

/* Up to @n_bytes as stored; 0 at the end of the file and on errors. */
static size_t
read_stored (TesseraStream *stream, uint8_t *to, size_t n_bytes)
{
  ssize_t got;

  do
    got = read (stream->inside->fd, to, n_bytes);
  while (got < 0 && errno == EINTR);
  if (got < 0)
    {
      stop (stream, TESSERA_IO, g_strerror (errno));
      return 0;
    }
  stream->file_at += (uint64_t) got;
  return (size_t) got;
}

/* What follows the end of a gzip member: another member, padding to be left alone, or
 * nothing. */
static bool
next_member (struct TesseraStreamInside *inside)
{
  if (inside->z.avail_in < 1 || inside->z.next_in[0] != 0x1f)
    return false;
  if (inflateReset (&inside->z) != Z_OK)
    return false;
  inside->between_members = false;
  return true;
}

static size_t
read_inflated (TesseraStream *stream, uint8_t *to, size_t n_bytes)
{
  struct TesseraStreamInside *inside = stream->inside;
  int rc;

  inside->z.next_out = to;
  inside->z.avail_out = (uInt) n_bytes;
  while (inside->z.avail_out == n_bytes)
    {
      if (inside->z.avail_in == 0)
        {
          inside->z.next_in = inside->stored;
          inside->z.avail_in =
              (uInt) read_stored (stream, inside->stored, sizeof inside->stored);
          if (inside->z.avail_in == 0)
            {
              if (stream->status == TESSERA_OK && !inside->between_members)
                stop (stream, TESSERA_BAD_INPUT, "the gzip data is cut off");
              return 0;
            }
        }
      if (inside->between_members && !next_member (inside))
        return 0;
      rc = inflate (&inside->z, Z_NO_FLUSH);
      import_need (rc != Z_MEM_ERROR);
      if (rc == Z_STREAM_END)
        inside->between_members = true;
      else if (rc != Z_OK && rc != Z_BUF_ERROR)
        {
          stop (stream, TESSERA_BAD_INPUT,
                inside->z.msg != NULL ? inside->z.msg : "the gzip data is damaged");
          return 0;
        }
    }
  stream->n_inflated += n_bytes - inside->z.avail_out;
  if (stream->n_inflated / MOST_INFLATED >
      stream->file_at + FREE_INFLATED_BYTES / MOST_INFLATED)
    stop (stream, TESSERA_BAD_INPUT,
          "it unpacks to more than 200 times its size, as no snapshot or table does: "
          "open it unpacked if it is one");
  return n_bytes - inside->z.avail_out;
}

static void
report (TesseraStream *stream)
{
  double fraction;

  if (stream->file_bytes == 0)
    return;
  fraction = (double) stream->file_at / (double) stream->file_bytes;
  if (fraction < stream->reported + REPORT_STEP)
    return;
  stream->reported = fraction;
  if (!tessera_progress (stream->progress, fraction > 1 ? 1 : fraction))
    stop (stream, TESSERA_CANCELLED, "stopped as asked");
}

bool
tessera_stream_fill (TesseraStream *stream, size_t n_bytes)
{
  size_t left = (size_t) (stream->end - stream->at);

  if (stream->window == NULL || stream->is_at_end ||
      n_bytes > TESSERA_STREAM_WINDOW_BYTES)
    return left >= n_bytes;

  memmove (stream->window, stream->at, left);
  stream->base += (uint64_t) (stream->at - stream->from);
  stream->at = stream->window;
  while (left < TESSERA_STREAM_WINDOW_BYTES && !stream->is_at_end)
    {
      size_t room = TESSERA_STREAM_WINDOW_BYTES - left;
      size_t got = stream->is_gzip ? read_inflated (stream, stream->window + left, room)
                                   : read_stored (stream, stream->window + left, room);

      if (got == 0)
        stream->is_at_end = true;
      left += got;
    }
  stream->end = stream->window + left;
  report (stream);
  return stream->status == TESSERA_OK && left >= n_bytes;
}

TesseraStatus
tessera_stream_cut (const TesseraStream *stream, TesseraError *error)
{
  uint64_t at = stream->base + (uint64_t) (stream->end - stream->from);

  if (stream->status == TESSERA_OK)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s ends at byte %" PRIu64
                         " in the middle of its data: copy it again in full",
                         stream->name, at);
  if (stream->status == TESSERA_CANCELLED)
    return tessera_fail (error, TESSERA_CANCELLED, "reading %s was stopped as asked",
                         stream->name);
  return tessera_fail (error, stream->status,
                       "%s cannot be read past byte %" PRIu64 ": %s", stream->name, at,
                       stream->reason);
}

static TesseraStatus
open_file (TesseraStream *stream, const char *path, TesseraError *error)
{
  struct stat about;
  /* Opening a pipe must not wait for its writer. */
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (fd < 0 || fstat (fd, &about) < 0)
    {
      int why = errno;

      if (fd >= 0)
        close (fd);
      return tessera_fail (error, TESSERA_IO, "%s cannot be opened: %s", stream->name,
                           g_strerror (why));
    }
  stream->inside->fd = fd;
  if (S_ISDIR (about.st_mode))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a folder: choose one file in it", stream->name);
  if (!S_ISREG (about.st_mode))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a device or pipe: write it into a file and open that",
                         stream->name);
  stream->file_bytes = about.st_size > 0 ? (uint64_t) about.st_size : 0;
  return TESSERA_OK;
}

/* The first window shows gzip's two bytes: start over, inflating from what was read. */
static TesseraStatus
begin_inflating (TesseraStream *stream, TesseraError *error)
{
  struct TesseraStreamInside *inside = stream->inside;

  if (lseek (inside->fd, 0, SEEK_SET) != 0)
    return tessera_fail (error, TESSERA_IO,
                         "%s cannot be read twice: unpack it into a file first",
                         stream->name);
  import_need (inflateInit2 (&inside->z, GZIP_WINDOW_BITS) == Z_OK);
  inside->is_inflating = true;
  stream->is_gzip = true;
  stream->is_at_end = false;
  stream->file_at = 0;
  stream->at = stream->end = stream->window;
  tessera_stream_fill (stream, 1);
  return TESSERA_OK;
}

/* Of a path that is too long its end, which says more: the sentence has to have room. */
static void
set_name (TesseraStream *stream, const char *path)
{
  static const char cut[] = "...";
  char *name = g_filename_display_name (path);
  size_t n = strlen (name);
  const char *from = name;

  if (n >= sizeof stream->name)
    {
      from += n - (sizeof stream->name - sizeof cut);
      while (((uint8_t) *from & 0xc0) == 0x80)
        from++;
    }
  snprintf (stream->name, sizeof stream->name, "%s%s", from > name ? cut : "", from);
  g_free (name);
}

TesseraStatus
tessera_stream_open (const char *path,
                     const TesseraProgress *progress,
                     TesseraError *error,
                     TesseraStream **out_stream)
{
  TesseraStream *stream = g_new0 (TesseraStream, 1);
  TesseraStatus status;

  *out_stream = NULL;
  stream->inside = g_new0 (struct TesseraStreamInside, 1);
  stream->window = g_malloc (TESSERA_STREAM_WINDOW_BYTES);
  stream->inside->fd = -1;
  stream->progress = progress;
  stream->from = stream->at = stream->end = stream->window;
  set_name (stream, path);
  status = open_file (stream, path, error);
  if (status == TESSERA_OK)
    {
      tessera_stream_fill (stream, 2);
      if (stream->end - stream->at >= 2 && stream->at[0] == 0x1f && stream->at[1] == 0x8b)
        status = begin_inflating (stream, error);
    }
  if (status == TESSERA_OK && stream->status != TESSERA_OK)
    status = tessera_stream_cut (stream, error);
  if (status != TESSERA_OK)
    {
      tessera_stream_close (stream);
      return status;
    }
  *out_stream = stream;
  return TESSERA_OK;
}

TesseraStream *
tessera_stream_new (const void *bytes, size_t n_bytes)
{
  TesseraStream *stream = g_new0 (TesseraStream, 1);

  stream->from = stream->at = bytes;
  stream->end = stream->at + n_bytes;
  stream->is_at_end = true;
  stream->file_bytes = stream->file_at = n_bytes;
  g_strlcpy (stream->name, "memory", sizeof stream->name);
  return stream;
}

void
tessera_stream_close (TesseraStream *stream)
{
  if (stream == NULL)
    return;
  if (stream->inside != NULL)
    {
      if (stream->inside->is_inflating)
        inflateEnd (&stream->inside->z);
      if (stream->inside->fd >= 0)
        close (stream->inside->fd);
    }
  g_free (stream->inside);
  g_free (stream->window);
  g_free (stream);
}
