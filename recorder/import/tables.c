/*
 * A PyTorch memory snapshot in SQLite: rows of its tables as the dicts that a pickle has.
 *
 * The writer was proposed (pytorch#178670) and is in no release, and no schema was
 * published: columns go by the names of the pickle's keys. A column that is not there, or
 * NULL, is a key that the dict does not have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "recorder/import/private.h"

#define MAX_COLUMNS 2000          /* of a query: what SQLite has */
#define MAX_VALUE_BYTES (1 << 22) /* a stack takes less; a claim would be held */

/* The query for a table's rows, without columns that are computed. */
#define ROWS_SQL                                                                         \
  "SELECT format ('SELECT rowid, %s FROM %s NOT INDEXED ORDER BY rowid',"                \
  " group_concat (format ('\"%w\" AS \"%w\"', name,"                                     \
  " CASE WHEN lower (name) IN ('addr', 'address')"                                       \
  " THEN iif (?1 = 'device_traces', 'addr', 'address')"                                  \
  " WHEN lower (name) = 'device_id' THEN 'device' ELSE lower (name) END)), ?1)"          \
  " FROM pragma_table_info (?1) HAVING count (*) > 0"
#define FRAMES_SQL                                                                       \
  "SELECT value ->> 'name' AS name, value ->> 'filename' AS filename, value ->> 'line'"  \
  " FROM json_each (?1) WHERE type = 'object' AND name IS NOT NULL"                      \
  " AND filename IS NOT NULL"

typedef struct
{
  const char *name;
  TesseraRecordKind kind; /* what its rows become ... */
  const char *lacks;      /* ... or why one does not */
} Table;

/* In the order of reading: a segment has its blocks. */
static const Table tables[] = {
  { "blocks", TESSERA_RECORD_BLOCK, "it has no `state` or `size`" },
  { "segments", TESSERA_RECORD_SEGMENT, "it has no `total_size`" },
  { "device_traces", TESSERA_RECORD_ENTRY, "it has no `action`" },
};

typedef struct
{
  TesseraCapture *capture;
  TesseraHeap *heap; /* the capture's */
  sqlite3 *db;
  const Table *table; /* that is read */
  sqlite3_stmt *rows, *frames;
  uint32_t keys[MAX_COLUMNS]; /* text ids of the rows' columns */
  int segment_id_at;          /* column */
  GHashTable *stacks;         /* text of frames -> the list that becomes their stack */
  GHashTable *blocks;         /* segment_id as text -> list */
  TesseraValue segments, devices; /* lists; of each device there is one of entries */
  bool has_segments;
  uint64_t n_bytes, n_text_bytes; /* of the file; read so far */
} Reader;

/* The place is the row at hand; row 0: the table. */
static TesseraStatus
refuse (const Reader *reader, const char *why)
{
  const TesseraCapture *capture = reader->capture;
  g_autofree char *row = g_strdup_printf ("row %" PRIi64 " of ", capture->row);

  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s: %stable %s: %s: write the snapshot with "
                       "torch.cuda.memory._dump_snapshot instead",
                       capture->pickle.stream->name, capture->row != 0 ? row : "",
                       capture->table, why);
}

/* The first value that @sql gives; NULL where it gives none. */
static char *
dup_answer (sqlite3 *db, const char *sql, const char *argument)
{
  sqlite3_stmt *statement = NULL;
  char *answer = NULL;

  sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);
  sqlite3_bind_text (statement, 1, argument, -1, SQLITE_STATIC);
  if (sqlite3_step (statement) == SQLITE_ROW)
    answer = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  return answer;
}

bool
tessera_tables_are_there (sqlite3 *db)
{
  g_autofree char *query = dup_answer (db, ROWS_SQL, "device_traces");

  return query != NULL;
}

static TesseraValue
new_text (Reader *reader, const char *text)
{
  uint32_t id;

  import_must (tessera_strings_intern (reader->heap->texts, text, strlen (text), &id));
  return tessera_value_make (TESSERA_VALUE_TEXT, id);
}

static TesseraValue
new_list (Reader *reader)
{
  return tessera_heap_new_object (reader->heap, TESSERA_OBJECT_LIST);
}

