/* See program.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <string.h>

/* Does not import torch, which takes seconds: its package says what it was built for. */
#define LOOK_FOR_PYTORCH                                                                 \
  "import importlib.util, pathlib, re\n"                                                 \
  "spec = importlib.util.find_spec('torch')\n"                                           \
  "if spec is None or spec.origin is None:\n"                                            \
  "    print('none')\n"                                                                  \
  "else:\n"                                                                              \
  "    text = (pathlib.Path(spec.origin).parent / 'version.py').read_text()\n"           \
  "    cuda = re.search(r'^cuda\\b[^=]*=\\s*(.*)$', text, re.M)\n"                       \
  "    print('cpu' if cuda and cuda.group(1).strip() == 'None' else 'cuda')\n"

char *
cli_program_name (char **program)
{
  for (size_t i = 1; program[i] != NULL; i++)
    {
      if (strcmp (program[i], "-m") == 0 && program[i + 1] != NULL)
        return g_strdup (program[i + 1]);
      if (g_str_has_suffix (program[i], ".py"))
        {
          g_autofree char *base = g_path_get_basename (program[i]);
          return g_strndup (base, strlen (base) - strlen (".py"));
        }
    }
  return g_path_get_basename (program[0]);
}

const char *
cli_program_launcher (char **program)
{
  static const char *const launchers[] = { "torchrun", "accelerate", "deepspeed",
                                           "mpirun",   "mpiexec",    "srun",
                                           NULL };
  static const char *const modules[] = { "torch.distributed.run",
                                         "torch.distributed.launch",
                                         "accelerate.commands.launch", NULL };
  g_autofree char *base = g_path_get_basename (program[0]);

  if (g_strv_contains (launchers, base))
    return program[0];
  for (size_t i = 1; program[i] != NULL; i++)
    {
      g_autofree char *argument = g_path_get_basename (program[i]);
      if (g_strv_contains (launchers, argument) || g_strv_contains (modules, program[i]))
        return program[i];
      /* What follows the script is the script's own. */
      if (g_str_has_suffix (program[i], ".py") || strcmp (program[i - 1], "-m") == 0)
        break;
    }
  return NULL;
}

TesseraStatus
cli_program_check (char **program, TesseraError *error)
{
  g_autofree char *base = g_path_get_basename (program[0]);
  g_autofree char *output = NULL;
  g_autoptr (GError) problem = NULL;
  char *look[] = { program[0], "-c", LOOK_FOR_PYTORCH, NULL };

  if (!g_str_has_prefix (base, "python"))
    return TESSERA_OK;
  g_autofree char *shown = g_filename_display_name (program[0]);
  if (!g_spawn_sync (NULL, look, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                     NULL, NULL, &output, NULL, NULL, &problem))
    return tessera_fail (error, TESSERA_IO,
                         "%s does not start: %s; name the Python that has PyTorch", shown,
                         problem->message);
  g_strstrip (output);
  if (strcmp (output, "none") == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has no PyTorch: %s -m pip install torch, or name the Python "
                         "that has it",
                         shown, shown);
  if (strcmp (output, "cpu") == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "the PyTorch of %s is built without CUDA, so nothing would ask "
                         "for memory of a GPU: install the build for CUDA (on Linux: pip "
                         "install torch, from PyPI)",
                         shown);
  return TESSERA_OK;
}
