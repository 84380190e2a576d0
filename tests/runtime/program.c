/*
 * For tests: random programs, caught exceptions, child processes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "db/store.h"
#include "planner/planner.h"
#include "simulator/verify/verify.h"
#include "tests/ok.h"

#define FOLDER_VARIABLE "TESSERA_TEST_FOLDER"

static __thread jmp_buf *catcher;
static __thread char caught[2048];

/* What libstdc++ exports under this name throws; this one jumps. */
void _ZSt21__throw_runtime_errorPKc (const char *text);

__attribute__ ((visibility ("default"))) void
_ZSt21__throw_runtime_errorPKc (const char *text)
{
  g_assert_nonnull (catcher);
  g_strlcpy (caught, text, sizeof caught);
  longjmp (*catcher, 1);
}

const char *
program_alloc (ssize_t size, uintptr_t stream, void **out_ptr)
{
  jmp_buf here;
  const char *volatile text = NULL;

  *out_ptr = NULL;
  catcher = &here;
  if (setjmp (here) == 0)
    *out_ptr = tessera_torch_alloc (size, 0, (void *) stream);
  else
    text = caught;
  catcher = NULL;
  return text;
}

void *
program_must_alloc (ssize_t size, uintptr_t stream)
{
  void *ptr;

  g_assert_cmpstr (program_alloc (size, stream, &ptr), ==, NULL);
  g_assert_nonnull (ptr);
  return ptr;
}

void
program_free (void *ptr, uintptr_t stream)
{
  /* The size that PyTorch passes may be that of an older block. */
  tessera_torch_free (ptr, 12345, 0, (void *) stream);
}

/* The null CUDA has the driver's functions and the runtime's, and some of its own. */
static gpointer
null_function (const char *name)
{
  gpointer library = dlopen ("libcuda.so.1", RTLD_LAZY);
  gpointer found = library != NULL ? dlsym (library, name) : NULL;

  if (found == NULL)
    g_error ("%s", dlerror ());
  return found;
}

uintptr_t
program_stream (guint index)
{
  /* Not GLib's: the thread sanitizer does not see through it. */
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static void *streams[PROGRAM_MAX_STREAMS];
  int (*create) (void **out_stream, unsigned flags);

  g_assert_cmpuint (index, <, PROGRAM_MAX_STREAMS);
  if (index == 0)
    return 0;
  pthread_mutex_lock (&lock);
  if (streams[index] == NULL)
    {
      create = null_function ("cudaStreamCreateWithFlags");
      g_assert_cmpint (create (&streams[index], 1), ==, 0); /* apart from the default */
    }
  void *stream = streams[index];
  pthread_mutex_unlock (&lock);
  return (uintptr_t) stream;
}

void
program_copy (void *to, const void *from, gsize n_bytes)
{
  int (*copy) (void *to, const void *from, size_t n_bytes, int kind) =
      null_function ("cudaMemcpy");

  g_assert_cmpint (copy (to, from, n_bytes, 4), ==, 0); /* 4: it knows the direction */
}

void
program_delay (uintptr_t stream, double ns)
{
  void (*delay) (void *stream, double ns) = null_function ("nullcuda_delay");

  delay ((void *) stream, ns);
}

void
program_refuse (unsigned long nth, unsigned long n)
{
  void (*refuse) (unsigned long nth, unsigned long n) = null_function ("nullcuda_refuse");

  refuse (nth, n);
}

void
program_capture (uintptr_t stream, gboolean begins)
{
  int (*begin) (void *stream, int mode) = null_function ("cudaStreamBeginCapture");
  int (*end) (void *stream, void **out_graph) = null_function ("cudaStreamEndCapture");
  void *graph;

  g_assert_cmpint (begins ? begin ((void *) stream, 2) : end ((void *) stream, &graph),
                   ==, 0);
}

void
program_start (const char *key, ...)
{
  va_list arguments;

  va_start (arguments, key);
  for (; key != NULL; key = va_arg (arguments, const char *))
    if (tessera_configure (key, va_arg (arguments, const char *)) != 0)
      g_error ("%s: %s", key, tessera_last_error ());
  va_end (arguments);
  if (tessera_start () != 0)
    g_error ("%s", tessera_last_error ());
  tessera_torch_init (1);
  tessera_torch_has_record_stream (1);
}

char *
program_notices (void)
{
  GString *all = g_string_new (NULL);
  char text[1024];

  while (tessera_take_notice (text, sizeof text) != 0)
    g_string_append_printf (all, "%s\n", text);
  return g_string_free (all, FALSE);
}

void
program_assert_quiet (void)
{
  g_autofree char *notices = program_notices ();

  g_assert_cmpstr (notices, ==, "");
}

void
program_assert_noticed (const char *word, ...)
{
  g_autofree char *notices = program_notices ();
  va_list words;

  g_assert_true (strchr (notices, '\n') == notices + strlen (notices) - 1);
  va_start (words, word);
  for (; word != NULL; word = va_arg (words, const char *))
    if (strstr (notices, word) == NULL)
      g_error ("no word of \"%s\": %s", word, notices);
  va_end (words);
}

