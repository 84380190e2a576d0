/* See array.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/array.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>

#include "cli/job.h"

/* For the shell, in which $i is the cell. */
static void
write_task (
    const char *folder, const char *tessera, const char *name, gint world, char **program)
{
  g_autofree char *path = g_build_filename (folder, "task", NULL);
  g_autofree char *quoted_folder = g_shell_quote (folder);
  g_autofree char *braced = g_strdup_printf ("{%s}", name);
  g_autoptr (GString) words = g_string_new (NULL);
  g_autoptr (GError) problem = NULL;

  for (char **word = program; *word != NULL; word++)
    {
      g_autofree char *quoted = g_shell_quote (*word);
      g_string_append_printf (words, " %s", quoted);
    }
  g_string_replace (words, braced, "'\"$i\"'", 0);
  g_autofree char *rank = g_strdup_printf (" --world %d --rank \"$i\"", world);
  g_autofree char *text = g_strdup_printf (
      "#!/bin/sh\n# The dry run of one %s: of this array's task, or: sh task N\n"
      "i=${1:-$SLURM_ARRAY_TASK_ID}\nexec %s dry-run%s --events 0 -o %s/%s-$i.tsr --%s\n",
      name, tessera, world > 0 ? rank : "", quoted_folder, name, words->str);
  if (g_mkdir_with_parents (folder, 0777) != 0)
    cli_fail_with ("%s cannot be made: %s", folder, g_strerror (errno));
  if (!g_file_set_contents (path, text, -1, &problem))
    cli_fail_with ("%s", problem->message);
}

int
cli_array (
    gboolean is_slurm, gboolean submits, const char *cells, gint world, char **words)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *tessera = g_shell_quote (self != NULL ? self : "tessera");
  g_autofree char *folder = g_canonicalize_filename (words[0], NULL);
  g_autofree char *in = g_shell_quote (folder);
  g_autofree char *answer = g_strdup_printf ("%s job %s", tessera, in);
  g_autofree char *wrapped = g_shell_quote (answer);
  g_auto (GStrv) parts = g_strsplit_set (cells, "=", 2);
  char **program = words + 1;

  if (*program != NULL && g_str_equal (*program, "--"))
    program++;
  if (*program == NULL ||
      !g_regex_match_simple ("^[A-Za-z_]\\w*=(\\d+\\.\\.\\d+|\\d+(,\\d+)*)$", cells, 0,
                             0))
    cli_usage ("say what to run: --world 64 DIR -- python train.py, or --sweep "
               "batch=1,2,4 DIR -- python train.py --batch {batch}");
  write_task (folder, tessera, parts[0], world, program);

  g_autoptr (GString) values = g_string_new (parts[1]);
  const gboolean is_range = g_string_replace (values, "..", is_slurm ? "-" : " ", 0) > 0;
  g_string_replace (values, ",", is_slurm ? "," : " ", 0);
  g_autofree char *line =
      is_slurm
          ? g_strdup_printf ("array=$(sbatch --parsable --array=%s --output=%s/%%a.log "
                             "%s/task) && sbatch --dependency=afterany:${array%%%%;*} "
                             "--output=%s/answer.txt --wrap %s",
                             values->str, in, in, in, wrapped)
          : g_strdup_printf ("%s %s | parallel --joblog %s/joblog sh %s/task; %s",
                             is_range ? "seq" : "printf '%s\\n'", values->str, in, in,
                             answer);
  char *shell[] = { "/bin/sh", "-c", line, NULL };
  g_auto (GStrv) env = g_get_environ ();
  CliJobEnd end = { 0 };
  if (submits)
    cli_must (cli_job_wait (shell, env, FALSE, &end, cli_error ()));
  else
    puts (line);
  return end.status == 0 && end.signal_number == 0 ? CLI_DONE : CLI_FAILED;
}
