/*
 * Sentences for a person, the last error of each thread, and exceptions.
 *
 * C cannot throw: PyTorch's own OutOfMemoryError is built by its base's constructor, which
 * libc10 exports, a runtime_error is thrown for us by libstdc++. Either passes through C that was
 * compiled with -fexceptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tessera.h"

enum
{
  MAX_NOTICES = 64
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char notices[MAX_NOTICES][TESSERA_ERROR_TEXT_BYTES]; /* all ever said */
static size_t n_notices, n_taken;

static __thread char last_error[TESSERA_ERROR_TEXT_BYTES];

void
tessera_notice (const char *format, ...)
{
  char text[TESSERA_ERROR_TEXT_BYTES];
  va_list arguments;
  size_t i = 0;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  pthread_mutex_lock (&lock);
  while (i < n_notices && strcmp (notices[i], text) != 0)
    i++;
  if (i == n_notices && n_notices < MAX_NOTICES)
    strcpy (notices[n_notices++], text);
  pthread_mutex_unlock (&lock);
}

size_t
tessera_take_notice (char *out_text, size_t n_bytes)
{
  size_t length = 0;

  if (n_bytes == 0)
    return 0;
  out_text[0] = '\0';
  pthread_mutex_lock (&lock);
  if (n_taken < n_notices)
    {
      snprintf (out_text, n_bytes, "%s", notices[n_taken++]);
      length = strlen (out_text);
    }
  pthread_mutex_unlock (&lock);
  return length;
}

void
tessera_notice_after_fork (void)
{
  pthread_mutex_init (&lock, NULL);
}

int
tessera_set_last_error (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (last_error, sizeof last_error, format, arguments);
  va_end (arguments);
  return -1;
}

const char *
tessera_last_error (void)
{
  return last_error;
}

/* std::__throw_runtime_error (const char *) */
#define THROWER "_ZSt21__throw_runtime_errorPKc"

/* c10::OutOfMemoryError is c10::Error with tables of its own, which libc10_cuda has up to
 * PyTorch 2.12 and libc10 later; the constructor is c10::Error (SourceLocation, std::string). */
#define OUT_OF_MEMORY "N3c1016OutOfMemoryErrorE"
#define CONSTRUCTOR                                                                      \
  "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_"             \
  "traitsIcESaIcEEE"

/* More than it ever took: 200 bytes in PyTorch 2.15. */
#define EXCEPTION_BYTES 1024

/* c10::SourceLocation, and a std::string whose text does not lie inside. */
typedef struct
{
  const char *function, *file;
  uint32_t line;
} SourceLocation;

typedef struct
{
  char *text;
  size_t n_bytes;
  union
  {
    size_t capacity;
    char inside[16];
  } room;
} String;

/* What it takes to throw c10::OutOfMemoryError. */
typedef struct
{
  void *type;
  void **table; /* two words, then the virtual functions */
  void (*construct) (void *exception, SourceLocation from, String *text);
  void *(*new_exception) (size_t n_bytes);
  void (*throw_it) (void *exception, void *type, void (*destroy) (void *exception));
  void *(*new_text) (size_t n_bytes);
  void (*delete_text) (void *text);
} Thrower;

/* What was found, under the process's lock, before anybody throws. */
static Thrower out_of_memory;
static bool has_out_of_memory;
static void (*runtime_error) (const char *text);

/* As PyTorch sees it: what stands before all others (another operator new), else what
 * its library has, which may be loaded for its own eyes only. */
static void *
find_in (const char *library_name, const char *name)
{
  void *found = dlsym (RTLD_DEFAULT, name), *library;

  if (found != NULL)
    return found;
  library = dlopen (library_name, RTLD_LAZY | RTLD_NOLOAD);
  return library != NULL ? dlsym (library, name) : NULL;
}

static bool
find_thrower (Thrower *thrower)
{
  const char *owner = find_in ("libc10.so", "_ZTV" OUT_OF_MEMORY) != NULL
                          ? "libc10.so"
                          : "libc10_cuda.so";
  const struct
  {
    void *to;
    const char *library, *name;
  } wanted[] = {
    { &thrower->type, owner, "_ZTI" OUT_OF_MEMORY },
    { &thrower->table, owner, "_ZTV" OUT_OF_MEMORY },
    { &thrower->construct, "libc10.so", CONSTRUCTOR },
    { &thrower->new_exception, "libstdc++.so.6", "__cxa_allocate_exception" },
    { &thrower->throw_it, "libstdc++.so.6", "__cxa_throw" },
    { &thrower->new_text, "libstdc++.so.6", "_Znwm" },
    { &thrower->delete_text, "libstdc++.so.6", "_ZdlPv" },
  };

  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    {
      void *found = find_in (wanted[i].library, wanted[i].name);

      if (found == NULL)
        return false;
      memcpy (wanted[i].to, &found, sizeof found);
    }
  return true;
}

/* The first function of every table of a class with a virtual destructor. */
static void
destroy (void *exception)
{
  void (**table) (void *exception) = *(void (***) (void *)) exception;

  table[0](exception);
}

void
tessera_throw_prepare (void)
{
  void *found = find_in ("libstdc++.so.6", THROWER);

  memcpy (&runtime_error, &found, sizeof found);
  has_out_of_memory = find_thrower (&out_of_memory);
}

static void
throw_out_of_memory (const Thrower *thrower, const char *text)
{
  String string = { .n_bytes = strlen (text) };
  void *exception;

  /* Zeros are sane members, should the class ever have some of its own. */
  exception = memset (thrower->new_exception (EXCEPTION_BYTES), 0, EXCEPTION_BYTES);
  string.room.capacity = string.n_bytes;
  string.text = thrower->new_text (string.n_bytes + 1);
  memcpy (string.text, text, string.n_bytes + 1);
  thrower->construct (exception, (SourceLocation){ __func__, __FILE__, __LINE__ },
                      &string);
  *(void ***) exception = thrower->table + 2;
  if (string.text != string.room.inside) /* not taken over */
    thrower->delete_text (string.text);
  thrower->throw_it (exception, thrower->type, destroy);
}

void
tessera_throw (const char *text)
{
  if (has_out_of_memory)
    throw_out_of_memory (&out_of_memory, text);
  if (runtime_error != NULL)
    runtime_error (text);
  tessera_notice ("%s (No exception could be raised: the process has no libstdc++.)",
                  text);
}
