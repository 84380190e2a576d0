/*
 * The Python stack of the calling thread: private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/hash.h"

/* The innermost of a deeper stack. */
#define MOST_FRAMES 256
/* Code that is made anew for ever is looked up each time from here on, and not kept. */
#define MOST_KNOWN ((size_t) 1 << 18)
/* In the place of a frame that is left out. */
#define LEFT_OUT (TESSERA_NONE - 1)

/* Opaque: PyObject, PyFrameObject, PyCodeObject, PyThreadState. */
typedef struct Object Object;

typedef struct
{
  int (*is_initialized) (void);
  int (*is_finalizing) (void);
  Object *(*this_thread) (void);
  int (*ensure) (void); /* PyGILState_STATE is an enum */
  void (*release) (int state);
  Object *(*current_frame) (void);       /* borrowed */
  Object *(*frame_code) (Object *frame); /* owned, never NULL */
  Object *(*frame_back) (Object *frame); /* owned or NULL */
  int (*frame_line) (Object *frame);
  int (*frame_instruction) (Object *frame);                /* NULL before 3.11 */
  Object *(*attribute) (Object *object, const char *name); /* owned or NULL */
  const char *(*text) (Object *object);                    /* borrowed or NULL */
  void (*increase) (Object *object);
  void (*decrease) (Object *object); /* NULL is fine */
  void (*fetch_error) (Object **type, Object **value, Object **trace);
  void (*restore_error) (Object *type, Object *value, Object *trace);
} Api;

typedef struct
{
  const Object *code;
  int at; /* instruction, or line */
} Place;

typedef struct
{
  Place place;
  uint32_t frame;
} Known;

struct TesseraPython
{
  Api api;
  TesseraNames *names;
  pthread_mutex_t lock; /* guards the following; never held while Python runs */
  Known *known;
  size_t n_known, cap_known;
  TesseraIndex index;
};

static const struct
{
  size_t offset;
  const char *names[2]; /* the first there is */
  bool is_optional;
} functions[] = {
  { offsetof (Api, is_initialized), { "Py_IsInitialized" }, false },
  { offsetof (Api, is_finalizing), { "Py_IsFinalizing", "_Py_IsFinalizing" }, false },
  { offsetof (Api, this_thread), { "PyGILState_GetThisThreadState" }, false },
  { offsetof (Api, ensure), { "PyGILState_Ensure" }, false },
  { offsetof (Api, release), { "PyGILState_Release" }, false },
  { offsetof (Api, current_frame), { "PyEval_GetFrame" }, false },
  { offsetof (Api, frame_code), { "PyFrame_GetCode" }, false },
  { offsetof (Api, frame_back), { "PyFrame_GetBack" }, false },
  { offsetof (Api, frame_line), { "PyFrame_GetLineNumber" }, false },
  { offsetof (Api, frame_instruction), { "PyFrame_GetLasti" }, true },
  { offsetof (Api, attribute), { "PyObject_GetAttrString" }, false },
  { offsetof (Api, text), { "PyUnicode_AsUTF8" }, false },
  { offsetof (Api, increase), { "Py_IncRef" }, false },
  { offsetof (Api, decrease), { "Py_DecRef" }, false },
  { offsetof (Api, fetch_error), { "PyErr_Fetch" }, false },
  { offsetof (Api, restore_error), { "PyErr_Restore" }, false },
};

static bool
find_api (Api *api)
{
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    {
      void *found = dlsym (RTLD_DEFAULT, functions[i].names[0]);

      if (!found && functions[i].names[1])
        found = dlsym (RTLD_DEFAULT, functions[i].names[1]);
      if (!found && !functions[i].is_optional)
        return false;
      memcpy ((char *) api + functions[i].offset, &found, sizeof found);
    }
  return true;
}

TesseraPython *
tessera_python_new (TesseraNames *names)
{
  TesseraPython *python = calloc (1, sizeof *python);

  if (!python || !find_api (&python->api) ||
      pthread_mutex_init (&python->lock, NULL) != 0)
    {
      free (python);
      return NULL;
    }
  python->names = names;
  return python;
}

void
tessera_python_free (TesseraPython *python)
{
  if (!python)
    return;
  pthread_mutex_destroy (&python->lock);
  tessera_index_clear (&python->index);
  free (python->known);
  free (python);
}

static bool
known_equal (const void *owner, uint32_t index, const void *wanted)
{
  const Place *place = &((const TesseraPython *) owner)->known[index].place;
  const Place *want = wanted;

  return place->code == want->code && place->at == want->at;
}