static TesseraObject *
get_list (Reader *reader, TesseraValue list)
{
  return tessera_heap_object (reader->heap, list, TESSERA_OBJECT_LIST);
}

/* The list under @key, or a new one. */
static TesseraValue
find_list (Reader *reader, GHashTable *lists, TesseraValue key)
{
  gpointer list = g_hash_table_lookup (lists, GSIZE_TO_POINTER (key));

  if (list == NULL)
    {
      list = GSIZE_TO_POINTER (new_list (reader));
      g_hash_table_insert (lists, GSIZE_TO_POINTER (key), list);
    }
  return GPOINTER_TO_SIZE (list);
}

/* What is no INTEGER is text: of digits it is a number (so may addresses be written), two
 * numbers in brackets are a pair. */
static TesseraValue
read_value (Reader *reader, sqlite3_stmt *rows, int column, uint32_t key)
{
  TesseraBig big = { .bits = (uint64_t) sqlite3_column_int64 (rows, column) };
  bool is_hex;
  const char *text;
  uint64_t second;

  if (sqlite3_column_type (rows, column) == SQLITE_INTEGER)
    {
      big.is_negative = (int64_t) big.bits < 0;
      return tessera_heap_new_number (reader->heap, TESSERA_VALUE_BIG, big);
    }
  text = (const char *) sqlite3_column_text (rows, column);
  text = text != NULL ? text : ""; /* bytes, but none */
  reader->n_text_bytes += strlen (text);
  is_hex = g_str_has_prefix (text, "0x");
  if (key == TESSERA_TEXT_NAME || key == TESSERA_TEXT_FILENAME)
    return new_text (reader, text);
  if (g_ascii_string_to_unsigned (text + (is_hex ? 2 : 0), is_hex ? 16 : 10, 0,
                                  G_MAXUINT64, &big.bits, NULL))
    return tessera_heap_new_number (reader->heap, TESSERA_VALUE_BIG, big);
  if (sscanf (text, "%*1[[(]%" SCNu64 ",%" SCNu64, &big.bits, &second) == 2 &&
      (big.bits | second) >> 30 == 0)
    return tessera_value_make (TESSERA_VALUE_PAIR, big.bits << 30 | second);
  return new_text (reader, text);
}

/* The columns of @rows that are no NULL, under those @keys that the pickle has. Returns: how
 * many pairs. */
static size_t
read_pairs (Reader *reader, sqlite3_stmt *rows, const uint32_t *keys, TesseraValue *pairs)
{
  const int n_columns = sqlite3_column_count (rows);
  size_t n = 0;

  for (int i = 0; i < n_columns && n < TESSERA_N_TEXTS; i++)
    if (keys[i] < TESSERA_N_TEXTS && sqlite3_column_type (rows, i) != SQLITE_NULL)
      {
        pairs[2 * n] = tessera_value_make (TESSERA_VALUE_TEXT, keys[i]);
        pairs[2 * n++ + 1] = read_value (reader, rows, i, keys[i]);
      }
  return n;
}

/* Adds to @list what a dict of @pairs becomes. */
static TesseraStatus
add_record (Reader *reader, TesseraValue list, const TesseraValue *pairs, size_t n_pairs)
{
  TesseraPickle *pickle = &reader->capture->pickle;
  TesseraValue record = 0;
  TesseraStatus status =
      pickle->dict_done (reader->capture, pickle, pairs, n_pairs, &record);

  tessera_heap_append (reader->heap, get_list (reader, list), &record, 1);
  return status != TESSERA_OK || record != 0 ? status
                                             : refuse (reader, reader->table->lacks);
}

