/*
 * What people changed, into the file of its trace and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <stdlib.h>

#include "db/array.h"
#include "db/store/file.h"
#include "db/store/tables.h"

typedef struct
{
  TesseraStoredEdit *edits;
  size_t n_edits, cap_edits;
} Load;

static TesseraStatus
take (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;

  if (!TESSERA_RESERVE (load->edits, load->cap_edits, load->n_edits + 1))
    {
      tessera_item_clear (&tessera_edit_table, item);
      return TESSERA_NO_MEMORY;
    }
  load->edits[load->n_edits++] = *(const TesseraStoredEdit *) item;
  return TESSERA_OK;
}

TesseraStatus
tessera_trace_load_edits (const char *trace_path,
                          TesseraError *error,
                          TesseraStoredEdit **out_edits,
                          size_t *out_n_edits)
{
  Load load = { 0 };
  TesseraRowReader reader = { .path = trace_path, .error = error };
  TesseraStatus status =
      tessera_file_open (trace_path, &tessera_trace_format, error, &reader.db);

  *out_edits = NULL;
  *out_n_edits = 0;
  if (status != TESSERA_OK)
    return status;
  tessera_limits_init (&reader.limits);
  status =
      tessera_read_rows (&reader, &tessera_edit_table, (TesseraScope){ 0 }, take, &load);
  sqlite3_close (reader.db);
  if (status != TESSERA_OK)
    {
      tessera_stored_edits_free (load.edits, load.n_edits);
      return status;
    }
  *out_edits = load.edits;
  *out_n_edits = load.n_edits;
  return TESSERA_OK;
}

static TesseraStatus
write_edits (TesseraNewFile *file, const TesseraStoredEdit *edits, size_t n_edits)
{
  const TesseraRows rows = { .items = edits, .n_items = n_edits };
  TesseraLimits limits;
  TesseraRowWriter *writer;
  TesseraStatus status;
  int rc = sqlite3_exec (file->db, "DELETE FROM edit", NULL, NULL, NULL);

  if (rc != SQLITE_OK)
    return tessera_fail_sqlite (file->error, file->db, rc, file->path, "write");
  tessera_limits_init (&limits);
  status = tessera_row_writer_new (file->db, file->path, &limits, n_edits, NULL,
                                   file->error, &writer);
  if (status == TESSERA_OK)
    status = tessera_write_rows (writer, &tessera_edit_table, (TesseraScope){ 0 }, rows);
  tessera_row_writer_free (writer);
  return status;
}

TesseraStatus
tessera_trace_save_edits (const char *trace_path,
                          const TesseraStoredEdit *edits,
                          size_t n_edits,
                          TesseraError *error)
{
  TesseraNewFile file;
  TesseraStatus status =
      tessera_new_file_copy (&file, trace_path, &tessera_trace_format, error);

  if (status != TESSERA_OK)
    return status;
  status = write_edits (&file, edits, n_edits);
  if (status == TESSERA_OK)
    return tessera_new_file_commit (&file);
  tessera_new_file_discard (&file);
  return status;
}

void
tessera_stored_edits_free (TesseraStoredEdit *edits, size_t n_edits)
{
  for (size_t i = 0; i < n_edits; i++)
    {
      free (edits[i].name);
      free (edits[i].rule);
    }
  free (edits);
}
