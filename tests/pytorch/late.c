/*
 * Autograd's thread, held up for LATE_US microseconds whenever it has told another one something: what a
 * loaded machine does to it by chance. To be preloaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__ ((visibility ("default"))) int
pthread_cond_signal (pthread_cond_t *cond)
{
  int (*real) (pthread_cond_t *) = (int (*) (pthread_cond_t *)) dlvsym (
      RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
  int failed = real != NULL ? real (cond) : -1;
  char name[16] = "";
  const char *late = getenv ("LATE_US");

  if (pthread_getname_np (pthread_self (), name, sizeof name) == 0 &&
      strncmp (name, "pt_autograd", 11) == 0)
    usleep (late != NULL ? (useconds_t) atoi (late) : 0);
  return failed;
}
