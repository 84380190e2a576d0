/*
 * Tests of the pickle reader: each opcode, each refusal, hostile files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"

#include <unistd.h>

#include <glib/gstdio.h>

#include "db/intern.h"
#include "tests/ok.h"
#include "tests/recorder/snapshot-writer.h"

/* A pickle being read; the bytes are those of the test. */
typedef struct
{
  TesseraStream *stream;
  TesseraPickle pickle;
  TesseraError error;
  TesseraValue top;
  TesseraStatus status;
} Read;

static void
read_bytes (Read *read, const void *bytes, size_t n_bytes)
{
  memset (read, 0, sizeof *read);
  read->stream = test_stream (bytes, n_bytes);
  tessera_pickle_init (&read->pickle, read->stream, &read->error);
  read->status = tessera_pickle_read (&read->pickle, &read->top);
  if (read->status != TESSERA_OK)
    {
      g_assert_cmpint (read->error.status, ==, read->status);
      g_assert_cmpstr (read->error.text, !=, "");
    }
}

static void
read_done (Read *read)
{
  tessera_pickle_clear (&read->pickle);
  tessera_stream_close (read->stream);
}

/* @body between PROTO 4 and STOP. */
static void
read_body (Read *read, const char *body, size_t n_bytes)
{
  g_autoptr (GByteArray) to = pickle_new (4);

  put_bytes (to, body, n_bytes);
  put_op (to, '.');
  read_bytes (read, to->data, to->len);
}

#define READ(read, body) read_body (read, body, sizeof (body) - 1)