/* Frames are text: a JSON list, read once for all rows that have the same. */
static TesseraStatus
read_frames (Reader *reader, TesseraValue *inout_value)
{
  static const uint32_t keys[] = { TESSERA_TEXT_NAME, TESSERA_TEXT_FILENAME,
                                   TESSERA_TEXT_LINE };
  const uint32_t text = (uint32_t) (*inout_value >> TESSERA_VALUE_TAG_BITS);
  const guint n_known = g_hash_table_size (reader->stacks);
  TesseraValue pairs[2 * G_N_ELEMENTS (keys)];
  TesseraStatus status = TESSERA_OK;
  int rc = SQLITE_DONE;

  *inout_value = find_list (reader, reader->stacks, *inout_value);
  if (g_hash_table_size (reader->stacks) == n_known)
    return TESSERA_OK;
  reader->heap->objects[*inout_value >> TESSERA_VALUE_TAG_BITS].is_shared = true;
  sqlite3_bind_text (reader->frames, 1, tessera_strings_get (reader->heap->texts, text),
                     -1, SQLITE_STATIC);
  while (status == TESSERA_OK && (rc = sqlite3_step (reader->frames)) == SQLITE_ROW)
    {
      size_t n = read_pairs (reader, reader->frames, keys, pairs);

      status = add_record (reader, *inout_value, pairs, n);
    }
  sqlite3_reset (reader->frames);
  return status != TESSERA_OK || rc == SQLITE_DONE
             ? status
             : refuse (reader, "its `frames` are no JSON");
}

static TesseraStatus
read_entry (Reader *reader, const TesseraValue *pairs, size_t n, TesseraValue device)
{
  uint64_t number;

  if (!tessera_heap_u64 (reader->heap, device, &number) || number >= TESSERA_MAX_DEVICES)
    return refuse (reader, "no machine has its `device`");
  while (get_list (reader, reader->devices)->n_items <= number)
    {
      const TesseraValue list = new_list (reader);

      tessera_heap_append (reader->heap, get_list (reader, reader->devices), &list, 1);
    }
  return add_record (reader, get_list (reader, reader->devices)->items[number], pairs, n);
}

/* A segment takes its blocks, which were read before. */
static TesseraStatus
read_held (Reader *reader, TesseraValue *pairs, size_t n)
{
  const int at = reader->segment_id_at;
  const char *text =
      at < 0 ? NULL : (const char *) sqlite3_column_text (reader->rows, at);
  TesseraValue segment_id, blocks;

  if (text == NULL)
    return refuse (reader, "it has no `segment_id`");
  segment_id = new_text (reader, text);
  blocks = find_list (reader, reader->blocks, segment_id);
  if (reader->table->kind == TESSERA_RECORD_BLOCK)
    return add_record (reader, blocks, pairs, n);
  g_hash_table_remove (reader->blocks, GSIZE_TO_POINTER (segment_id));
  pairs[2 * n] = tessera_value_make (TESSERA_VALUE_TEXT, TESSERA_TEXT_BLOCKS);
  pairs[2 * n + 1] = blocks;
  return add_record (reader, reader->segments, pairs, n + 1);
}

static TesseraStatus
read_row (Reader *reader)
{
  TesseraValue pairs[2 * TESSERA_N_TEXTS + 2];
  TesseraValue device = tessera_value_make (TESSERA_VALUE_INT, 0);
  TesseraStatus status = TESSERA_OK;
  size_t n = read_pairs (reader, reader->rows, reader->keys, pairs);

  for (size_t i = 0; i < 2 * n && status == TESSERA_OK; i += 2)
    if (pairs[i] >> TESSERA_VALUE_TAG_BITS == TESSERA_TEXT_DEVICE)
      device = pairs[i + 1];
    else if (pairs[i] >> TESSERA_VALUE_TAG_BITS == TESSERA_TEXT_FRAMES &&
             tessera_value_kind (pairs[i + 1]) == TESSERA_VALUE_TEXT)
      status = read_frames (reader, &pairs[i + 1]);
  if (status != TESSERA_OK)
    return status;
  return reader->table->kind == TESSERA_RECORD_ENTRY
             ? read_entry (reader, pairs, n, device)
             : read_held (reader, pairs, n);
}