TesseraDeviceStats
program_stats (void)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };

  g_assert_cmpint (tessera_get_stats (0, &stats), ==, 0);
  return stats;
}

typedef struct
{
  void *ptr;
  gsize size;
  uintptr_t stream;
} Live;

static gsize
draw_size (GRand *rand)
{
  static const double tops[] = { 2000, 1 << 20, (1 << 20) + 1000, 8 << 20, 30 << 20 };

  return (gsize) g_rand_double_range (rand, 1, tops[g_rand_int_range (rand, 0, 5)]);
}

static void
free_one (GArray *lives, guint index, gsize *used)
{
  Live live = g_array_index (lives, Live, index);

  g_array_remove_index_fast (lives, index);
  *used -= live.size;
  program_free (live.ptr, live.stream);
}

void
program_run (const Program *program)
{
  GArray *lives = g_array_new (FALSE, FALSE, sizeof (Live));
  GRand *rand = program->rand;
  gsize used = 0;

  for (guint i = 0; i < program->n_requests; i++)
    {
      Live live = { .size = draw_size (rand),
                    .stream = program_stream (
                        (guint) g_rand_int_range (rand, 0, (gint) program->n_streams)) };

      while (lives->len > 0 &&
             (used + live.size > program->most_bytes || g_rand_double (rand) < 0.47))
        free_one (lives, (guint) g_rand_int_range (rand, 0, (gint) lives->len), &used);
      live.ptr = program_must_alloc ((ssize_t) live.size, live.stream);
      used += live.size;
      g_array_append_val (lives, live);
      if (g_rand_double (rand) < program->side_uses)
        tessera_torch_record_stream (
            live.ptr, (void *) program_stream (
                          (guint) g_rand_int_range (rand, 0, (gint) program->n_streams)));
      if (g_rand_double (rand) < program->empty_caches)
        tessera_torch_empty_cache ();
    }
  while (lives->len > 0)
    free_one (lives, lives->len - 1, &used);
  g_array_free (lives, TRUE);
}

void
program_run_child (gconstpointer path)
{
  g_test_trap_subprocess (path, 0, G_TEST_SUBPROCESS_DEFAULT);
  g_test_trap_assert_passed ();
}

const char *
program_file (const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv (FOLDER_VARIABLE), name, NULL);

  return g_intern_string (path);
}

TesseraTrace *
program_load_device (const char *name, guint32 device)
{
  TesseraTrace *trace;

  WORKS (error, tessera_trace_load (program_file (name), device, NULL, &error, &trace));
  return trace;
}

TesseraTrace *
program_load (const char *name)
{
  return program_load_device (name, TESSERA_NONE);
}

void
program_plan (const char *recording, guint32 device, const char *name)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  g_autoptr (TesseraTrace) trace = program_load_device (recording, device);
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraError error = { 0 };
  g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);
  g_autoptr (TesseraStructure) structure = tessera_structure_new (trace, blocks);

  if (tessera_plan_trace (trace, blocks, structure, &options, &error, &plan) !=
          TESSERA_OK ||
      tessera_plan_save (plan, program_file (name), &error) != TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_YES);
}

static void
assert_alone (const TesseraTrace *trace, gsize born_index)
{
  const TesseraEvent *born = &trace->events[born_index];

  for (gsize i = born_index + 1; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      if (event->action == TESSERA_FREE_COMPLETED && event->addr == born->addr)
        return;
      if (event->action == TESSERA_ALLOC)
        g_assert_true (event->addr >= born->addr + born->size_bytes ||
                       born->addr >= event->addr + event->size_bytes);
    }
}

void
program_assert_no_overlap (const TesseraTrace *trace)
{
  for (gsize i = 0; i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_ALLOC)
      assert_alone (trace, i);
}

void
program_verify (const char *name, guint n_requests)
{
  g_autoptr (TesseraTrace) trace = program_load (name);
  TesseraVerification verification;

  OK (tessera_verify (trace, NULL, &verification));
  g_assert_cmpstr (verification.difference, ==, "");
  g_assert_cmpuint (verification.addresses, ==, n_requests);
  g_assert_cmpuint (verification.addresses_right, ==, n_requests);
  g_assert_cmpuint (verification.segments_right, ==, verification.segments);
  g_assert_cmpuint (verification.final_right, ==, verification.final_blocks);
  tessera_verification_clear (&verification);
}

static char *own_folder; /* made by this process, to be removed by it */

void
program_init (int *argc, char ***argv)
{
  if (g_getenv (FOLDER_VARIABLE) == NULL)
    {
      own_folder = g_dir_make_tmp ("tessera-XXXXXX", NULL);
      g_assert_nonnull (own_folder);
      g_setenv (FOLDER_VARIABLE, own_folder, TRUE);
    }
  g_test_init (argc, argv, NULL);
}

int
program_finish (void)
{
  int result = g_test_run ();

  if (own_folder != NULL)
    {
      GDir *folder = g_dir_open (own_folder, 0, NULL);

      for (const char *name = g_dir_read_name (folder); name != NULL;
           name = g_dir_read_name (folder))
        g_unlink (program_file (name));
      g_dir_close (folder);
      g_rmdir (own_folder);
    }
  return result;
}