/* Addresses and offsets: one multiplication mixes them enough for TesseraIndex. */
static uint64_t
hash_of (const Place *place)
{
  return ((uint64_t) (uintptr_t) place->code ^ (uint64_t) (uint32_t) place->at << 40) *
         TESSERA_HASH_PRIME;
}

static uint32_t
find (TesseraPython *python, const Place *place)
{
  uint32_t found, frame = TESSERA_NONE;

  pthread_mutex_lock (&python->lock);
  found =
      tessera_index_find (&python->index, hash_of (place), known_equal, python, place);
  if (found != TESSERA_NONE)
    frame = python->known[found].frame;
  pthread_mutex_unlock (&python->lock);
  return frame;
}

/* Returns: whether @place is known from now on; its code must then stay. */
static bool
remember (TesseraPython *python, const Place *place, uint32_t frame)
{
  bool is_new;

  pthread_mutex_lock (&python->lock);
  is_new = python->n_known < MOST_KNOWN &&
           tessera_index_find (&python->index, hash_of (place), known_equal, python,
                               place) == TESSERA_NONE &&
           TESSERA_RESERVE (python->known, python->cap_known, python->n_known + 1) &&
           tessera_index_reserve (&python->index);
  if (is_new)
    {
      python->known[python->n_known] = (Known){ .place = *place, .frame = frame };
      tessera_index_insert (&python->index, hash_of (place),
                            (uint32_t) python->n_known++);
    }
  pthread_mutex_unlock (&python->lock);
  return is_new;
}

static Object *
first_attribute (const Api *api, Object *code, const char *name, const char *other)
{
  Object *found = api->attribute (code, name);

  return found ? found : api->attribute (code, other);
}

/* What Tessera's Python package puts around the program's calls is none of its lines:
 * sources and installed, or a wheel. */
static bool
is_tessera (const char *file)
{
  return file &&
         (strstr (file, "/python/tessera/") || strstr (file, "-packages/tessera/"));
}

/* Nothing of Python's own may change: also an exception on its way stays. */
static uint32_t
resolve (TesseraPython *python, Object *frame, Object *code)
{
  const Api *api = &python->api;
  Object *type, *value, *trace, *name, *file;
  const char *path;
  uint32_t found;

  api->fetch_error (&type, &value, &trace);
  name = first_attribute (api, code, "co_qualname", "co_name");
  file = api->attribute (code, "co_filename");
  path = file ? api->text (file) : NULL;
  found = is_tessera (path)
              ? LEFT_OUT
              : tessera_names_frame (python->names, name ? api->text (name) : NULL, path,
                                     api->frame_line (frame));
  api->decrease (name);
  api->decrease (file);
  api->restore_error (type, value, trace);
  return found;
}

static uint32_t
look_up (TesseraPython *python, Object *frame)
{
  const Api *api = &python->api;
  Object *code = api->frame_code (frame);
  Place place = { .code = code };
  uint32_t found;

  place.at =
      api->frame_instruction ? api->frame_instruction (frame) : api->frame_line (frame);
  found = find (python, &place);
  if (found == TESSERA_NONE)
    {
      found = resolve (python, frame, code);
      if (found != TESSERA_NONE && remember (python, &place, found))
        return found; /* with the reference to its code */
    }
  api->decrease (code);
  return found;
}

static size_t
walk (TesseraPython *python, uint32_t *frames)
{
  const Api *api = &python->api;
  Object *frame = api->current_frame ();
  size_t n_frames = 0;

  if (frame)
    api->increase (frame);
  while (frame)
    {
      Object *back = NULL;

      frames[n_frames] = look_up (python, frame);
      n_frames += frames[n_frames] < LEFT_OUT;
      if (n_frames < MOST_FRAMES)
        back = api->frame_back (frame);
      api->decrease (frame);
      frame = back;
    }
  return n_frames;
}

uint32_t
tessera_python_stack (TesseraPython *python)
{
  const Api *api = &python->api;
  uint32_t frames[MOST_FRAMES];
  size_t n_frames;
  int state;

  /* A thread without a state of its own runs no Python: asking for the lock there would
   * make one, and could wait for the end of the process. */
  if (!api->is_initialized () || api->is_finalizing () || !api->this_thread ())
    return TESSERA_NONE;
  state = api->ensure ();
  n_frames = walk (python, frames);
  api->release (state);
  return n_frames ? tessera_names_stack (python->names, frames, n_frames) : TESSERA_NONE;
}
