/*
 * libstdc++ throws for us: C cannot, but an exception passes through C that was compiled
 * with -fexceptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/throw.h"

#include <dlfcn.h>

#include "runtime/notice.h"

/* std::__throw_runtime_error (const char *) */
#define THROWER "_ZSt21__throw_runtime_errorPKc"

void
tessera_throw (const char *text)
{
  void *found = dlsym (RTLD_DEFAULT, THROWER), *library;
  void (*thrower) (const char *text);

  if (found == NULL)
    {
      /* It is there, but loaded for somebody else's eyes only. */
      library = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
      if (library != NULL)
        found = dlsym (library, THROWER);
    }
  if (found == NULL)
    {
      tessera_notice ("%s (No exception could be raised: the process has no libstdc++.)",
                      text);
      return;
    }
  *(void **) &thrower = found;
  thrower (text);
}