static void
name_columns (Reader *reader)
{
  const bool is_segment = reader->table->kind == TESSERA_RECORD_SEGMENT;
  const int n_columns = sqlite3_column_count (reader->rows);

  reader->segment_id_at = is_segment ? 0 : -1;
  for (int i = 0; i < n_columns; i++)
    {
      const char *name = sqlite3_column_name (reader->rows, i);

      reader->keys[i] = (uint32_t) (new_text (reader, name) >> TESSERA_VALUE_TAG_BITS);
      if (g_str_equal (name, "segment_id") ||
          (is_segment && g_str_equal (name, "id") && reader->segment_id_at == 0))
        reader->segment_id_at = i;
    }
}

static TesseraStatus
read_table (Reader *reader, const Table *table)
{
  g_autofree char *sql = dup_answer (reader->db, ROWS_SQL, table->name);
  TesseraPickle *pickle = &reader->capture->pickle;
  TesseraStatus status = TESSERA_OK;
  int rc;

  if (sql == NULL)
    return TESSERA_OK;
  reader->table = table;
  reader->has_segments |= table->kind == TESSERA_RECORD_SEGMENT;
  reader->capture->table = table->name;
  reader->capture->row = 0;
  if (sqlite3_prepare_v2 (reader->db, sql, -1, &reader->rows, NULL) != SQLITE_OK)
    return refuse (reader, "it is a view, or a table without rowids");
  name_columns (reader);
  while (status == TESSERA_OK && (rc = sqlite3_step (reader->rows)) == SQLITE_ROW)
    {
      reader->capture->row = sqlite3_column_int64 (reader->rows, 0);
      status = read_row (reader);
      if (status == TESSERA_OK && reader->n_text_bytes / 2 > reader->n_bytes)
        status = refuse (reader, "there is more text than the file can hold");
      if (status == TESSERA_OK &&
          !tessera_stream_report (pickle->stream, (double) reader->n_text_bytes /
                                                      (double) reader->n_bytes))
        status = tessera_stream_cut (pickle->stream, reader->capture->error);
    }
  if (status == TESSERA_OK && rc != SQLITE_DONE)
    status = refuse (reader, sqlite3_errmsg (reader->db));
  sqlite3_finalize (reader->rows);
  return status;
}

TesseraStatus
tessera_tables_read (TesseraCapture *capture, sqlite3 *db, TesseraValue *out_top)
{
  TesseraHeap *heap = &capture->pickle.heap;
  Reader reader = { .capture = capture, .heap = heap, .db = db };
  g_autoptr (GHashTable) stacks = reader.stacks = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) blocks = reader.blocks = g_hash_table_new (NULL, NULL);
  g_autofree char *n_bytes = dup_answer (
      db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", NULL);
  TesseraValue parts[] = {
    tessera_value_make (TESSERA_VALUE_TEXT, TESSERA_TEXT_DEVICE_TRACES),
    reader.devices = new_list (&reader),
    tessera_value_make (TESSERA_VALUE_TEXT, TESSERA_TEXT_SEGMENTS),
    reader.segments = new_list (&reader),
  };
  TesseraStatus status = TESSERA_OK;

  reader.n_bytes = n_bytes != NULL ? g_ascii_strtoull (n_bytes, NULL, 10) : 1;
  capture->pickle.op_at = reader.n_bytes; /* so many bytes describe what there is */
  sqlite3_limit (db, SQLITE_LIMIT_COLUMN, MAX_COLUMNS);
  sqlite3_limit (db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
  sqlite3_prepare_v2 (db, FRAMES_SQL, -1, &reader.frames, NULL);
  for (size_t i = 0; status == TESSERA_OK && i < G_N_ELEMENTS (tables); i++)
    status = read_table (&reader, &tables[i]);
  sqlite3_finalize (reader.frames);
  if (status == TESSERA_OK && g_hash_table_size (blocks) > 0)
    status = tessera_fail (capture->error, TESSERA_BAD_INPUT,
                           "%s: table blocks has a `segment_id` that no segment has: the "
                           "snapshot is damaged",
                           capture->pickle.stream->name);
  *out_top = tessera_heap_new_object (heap, TESSERA_OBJECT_DICT);
  tessera_heap_append (heap, tessera_heap_object (heap, *out_top, TESSERA_OBJECT_DICT),
                       parts, reader.has_segments ? 4 : 2);
  return status;
}
