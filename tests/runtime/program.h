/*
 * For tests: a process that trains nothing, through the same calls that PyTorch makes.
 *
 * Each test runs in a process of its own, since the library starts once: see
 * PROGRAM_RUN_CHILD(). A failed allocation is caught: the test's program has a thrower of
 * its own in libstdc++'s place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "runtime/tessera.h"

#include "db/trace.h"
#include "tests/planner/auto.h"

#include <glib.h>

/* The text of the exception if the allocation threw one, else NULL. */
const char *program_alloc (ssize_t size, uintptr_t stream, void **out_ptr);
void *program_must_alloc (ssize_t size, uintptr_t stream);
void program_free (void *ptr, uintptr_t stream);

#define PROGRAM_MAX_STREAMS 256
/* The handle of a stream, made when first asked for; 0 is the default stream. */
uintptr_t program_stream (guint index);
/* cudaMemcpy(), either way. */
void program_copy (void *to, const void *from, gsize n_bytes);
/* Gives the stream work to do, on the null CUDA's clock. */
void program_delay (uintptr_t stream, double ns);
/* So many requests for device memory are refused, the @nth from now first. */
void program_refuse (unsigned long nth, unsigned long n);
/* The stream begins to capture a graph, behind the library's back, or ends it. */
void program_capture (uintptr_t stream, gboolean begins);

/* Settings as key, value ... NULL; then the start, which must succeed. */
void program_start (const char *key, ...) G_GNUC_NULL_TERMINATED;
/* All notices so far, a line each. Free with g_free(). */
char *program_notices (void);
/* No notice came; or one did, with all of these words. */
void program_assert_quiet (void);
void program_assert_noticed (const char *word, ...) G_GNUC_NULL_TERMINATED;
TesseraDeviceStats program_stats (void);

typedef struct
{
  GRand *rand;
  guint n_requests;
  guint n_streams;     /* 1: default stream only */
  double side_uses;    /* share of blocks that are used on another stream too */
  double empty_caches; /* per request */
  gsize most_bytes;    /* of blocks alive at once */
} Program;
/* Random requests and frees; leaves nothing alive. */
void program_run (const Program *program);

/* A file of this test, in a folder of its own that its child processes know too. */
const char *program_file (const char *name);
TesseraTrace *program_load (const char *name); /* of its only device */
TesseraTrace *program_load_device (const char *name, guint32 device);
/* A plan for what @device did; it can be followed. */
void program_plan (const char *recording, guint32 device, const char *plan);
/* Blocks that live at once share no address, whoever handed them out. */
void program_assert_no_overlap (const TesseraTrace *trace);
/* All that the recording @name says, replayed: every address and segment the same. */
void program_verify (const char *name, guint n_requests);

/* g_test_init() and the folder; the end of it. */
void program_init (int *argc, char ***argv);
int program_finish (void);

/* A part of a test that wants a process of its own. It is added once in main() and run by
 * name from the test; it must succeed. */
#define PROGRAM_ADD_CHILD(body) g_test_add_func ("/subprocess/" #body, body)
#define PROGRAM_RUN_CHILD(body) program_run_child ("/subprocess/" #body)
/* A test that is one child. */
#define PROGRAM_TEST_CHILD(path, body)                                                   \
  (PROGRAM_ADD_CHILD (body),                                                             \
   g_test_add_data_func ((path), "/subprocess/" #body, program_run_child))
void program_run_child (gconstpointer path);
