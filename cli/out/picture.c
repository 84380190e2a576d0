/* tessera render, and the figure of picture.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/out/picture.h"

#include <cairo-svg.h>
#include <stdio.h>

#include "cli/tell.h"
#include "db/output.h"

static cairo_status_t
append_bytes (void *closure, const unsigned char *data, unsigned int n_data)
{
  g_byte_array_append (closure, data, n_data);
  return CAIRO_STATUS_SUCCESS;
}

TesseraStatus
cli_draw_picture (const CliSheet *sheet,
                  CliDraw draw,
                  gconstpointer user,
                  TesseraError *error,
                  GBytes **out_bytes)
{
  GByteArray *bytes = g_byte_array_new ();
  cairo_surface_t *surface;

  if (sheet->is_svg)
    surface = cairo_svg_surface_create_for_stream (append_bytes, bytes, sheet->width,
                                                   sheet->height);
  else
    {
      surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24,
                                            (int) (sheet->width * sheet->scale),
                                            (int) (sheet->height * sheet->scale));
      cairo_surface_set_device_scale (surface, sheet->scale, sheet->scale);
    }
  cairo_t *cr = cairo_create (surface);
  TesseraStatus status = draw (cr, sheet, user, error);
  cairo_destroy (cr);
  if (status == TESSERA_OK && cairo_surface_status (surface) != CAIRO_STATUS_SUCCESS)
    status = tessera_fail (error, TESSERA_NO_MEMORY, "the picture could not be drawn: %s",
                           cairo_status_to_string (cairo_surface_status (surface)));
  if (status == TESSERA_OK && !sheet->is_svg)
    cairo_surface_write_to_png_stream (surface, append_bytes, bytes);
  cairo_surface_finish (surface);
  cairo_surface_destroy (surface);
  *out_bytes = g_byte_array_free_to_bytes (bytes);
  if (status != TESSERA_OK)
    g_clear_pointer (out_bytes, g_bytes_unref);
  return status;
}

static TesseraStatus
draw_layouts (cairo_t *cr,
              const CliSheet *sheet,
              gconstpointer figure,
              TesseraError *error)
{
  return tessera_figure_draw (figure, cr, sheet->width, sheet->height, sheet->scale,
                              error);
}

TesseraStatus
cli_draw_sheet (const CliStudy *study,
                const TesseraVerdict *verdict,
                const CliSheet *sheet,
                TesseraError *error,
                GBytes **out_bytes)
{
  const TesseraLayout *layout = study->layout;
  const TesseraPlan *plan = study->plan;
  g_autofree char *title = g_strdup_printf ("%s, %s", tessera_layout_owner (layout),
                                            cli_layout_name (layout->kind));
  g_autofree char *peaks = g_strdup_printf (
      "peak reserved %s, peak live %s%s", TESSERA_SIZE (layout->peak_reserved_bytes),
      TESSERA_SIZE (layout->peak_live_bytes), layout->n_ooms > 0 ? ", died" : "");
  g_autofree char *proof = plan != NULL ? cli_proof_text (plan) : NULL;
  g_autofree char *height = plan != NULL
                                ? g_strdup_printf ("height %s, %s, checked, %.2f s",
                                                   TESSERA_SIZE (plan->height_bytes),
                                                   proof, study->plan_seconds)
                                : NULL;
  g_autofree char *filling = tessera_describe_filling (sheet->figure.whose);
  TesseraFigure figure = sheet->figure;

  if (figure.blocks == NULL)
    figure.blocks = study->blocks;
  figure.filling = filling;
  figure.left = layout;
  figure.right = study->planned;
  figure.left_title = title;
  figure.left_subtitle = peaks;
  figure.right_title = "Plan";
  figure.right_subtitle = height;
  figure.plan = plan;
  figure.verdict = verdict;
  figure.needs = plan != NULL ? &study->needs : NULL;
  return cli_draw_picture (sheet, draw_layouts, &figure, error, out_bytes);
}

static char *size_text, *axis_text, *colour_text, *policy_text;
static gboolean is_dark, is_stacked, has_no_plan;
static double scale = 1;

static CliSheet
read_sheet (void)
{
  static const char *const axes[] = { [TESSERA_AXIS_BYTES_MOVED] = "bytes",
                                      [TESSERA_AXIS_EVENTS] = "events",
                                      [TESSERA_AXIS_TIME] = "time",
                                      NULL };
  const char *colours[TESSERA_N_COLOUR_KEYS + 1] = { NULL };
  const char *output = cli_given.output;
  CliSheet sheet = { .width = 1600,
                     .height = 1000,
                     .scale = scale,
                     .figure = { .dark = is_dark, .stacked = is_stacked },
                     .is_svg = g_str_has_suffix (output, ".svg") };

  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    colours[key] = tessera_colour_key_name ((TesseraColourKey) key);
  int axis = cli_choose (axis_text, axes), colour = cli_choose (colour_text, colours);
  if (!sheet.is_svg && !g_str_has_suffix (output, ".png") &&
      tessera_output_descriptor (output) < 0)
    cli_usage ("the picture's name must end in .png or .svg");
  if (size_text != NULL &&
      (sscanf (size_text, "%dx%d", &sheet.width, &sheet.height) != 2 ||
       sheet.width < 640 || sheet.height < 400 || sheet.width > 16384 ||
       sheet.height > 16384))
    cli_usage ("--size takes WIDTHxHEIGHT, 640x400 to 16384x16384");
  if (!(scale >= 0.5 && scale <= 8))
    cli_usage ("--scale takes 0.5 to 8");
  if (axis < 0)
    cli_usage ("--axis takes bytes, events or time");
  if (colour < 0)
    cli_usage (
        "--colour takes category, class, group, size, stream, phase, module or age");
  sheet.figure.axis = (TesseraAxisKind) axis;
  sheet.figure.colour = (TesseraColourKey) colour;
  return sheet;
}

static int
run_render (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  g_auto (CliRegrouped) regrouped = { 0 };
  g_auto (TesseraWhose) whose = { 0 };
  g_autoptr (GBytes) bytes = NULL;
  CliSheet sheet = read_sheet ();
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraLayoutKind kind = TESSERA_LAYOUT_RECORDED;
  const char *plan = NULL;
  gsize n_bytes;

  if (policy_text != NULL &&
      (!cli_parse_policy (policy_text, &kind, &plan) || plan != NULL))
    cli_usage ("--policy takes recorded, native or expandable");
  cli_study_open (&study, files[0]);
  cli_study_layout (&study, kind);
  cli_study_edits (&study, &options);
  regrouped = cli_regroup (&study);
  if (colour_text == NULL)
    sheet.figure.colour = tessera_usual_colour_key (study.trace);
  cli_whose_init (&whose, &study, NULL);
  if (!has_no_plan)
    {
      cli_study_plan (&study, &options);
      cli_study_as_run (&study, (TesseraParameters){ 0 });
      cli_study_needs (&study);
    }
  sheet.figure.blocks = &regrouped.blocks;
  sheet.figure.groups = regrouped.groups;
  sheet.figure.n_groups = regrouped.n_groups;
  sheet.figure.whose = &whose;
  const TesseraVerdict verdict = cli_study_verdict (&study);
  cli_must (cli_draw_sheet (&study, &verdict, &sheet, cli_error (), &bytes));
  const char *data = g_bytes_get_data (bytes, &n_bytes);
  cli_must (tessera_write_file (cli_given.output, data, n_bytes, cli_error ()));
  return CLI_DONE;
}

static const GOptionEntry render_options[] = {
  CLI_OPTION_OUTPUT ("The picture to write", "PICTURE"),
  { CLI_OPTION ("size", STRING, &size_text), "Size (default 1600x1000)", "WxH" },
  { CLI_OPTION ("scale", DOUBLE, &scale), "Pixels per unit (default 1)", "S" },
  { CLI_OPTION ("axis", STRING, &axis_text),
    "Time axis: bytes moved (default), events, time", "AXIS" },
  { CLI_OPTION ("colour", STRING, &colour_text),
    "Colour by category (default where the file has stacks), class (default else), "
    "group, size, stream, phase, module, age",
    "KEY" },
  { CLI_OPTION ("policy", STRING, &policy_text),
    "Left: recorded (default), native, expandable", "POLICY" },
  { CLI_OPTION ("dark", NONE, &is_dark), "Light on dark" },
  { CLI_OPTION ("stacked", NONE, &is_stacked), "One layout above the other" },
  { CLI_OPTION ("no-plan", NONE, &has_no_plan), "Draw the left layout only" },
  CLI_OPTION_NO_EDITS,
  CLI_OPTION_FORCE,
  { NULL }
};

const CliCommand cli_render = {
  .name = "render",
  .synopsis = "FILE -o PICTURE.png|svg",
  .summary = "draw both layouts side by side",
  .help =
      "Time runs to the right, addresses upward; reserved but free memory is hatched.",
  .takes = CLI_READS_TRACE | CLI_NEEDS_OUTPUT | CLI_WRITES_OTHER | CLI_PLANS,
  .n_least = 1,
  .options = render_options,
  .run = run_render,
};
