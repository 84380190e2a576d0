/*
 * Opening whatever an engineer has, by what it holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "db/store.h"
#include "recorder/import/private.h"

/* With its NUL: the first 16 bytes of any SQLite database. */
#define SQLITE_MAGIC "SQLite format 3"

typedef struct
{
  const char *begins;
  size_t n_bytes;
  const char *what;
} Foreign;

/* What people hand over by mistake. */
static const Foreign foreigners[] = {
  { "PK\3\4", 4,
    "a zip archive (torch.save writes these): write the memory snapshot with "
    "torch.cuda.memory._dump_snapshot and open that" },
  { "<", 1, "a web page: open the snapshot (.pickle) it was made from" },
  { "%PDF", 4, "a PDF document: open a memory snapshot (.pickle)" },
  { "\x7f"
    "ELF",
    4, "a program: open a memory snapshot (.pickle)" },
  { "\x28\xb5\x2f\xfd", 4, "packed with zstd: unpack it first (zstd -d)" },
  { "\xfd"
    "7zXZ",
    5, "packed with xz: unpack it first (xz -d)" },
  { "BZh", 3, "packed with bzip2: unpack it first (bunzip2)" },
};

static bool
begins_with (const TesseraStream *stream, const char *bytes, size_t n_bytes)
{
  return (size_t) (stream->end - stream->at) >= n_bytes &&
         memcmp (stream->at, bytes, n_bytes) == 0;
}

static bool
is_text (const TesseraStream *stream)
{
  size_t n = (size_t) (stream->end - stream->at);

  if (n > 512)
    n = 512;
  for (size_t i = 0; i < n; i++)
    if (stream->at[i] < ' ' && strchr ("\t\n\r\f", stream->at[i]) == NULL)
      return false;
  return n == 0 || stream->at[0] != '\0';
}

/* Spreadsheets and PowerShell write a mark first; without one every other byte is 0. */
static bool
is_utf16 (const TesseraStream *stream)
{
  size_t n = (size_t) (stream->end - stream->at);
  const uint8_t *at = stream->at;

  return begins_with (stream, "\xff\xfe", 2) || begins_with (stream, "\xfe\xff", 2) ||
         (n >= 4 && ((at[0] >= ' ' && at[1] == 0 && at[2] >= ' ' && at[3] == 0) ||
                     (at[0] == 0 && at[1] >= ' ' && at[2] == 0 && at[3] >= ' ')));
}

static TesseraStatus
refuse (const TesseraStream *stream, TesseraError *error)
{
  for (size_t i = 0; i < G_N_ELEMENTS (foreigners); i++)
    if (begins_with (stream, foreigners[i].begins, foreigners[i].n_bytes))
      return tessera_fail (error, TESSERA_FOREIGN, "%s is %s", stream->name,
                           foreigners[i].what);
  if (stream->at == stream->end)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is empty: write the snapshot again", stream->name);
  if (is_utf16 (stream))
    return tessera_fail (error, TESSERA_FOREIGN,
                         "%s is text in UTF-16: save it as UTF-8 (iconv -f UTF-16 -t "
                         "UTF-8)",
                         stream->name);
  if (is_text (stream))
    return tessera_fail (error, TESSERA_FOREIGN,
                         "%s is text, but no table of allocations: its first line has to "
                         "name the columns action,id,size_bytes or id,lower,upper,size",
                         stream->name);
  return tessera_fail (error, TESSERA_FOREIGN,
                       "%s is neither a memory snapshot (.pickle), a trace (.tsr) nor a "
                       "table (.csv): it begins with byte 0x%02x",
                       stream->name, stream->at[0]);
}

/* A database is read by path: the stream has only sniffed at it. */
static TesseraStatus
open_database (const TesseraStream *stream,
               const char *path,
               const TesseraOpenOptions *options,
               TesseraError *error,
               TesseraTrace **out_trace)
{
  TesseraStatus status;

  if (stream->is_gzip)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a packed database: unpack it first (gunzip)",
                         stream->name);
  if (tessera_file_kind (path) == TESSERA_FILE_PLAN)
    return tessera_fail (
        error, TESSERA_FOREIGN,
        "%s is a plan (.tsp) where a trace is wanted: open the snapshot or "
        "the .tsr that it was made from",
        stream->name);
  status =
      tessera_trace_load (path, options->device, options->progress, error, out_trace);
  if (status == TESSERA_OK && !tessera_settings_make_sense (&(*out_trace)->settings))
    status =
        tessera_fail (error, TESSERA_BAD_INPUT,
                      "%s is damaged: in table recording, large_segment_bytes is %" PRIu64
                      ", where whole blocks of 512 bytes are wanted; make it again",
                      stream->name, (*out_trace)->settings.large_segment_bytes);
  return status;
}

static TesseraStatus
read_content (TesseraStream *stream,
              const char *path,
              const TesseraOpenOptions *options,
              TesseraError *error,
              TesseraTrace **out_trace)
{
  TesseraStatus status;

  if (begins_with (stream, SQLITE_MAGIC, sizeof SQLITE_MAGIC))
    return open_database (stream, path, options, error, out_trace);
  if (begins_with (stream, "\x80", 1))
    status = tessera_import_snapshot (stream, options, error, out_trace);
  else if (begins_with (stream, "{", 1) || begins_with (stream, "[", 1))
    status = tessera_import_kineto (stream, options, error, out_trace);
  else if (tessera_csv_knows (stream))
    status = tessera_import_csv (stream, error, out_trace);
  else
    status = refuse (stream, error);
  /* A trace that was saved keeps the name of the file it was made from; others get it. */
  return status == TESSERA_OK ? tessera_trace_set_source (*out_trace, path) : status;
}

TesseraStatus
tessera_open (const char *path,
              const TesseraOpenOptions *options,
              TesseraError *error,
              TesseraTrace **out_trace)
{
  TesseraStream *stream;
  TesseraStatus status;

  *out_trace = NULL;
  status = tessera_stream_open (path, options->progress, error, &stream);
  if (status != TESSERA_OK)
    return status;
  status = read_content (stream, path, options, error, out_trace);
  tessera_stream_close (stream);
  if (status == TESSERA_OK && options->device_bytes != 0)
    (*out_trace)->device_bytes = options->device_bytes;
  if (status == TESSERA_OK && options->limit_bytes != 0)
    (*out_trace)->limit_bytes = options->limit_bytes;
  if (status == TESSERA_OK && !tessera_progress (options->progress, 1))
    status = tessera_fail (error, TESSERA_CANCELLED, "reading %s was stopped as asked",
                           (*out_trace)->source);
  if (status != TESSERA_OK)
    {
      tessera_trace_free (*out_trace);
      *out_trace = NULL;
    }
  return status;
}
