/* tessera render FILE -o PICTURE.png|svg. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/sheet.h"
#include "db/output.h"

typedef struct
{
  char *output, *size, *axis, *colour, *policy;
  gboolean dark, stacked, no_plan, no_edits, force;
  double scale;
} RenderOptions;

static const struct
{
  const char *name;
  TesseraAxisKind kind;
} axes[] = {
  { "bytes", TESSERA_AXIS_BYTES_MOVED },
  { "events", TESSERA_AXIS_EVENTS },
  { "time", TESSERA_AXIS_TIME },
};

static gboolean
parse_axis (const char *text, TesseraAxisKind *out_axis)
{
  for (size_t i = 0; i < G_N_ELEMENTS (axes); i++)
    if (text == NULL || g_str_equal (text, axes[i].name))
      {
        *out_axis = axes[i].kind;
        return TRUE;
      }
  return FALSE;
}

static gboolean
parse_colour (const char *text, TesseraColourKey *out_colour)
{
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    if (text == NULL ||
        g_str_equal (text, tessera_colour_key_name ((TesseraColourKey) key)))
      {
        *out_colour = (TesseraColourKey) key;
        return TRUE;
      }
  return FALSE;
}

/* Returns a sentence about the first mistake, or NULL. */
static const char *
parse_sheet (const RenderOptions *options,
             CliSheet *out_sheet,
             TesseraLayoutKind *out_kind)
{
  *out_sheet = (CliSheet){ .width = 1600, .height = 1000, .scale = options->scale };
  out_sheet->dark = options->dark;
  out_sheet->stacked = options->stacked;
  const char *plan = NULL;
  if (options->output == NULL)
    return "say where to draw with -o PICTURE.png or -o PICTURE.svg";
  if (!g_str_has_suffix (options->output, ".png") &&
      !g_str_has_suffix (options->output, ".svg") &&
      tessera_output_descriptor (options->output) < 0)
    return "the picture's name must end in .png or .svg";
  if (options->size != NULL &&
      (sscanf (options->size, "%dx%d", &out_sheet->width, &out_sheet->height) != 2 ||
       out_sheet->width < 640 || out_sheet->height < 400 || out_sheet->width > 16384 ||
       out_sheet->height > 16384))
    return "--size takes WIDTHxHEIGHT, 640x400 to 16384x16384";
  if (!(options->scale >= 0.5 && options->scale <= 8))
    return "--scale takes 0.5 to 8";
  if (!parse_axis (options->axis, &out_sheet->axis))
    return "--axis takes bytes, events or time";
  if (!parse_colour (options->colour, &out_sheet->colour))
    return "--colour takes class, group, size, stream, phase, module or age";
  *out_kind = TESSERA_LAYOUT_RECORDED;
  if (options->policy != NULL &&
      (!cli_parse_policy (options->policy, out_kind, &plan) || plan != NULL))
    return "--policy takes recorded, native or expandable";
  return NULL;
}

static TesseraStatus
draw_study (const CliStudy *study,
            const CliSheet *sheet,
            const char *output,
            TesseraError *error)
{
  TesseraVerdict verdict;
  TesseraFigure figure;
  CliTitles titles;
  g_autoptr (GBytes) bytes = NULL;

  TesseraStatus status = cli_study_verdict (study, &verdict, error);
  if (status != TESSERA_OK)
    return status;
  cli_sheet_figure (study, &verdict, sheet, &titles, &figure);
  status = g_str_has_suffix (output, ".svg")
               ? cli_sheet_svg (&figure, sheet, &bytes, error)
               : cli_sheet_png (&figure, sheet, &bytes, error);
  if (status != TESSERA_OK)
    return status;
  gsize n_bytes;
  const char *data = g_bytes_get_data (bytes, &n_bytes);
  return tessera_write_file (output, data, n_bytes, error);
}

/* The plan that `tessera plan` makes, and the groups that it has. */
static TesseraStatus
plan_as_edited (CliStudy *study,
                const RenderOptions *options,
                CliRegrouped *regrouped,
                TesseraError *error)
{
  TesseraPlanOptions plan_options = { .first_step = -1, .last_step = -1 };
  TesseraStatus status =
      cli_study_edits (study, NULL, options->no_edits, &plan_options, error);
  if (status == TESSERA_OK)
    status = cli_regroup (study, regrouped, error);
  if (status == TESSERA_OK && !options->no_plan)
    status = cli_study_plan (study, &plan_options, error);
  if (status == TESSERA_OK && !options->no_plan)
    status = cli_study_needs (study, error);
  return status;
}

static int
render (const char *path,
        const RenderOptions *options,
        CliSheet *sheet,
        TesseraLayoutKind kind,
        const CliCommon *common)
{
  CliStudy study;
  CliRegrouped regrouped = { 0 };
  TesseraError error = { 0 };
  TesseraStatus status = cli_study_open (&study, path, common, &error);
  if (status == TESSERA_OK)
    status = cli_study_layout (&study, kind, common, &error);
  if (status == TESSERA_OK)
    status = plan_as_edited (&study, options, &regrouped, &error);
  sheet->regrouped = &regrouped;
  if (status == TESSERA_OK)
    status = draw_study (&study, sheet, options->output, &error);
  cli_regrouped_clear (&regrouped);
  cli_study_clear (&study);
  return status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
}

int
cli_render (int argc, char **argv)
{
  RenderOptions options = { .scale = 1 };
  CliCommon common = { 0 };
  GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "The picture to write",
      "PICTURE" },
    { "size", 0, 0, G_OPTION_ARG_STRING, &options.size, "Size (default 1600x1000)",
      "WxH" },
    { "scale", 0, 0, G_OPTION_ARG_DOUBLE, &options.scale, "Pixels per unit (default 1)",
      "S" },
    { "axis", 0, 0, G_OPTION_ARG_STRING, &options.axis,
      "Time axis: bytes moved (default), events, time", "AXIS" },
    { "colour", 0, 0, G_OPTION_ARG_STRING, &options.colour,
      "Colour by class (default), group, size, stream, phase, module, age", "KEY" },
    { "policy", 0, 0, G_OPTION_ARG_STRING, &options.policy,
      "Left: recorded (default), native, expandable", "POLICY" },
    { "dark", 0, 0, G_OPTION_ARG_NONE, &options.dark, "Light on dark", NULL },
    { "stacked", 0, 0, G_OPTION_ARG_NONE, &options.stacked, "One layout above the other",
      NULL },
    { "no-plan", 0, 0, G_OPTION_ARG_NONE, &options.no_plan, "Draw the left layout only",
      NULL },
    { "no-edits", 0, 0, G_OPTION_ARG_NONE, &options.no_edits,
      "Leave out the edits that are kept with FILE", NULL },
    CLI_FORCE (&options.force),
    { NULL }
  };
  CliSheet sheet;
  TesseraLayoutKind kind = TESSERA_LAYOUT_RECORDED;
  int result;

  if (!cli_parse ("render", &argc, &argv, entries, &common, 1, 1))
    result = CLI_USAGE;
  else
    {
      const char *mistake = parse_sheet (&options, &sheet, &kind);
      result = mistake != NULL ? cli_usage ("render", "%s", mistake)
                               : cli_check_result ("render", argv[1], options.output,
                                                   TESSERA_FILE_OTHER, options.force);
      if (result == CLI_DONE)
        result = render (argv[1], &options, &sheet, kind, &common);
    }
  g_free (options.output);
  g_free (options.size);
  g_free (options.axis);
  g_free (options.colour);
  g_free (options.policy);
  return result;
}