static void
test_numbers (void)
{
  static const struct
  {
    const char *body;
    size_t n_bytes;
    int64_t number;
  } cases[] = {
    { "K\x07", 2, 7 },
    { "M\x34\x12", 3, 0x1234 },
    { "J\xfe\xff\xff\xff", 5, -2 },
    { "\x8a\x00", 2, 0 },
    { "\x8a\x01\xff", 3, -1 },
    { "\x8a\x02\xff\x00", 4, 255 },
    { "\x8a\x06\x00\x00\x00\x00\x00\x7f", 8, INT64_C (0x7f0000000000) },
    { "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10, INT64_MIN },
    { "\x8b\x02\x00\x00\x00\x01\x02", 7, 0x201 },
    /* Sign bytes beyond the ninth change nothing. */
    { "\x8a\x0b\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 13, -3 },
    { "\x8a\x0b\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 13, 5 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Read read;
      int64_t number;
      uint64_t same;

      read_body (&read, cases[i].body, cases[i].n_bytes);
      OK (read.status);
      g_assert_true (tessera_heap_i64 (&read.pickle.heap, read.top, &number));
      g_assert_cmpint (number, ==, cases[i].number);
      g_assert_true (tessera_heap_u64 (&read.pickle.heap, read.top, &same) ==
                     (number >= 0));
      read_done (&read);
    }
}

static void
test_large_numbers (void)
{
  Read read;
  uint64_t number;
  int64_t as_signed;

  READ (&read, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"); /* 2^64 - 1 */
  g_assert_true (tessera_heap_u64 (&read.pickle.heap, read.top, &number));
  g_assert_cmpuint (number, ==, UINT64_MAX);
  g_assert_false (tessera_heap_i64 (&read.pickle.heap, read.top, &as_signed));
  read_done (&read);

  READ (&read, "\x8a\x0b\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\xff"); /* -2^63 - 1 */
  OK (read.status);
  g_assert_false (tessera_heap_u64 (&read.pickle.heap, read.top, &number));
  g_assert_false (tessera_heap_i64 (&read.pickle.heap, read.top, &as_signed));
  read_done (&read);
}

static void
test_float_and_constants (void)
{
  static const struct
  {
    const char *body;
    TesseraConst constant;
  } constants[] = { { "N", TESSERA_CONST_NONE },
                    { "\x88", TESSERA_CONST_TRUE },
                    { "\x89", TESSERA_CONST_FALSE } };
  Read read;
  double number;

  READ (&read, "G\x3f\xe8\x00\x00\x00\x00\x00\x00"); /* 0.75, big endian */
  g_assert_true (tessera_heap_double (&read.pickle.heap, read.top, &number));
  g_assert_cmpfloat (number, ==, 0.75);
  read_done (&read);
  for (size_t i = 0; i < G_N_ELEMENTS (constants); i++)
    {
      read_body (&read, constants[i].body, 1);
      g_assert_cmpuint (read.top, ==,
                        tessera_value_make (TESSERA_VALUE_CONST, constants[i].constant));
      read_done (&read);
    }
}

static const char *
text_of (Read *read, TesseraValue value)
{
  g_assert_cmpint (tessera_value_kind (value), ==, TESSERA_VALUE_TEXT);
  return tessera_strings_get (read->pickle.heap.texts, (uint32_t) (value >> 4));
}

static void
test_texts (void)
{
  Read read;

  READ (&read, "\x8c\x02hi");
  g_assert_cmpstr (text_of (&read, read.top), ==, "hi");
  read_done (&read);
  READ (&read, "X\x03\x00\x00\x00one");
  g_assert_cmpstr (text_of (&read, read.top), ==, "one");
  read_done (&read);
  READ (&read, "\x8d\x02\x00\x00\x00\x00\x00\x00\x00ok");
  g_assert_cmpstr (text_of (&read, read.top), ==, "ok");
  read_done (&read);
}

/* Longer than the stream's window, from a file, so that it is gathered in pieces. */
static void
test_long_text (void)
{
  g_autofree char *path = NULL;
  GByteArray *to = pickle_new (4);
  size_t n_bytes = 3 * TESSERA_STREAM_WINDOW_BYTES + 17;
  Read read = { 0 };
  int fd = g_file_open_tmp ("tessera-XXXXXX", &path, NULL);

  g_assert_cmpint (fd, >=, 0);
  close (fd);
  put_bytes (to, "](", 2);
  put_op (to, 'X');
  put_number (to, n_bytes, 4);
  for (size_t i = 0; i < n_bytes; i++)
    put_op (to, 'a' + (int) (i % 23));
  put_op (to, 'K');
  put_op (to, 9);
  put_op (to, 'e');
  put_op (to, '.');
  g_assert_true (g_file_set_contents (path, (char *) to->data, to->len, NULL));
  OK (tessera_stream_open (path, NULL, &read.error, &read.stream));
  tessera_pickle_init (&read.pickle, read.stream, &read.error);
  OK (tessera_pickle_read (&read.pickle, &read.top));
  {
    const TesseraObject *list =
        tessera_heap_object (&read.pickle.heap, read.top, TESSERA_OBJECT_LIST);
    const char *text = text_of (&read, list->items[0]);

    g_assert_cmpuint (list->n_items, ==, 2);
    g_assert_cmpuint (strlen (text), ==, n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
      g_assert_cmpint (text[i], ==, 'a' + (int) (i % 23));
  }
  read_done (&read);
  g_byte_array_unref (to);
  g_assert_cmpint (g_remove (path), ==, 0);
}

static void
test_containers (void)
{
  Read read;
  const TesseraObject *list, *dict;
  uint64_t number;

  /* LIST, DICT, TUPLE1, TUPLE3, TUPLE, EMPTY_TUPLE, TUPLE2 of small and of other things.
   */
  READ (&read,
        "((K\x01K\x02l(K\x01K\x02"
        "dK\x05\x85K\x01K\x02K\x03\x87(K\x01K\x02K\x03K\x04t)K\x06K\x07\x86N\x88\x86l");
  OK (read.status);
  list = tessera_heap_object (&read.pickle.heap, read.top, TESSERA_OBJECT_LIST);
  g_assert_cmpuint (list->n_items, ==, 8);
  g_assert_cmpuint (
      tessera_heap_object (&read.pickle.heap, list->items[0], TESSERA_OBJECT_LIST)
          ->n_items,
      ==, 2);
  dict = tessera_heap_object (&read.pickle.heap, list->items[1], TESSERA_OBJECT_DICT);
  g_assert_cmpuint (dict->n_items, ==, 2);
  g_assert_true (tessera_heap_u64 (&read.pickle.heap, dict->items[1], &number));
  g_assert_cmpuint (number, ==, 2);
  for (int i = 2; i < 6; i++)
    g_assert_cmpuint (
        tessera_heap_object (&read.pickle.heap, list->items[i], TESSERA_OBJECT_LIST)
            ->n_items,
        ==, ((const size_t[]){ 1, 3, 4, 0 })[i - 2]);
  g_assert_cmpint (tessera_value_kind (list->items[6]), ==, TESSERA_VALUE_PAIR);
  g_assert_cmpint (tessera_value_kind (list->items[7]), ==, TESSERA_VALUE_OBJECT);
  read_done (&read);

  /* EMPTY_LIST APPEND, EMPTY_DICT SETITEM, empty APPENDS and SETITEMS, a FRAME. */
  READ (&read, "\x95\xff\xff\xff\xff\xff\xff\xff\xff](e}K\x01K\x02s(ua.");
  OK (read.status);
  list = tessera_heap_object (&read.pickle.heap, read.top, TESSERA_OBJECT_LIST);
  g_assert_cmpuint (list->n_items, ==, 1);
  read_done (&read);
}

static void
test_memo (void)
{
  static const char *const bodies[] = {
    "](K\x05K\x06\x86\x94h\x00h\x00"
    "e",
    "](K\x05K\x06\x86q\x00h\x00j\x00\x00\x00\x00"
    "e",
    "](K\x05K\x06\x86\x95\x00\x00\x00\x00\x00\x00\x00\x00r\x07\x00\x00\x00h\x07h\x07"
    "e",
  };
  static const size_t lengths[] = { 13, 17, 26 };

  for (size_t i = 0; i < G_N_ELEMENTS (bodies); i++)
    {
      Read read;
      const TesseraObject *list;

      read_body (&read, bodies[i], lengths[i]);
      OK (read.status);
      list = tessera_heap_object (&read.pickle.heap, read.top, TESSERA_OBJECT_LIST);
      g_assert_cmpuint (list->n_items, ==, 3);
      for (int k = 0; k < 3; k++)
        g_assert_cmpuint (
            list->items[k], ==,
            tessera_value_make (TESSERA_VALUE_PAIR, (uint64_t) 5 << 30 | 6));
      read_done (&read);
    }
}

/* Each must end with a sentence that holds the text. */
static const struct
{
  const char *body;
  size_t n_bytes;
  const char *says;
} refusals[] = {
  { "cos\nsystem\n", 11, "GLOBAL at byte 2: this file wants to build objects" },
  { "K\x01R", 3, "REDUCE at byte 4" },
  { "b", 1, "BUILD at byte 2" },
  { "(i", 2, "INST at byte 3" },
  { "(o", 2, "OBJ at byte 3" },
  { "\x81", 1, "NEWOBJ at byte 2" },
  { "\x92", 1, "NEWOBJ_EX at byte 2" },
  { "\x93", 1, "STACK_GLOBAL at byte 2" },
  { "\x82\x01", 2, "EXT1 at byte 2" },
  { "\x83\x01\x01", 3, "EXT2 at byte 2" },
  { "\x84\x01\x01\x01\x01", 5, "EXT4 at byte 2" },
  { "Px\n", 3, "PERSID at byte 2: this file refers to data outside" },
  { "K\x01Q", 3, "BINPERSID at byte 4" },
  { "\x97", 1, "NEXT_BUFFER at byte 2" },
  { "I5\n", 3, "INT at byte 2: this is the text form" },
  { "0", 1, "POP at byte 2" },
  { "B\x00\x00\x00\x00", 5, "BINBYTES at byte 2" },
  { "\xee", 1, "byte 2 is 0xee" },
  { "h\x00", 2, "BINGET at byte 2: it refers to a memo entry" },
  { "K\x01r\xff\xff\xff\x7f", 7, "LONG_BINPUT at byte 4" },
  { "u", 1, "SETITEMS at byte 2: there is no MARK" },
  { "e", 1, "APPENDS at byte 2: there is no MARK" },
  { "(K\x01u", 4, "SETITEMS at byte 5: there is no dict" },
  { "(K\x01"
    "e",
    4, "APPENDS at byte 5: there is no list" },
  { "K\x01(K\x01"
    "e",
    6, "APPENDS at byte 7: there is no open list" },
  { "}(K\x01u", 5, "SETITEMS at byte 6: a key has no value" },
  { "(K\x01"
    "d",
    4, "DICT at byte 5: a key has no value" },
  { "](K\x01K\x02K\x03s", 9, "SETITEM at byte 10: there is no open dict" },
  { "a", 1, "APPEND at byte 2" },
  { "s", 1, "SETITEM at byte 2" },
  { "K\x01(s", 4, "SETITEM at byte 5" },
  { "t", 1, "TUPLE at byte 2" },
  { "\x86", 1, "TUPLE2 at byte 2" },
  { "\x94", 1, "MEMOIZE at byte 2: there is nothing" },
  { "", 0, "STOP at byte 2: the data is not finished" },
  { "K\x01K\x02", 4, "STOP at byte 6: the data is not finished" },
  { "K\x01(", 3, "STOP at byte 5: the data is not finished" },
  { "\x8a\x09\0\0\0\0\0\0\0\0\x01", 11, "LONG1 at byte 2: a number beyond 64 bits" },
  { "\x8a\x0a\0\0\0\0\0\0\0\0\0\x01", 12, "LONG1 at byte 2: a number beyond 64 bits" },
  { "\x8a\x0b\xff\xff\xff\xff\xff\xff\xff\x7f\xff\xff\x7f", 13,
    "LONG1 at byte 2: a number" },
  { "\x8b\xff\xff\xff\xff\x01", 6, "LONG4 at byte 2: a number of negative length" },
  /* Lengths that are only claimed. */
  { "\x8d\x00\x00\x00\x00\x00\x00\x00\x80ok", 11,
    "BINUNICODE8 at byte 2: a text of more" },
  { "X\xff\xff\xff\x0fok", 7, "in the middle of its data" },
  /* Of }, 1, mark, 2 a dict's item would take two values from below the mark. */
  { "}K\x01(K\x02s", 7, "SETITEM at byte 8" },
  { "\x80\x06", 2, "PROTO at byte 2: only pickle protocols 2 to 5" },
  { "\x80\x01", 2, "PROTO at byte 2" },
};

static void
test_refusals (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (refusals); i++)
    {
      Read read;

      read_body (&read, refusals[i].body, refusals[i].n_bytes);
      g_assert_cmpint (read.status, ==, TESSERA_BAD_INPUT);
      test_says (&read.error, refusals[i].says);
      read_done (&read);
    }
}

/* Every byte alone ends in order. */
static void
test_each_byte (void)
{
  for (int byte = 0; byte < 256; byte++)
    {
      uint8_t file[] = { 0x80, 4, (uint8_t) byte };
      Read read;

      read_bytes (&read, file, sizeof file);
      g_assert_cmpint (read.status, !=, TESSERA_OK);
      read_done (&read);
    }
}

static void
test_cycles (void)
{
  Read read;

  /* A list and a dict that hold themselves: read, and nobody walks them. */
  READ (&read, "]\x94(h\x00K\x01"
               "e");
  OK (read.status);
  g_assert_cmpuint (tessera_heap_length (tessera_heap_object (&read.pickle.heap, read.top,
                                                              TESSERA_OBJECT_LIST)),
                    ==, 2);
  read_done (&read);
  READ (&read, "}\x94(K\x01h\x00u");
  OK (read.status);
  read_done (&read);
}

static void
test_nesting (void)
{
  GByteArray *to = pickle_new (4);
  Read read;

  for (int i = 0; i < 3 * TESSERA_PICKLE_MAX_NESTING; i++)
    put_bytes (to, "](", 2);
  read_bytes (&read, to->data, to->len);
  g_assert_cmpint (read.status, ==, TESSERA_BAD_INPUT);
  g_assert_nonnull (strstr (read.error.text, "nested more than 10000 deep"));
  read_done (&read);
  g_byte_array_unref (to);

  /* Deep nesting without marks takes memory by the byte, and no stack of ours. */
  to = pickle_new (4);
  for (int i = 0; i < 50000; i++)
    put_op (to, ']');
  for (int i = 1; i < 50000; i++)
    put_op (to, 'a');
  put_op (to, '.');
  read_bytes (&read, to->data, to->len);
  OK (read.status);
  read_done (&read);
  g_byte_array_unref (to);
}

/* What a byte or two make would take many times their file's size. */
static void
test_piles (void)
{
  static const char *const piles[] = {
    "N", "]", "}", "]Na", "}NNs", ")\x94", "J\xff\xff\xff\xffK\x01\x86"
  };

  for (size_t i = 0; i < G_N_ELEMENTS (piles); i++)
    {
      g_autoptr (GByteArray) to = pickle_new (4);
      Read read;

      put_op (to, '(');
      while (to->len < TESSERA_PICKLE_FREE_BYTES)
        put_bytes (to, piles[i], strlen (piles[i]));
      put_op (to, 't');
      put_op (to, '.');
      read_bytes (&read, to->data, to->len);
      g_assert_cmpint (read.status, ==, TESSERA_BAD_INPUT);
      g_assert_nonnull (
          strstr (read.error.text, "at once than a snapshot of that length"));
      read_done (&read);
    }
}

/* Turns dicts with the key 1 into records, numbered. */
static TesseraStatus
number_dict (void *user,
             TesseraPickle *pickle,
             const TesseraValue *pairs,
             size_t n_pairs,
             TesseraValue *out_value)
{
  uint32_t *n = user;

  if (n_pairs > 0 && pairs[0] == tessera_value_make (TESSERA_VALUE_INT, 1))
    *out_value = tessera_value_record (3, (*n)++, 1);
  return TESSERA_OK;
}

/* Records replace their dicts on the stack, in the memo and in shared places, and a list
 * of a thousand is one value. */
static void
test_records (void)
{
  g_autoptr (GByteArray) to = pickle_new (4);
  Read read = { 0 };
  uint32_t n_records = 0;
  const TesseraObject *list;

  put_bytes (to, "](", 2);
  for (int i = 0; i < 1000; i++)
    put_bytes (to, "}\x94(K\x01K\x02u", 8);
  put_bytes (to, "h\x05", 2);        /* the sixth again */
  put_bytes (to, "}K\x01K\x02s", 6); /* by SETITEM: when it is appended */
  put_op (to, 'e');
  put_op (to, '.');
  read.stream = test_stream (to->data, to->len);
  tessera_pickle_init (&read.pickle, read.stream, &read.error);
  read.pickle.dict_done = number_dict;
  read.pickle.user = &n_records;
  OK (tessera_pickle_read (&read.pickle, &read.top));
  g_assert_cmpuint (n_records, ==, 1001);
  list = tessera_heap_object (&read.pickle.heap, read.top, TESSERA_OBJECT_LIST);
  g_assert_cmpuint (list->n_items, ==, 3);
  g_assert_cmpuint (list->items[0], ==, tessera_value_record (3, 0, 1000));
  g_assert_cmpuint (list->items[1], ==, tessera_value_record (3, 5, 1));
  g_assert_cmpuint (list->items[2], ==, tessera_value_record (3, 1000, 1));
  g_assert_cmpuint (tessera_heap_length (list), ==, 1002);
  /* A handful of slots served them all. */
  g_assert_cmpuint (read.pickle.heap.n_objects, <, 8);
  read_done (&read);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pickle/numbers", test_numbers);
  g_test_add_func ("/pickle/large-numbers", test_large_numbers);
  g_test_add_func ("/pickle/float-and-constants", test_float_and_constants);
  g_test_add_func ("/pickle/texts", test_texts);
  g_test_add_func ("/pickle/long-text", test_long_text);
  g_test_add_func ("/pickle/containers", test_containers);
  g_test_add_func ("/pickle/memo", test_memo);
  g_test_add_func ("/pickle/refusals", test_refusals);
  g_test_add_func ("/pickle/each-byte", test_each_byte);
  g_test_add_func ("/pickle/cycles", test_cycles);
  g_test_add_func ("/pickle/nesting", test_nesting);
  g_test_add_func ("/pickle/piles", test_piles);
  g_test_add_func ("/pickle/records", test_records);
  return g_test_run ();
}
