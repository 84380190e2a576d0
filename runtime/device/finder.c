/*
 * Asking Python for a thread's module, and the ranges that the answers open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/finder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tessera.h"

enum
{
  NAME_BYTES = 256
};

typedef struct Inferred Inferred;

/* One for each thread that was ever asked for, until the thread ends. */
struct Inferred
{
  char name[NAME_BYTES];  /* its thread's only */
  _Atomic uint32_t range; /* whoever takes it away ends it; TESSERA_NONE: closed */
  Inferred *next, **link; /* under lock */
};

typedef const char *(*Finder) (void);

static _Atomic (Finder) finder;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Inferred *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* ends with the thread */
static bool has_key;
static __thread bool is_asking; /* Python may free tensors while it is asked */

/* Of the interpreter in this process, or all NULL. */
static struct
{
  int (*is_initialized) (void);
  int (*is_finalizing) (void);
  int (*ensure) (void);
  void (*release) (int state);
} python;

static void
look_up (void *out_function, const char *name, const char *older_name)
{
  void *found = dlsym (RTLD_DEFAULT, name);

  if (found == NULL && older_name != NULL)
    found = dlsym (RTLD_DEFAULT, older_name);
  *(void **) out_function = found;
}

static void
forget (void *user)
{
  Inferred *mine = user;

  pthread_mutex_lock (&lock);
  *mine->link = mine->next;
  if (mine->next != NULL)
    mine->next->link = mine->link;
  pthread_mutex_unlock (&lock);
  free (mine);
}

static void
set_up (void)
{
  has_key = pthread_key_create (&key, forget) == 0;
  look_up (&python.is_initialized, "Py_IsInitialized", NULL);
  look_up (&python.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing");
  look_up (&python.ensure, "PyGILState_Ensure", NULL);
  look_up (&python.release, "PyGILState_Release", NULL);
}

static Inferred *
mine_or_null (void)
{
  pthread_once (&once, set_up);
  return has_key ? pthread_getspecific (key) : NULL;
}

static Inferred *
get_mine (void)
{
  Inferred *mine = mine_or_null ();

  if (mine != NULL || !has_key)
    return mine;
  mine = calloc (1, sizeof *mine);
  if (mine == NULL || pthread_setspecific (key, mine) != 0)
    {
      free (mine);
      return NULL;
    }
  atomic_init (&mine->range, TESSERA_NONE);
  pthread_mutex_lock (&lock);
  mine->next = all;
  mine->link = &all;
  if (all != NULL)
    all->link = &mine->next;
  all = mine;
  pthread_mutex_unlock (&lock);
  return mine;
}

/* Returns: false where there is no name. A process without Python is asked as it is. */
static bool
ask (Finder find, char *out_name)
{
  const char *name;
  int state = 0;

  out_name[0] = '\0';
  if (python.ensure != NULL && python.release != NULL)
    {
      if ((python.is_initialized != NULL && !python.is_initialized ()) ||
          (python.is_finalizing != NULL && python.is_finalizing ()))
        return false;
      state = python.ensure ();
    }
  name = find ();
  if (name != NULL)
    snprintf (out_name, NAME_BYTES, "%s", name);
  if (python.ensure != NULL && python.release != NULL)
    python.release (state);
  return out_name[0] != '\0';
}

static void
close_range (TesseraRecorder *recorder, Inferred *inferred)
{
  uint32_t range = atomic_exchange (&inferred->range, TESSERA_NONE);

  if (range != TESSERA_NONE && recorder != NULL)
    tessera_recorder_range_end (recorder, range);
}

void
tessera_finder_ask (TesseraRecorder *recorder)
{
  Finder find = atomic_load_explicit (&finder, memory_order_acquire);
  char name[NAME_BYTES];
  Inferred *mine;
  bool has_name;

  if (find == NULL || is_asking || tessera_module_depth () != 0 ||
      (mine = get_mine ()) == NULL)
    return;
  is_asking = true;
  has_name = ask (find, name);
  is_asking = false;
  if (has_name && atomic_load (&mine->range) != TESSERA_NONE &&
      strcmp (mine->name, name) == 0)
    return;
  close_range (recorder, mine);
  if (!has_name)
    return;
  strcpy (mine->name, name);
  atomic_store (&mine->range, tessera_recorder_range_begin (
                                  recorder, TESSERA_RANGE_MODULE, name, true));
}

void
tessera_finder_close_mine (TesseraRecorder *recorder)
{
  Inferred *mine = mine_or_null ();

  if (mine != NULL)
    close_range (recorder, mine);
}

void
tessera_finder_close_all (TesseraRecorder *recorder)
{
  pthread_mutex_lock (&lock);
  for (Inferred *inferred = all; inferred != NULL; inferred = inferred->next)
    close_range (recorder, inferred);
  pthread_mutex_unlock (&lock);
}

void
tessera_finder_after_fork (void)
{
  pthread_mutex_init (&lock, NULL);
  atomic_store (&finder, NULL);
}

void
tessera_set_module_finder (const char *(*find) (void) )
{
  atomic_store_explicit (&finder, find, memory_order_release);
}
