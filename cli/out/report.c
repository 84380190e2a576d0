/* tessera report: the page, section by section. SPDX-License-Identifier: Apache-2.0 */
#include "cli/out/picture.h"

#include "cli/report-css.h"
#include "cli/tell.h"
#include "db/output.h"
#include "planner/memory.h"

#define LARGEST_BLOCKS 20

/* A text of a file, which can hold anything, is escaped. */
G_GNUC_PRINTF (2, 3)
static void
append (GString *html, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *text = g_markup_vprintf_escaped (format, arguments);
  va_end (arguments);
  g_string_append (html, text);
}

static void
append_bytes (GString *html, uint64_t bytes)
{
  append (html, "<td class=n title=\"%" G_GUINT64_FORMAT " bytes\">%s</td>", bytes,
          TESSERA_SIZE (bytes));
}

static void
append_bar_row (GString *html, const char *label, uint64_t bytes, uint64_t whole)
{
  append (html, "<tr><td>%s</td>", label);
  append_bytes (html, bytes);
  if (bytes > 0 && whole > 0)
    append (html, "<td class=bar><span style=\"width:%.2f%%\"></span></td></tr>\n",
            (double) bytes / (double) whole * 100);
  else
    append (html, "<td></td></tr>\n");
}

static void
append_number (GString *html, const char *label, uint64_t bytes)
{
  if (bytes > 0)
    append (html,
            "<div><dt>%s</dt><dd title=\"%" G_GUINT64_FORMAT " bytes\">%s</dd></div>\n",
            label, bytes, TESSERA_SIZE (bytes));
}

static void
append_head (GString *html,
             const CliStudy *study,
             const TesseraWhose *whose,
             const TesseraVerdict *verdict)
{
  const char *source = study->trace->source;
  g_autofree char *filling = tessera_describe_filling (whose);

  append (html,
          "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
          "content=\"width=device-width\"><title>%s - Tessera</title><style>",
          cli_shown (source != NULL ? source : study->path));
  g_string_append (html, report_css);
  append (html,
          "</style></head><body>\n<h1>%s</h1>\n<p class=lead>%s<br>%s</p>\n"
          "<dl class=numbers>\n",
          cli_shown (verdict->headline), cli_shown (filling),
          cli_shown (verdict->sentence));
  append_number (html, "smallest device: native", study->needs.native_bytes);
  append_number (html, "expandable segments", study->needs.expandable_bytes);
  append_number (html, "plan", study->needs.plan_bytes);
  append_number (html, "bound",
                 tessera_plan_shown_bound (study->plan, study->needs.bound_bytes,
                                           tessera_needs_pytorch (&study->needs)));
  append (html, "</dl>\n");
}

static TesseraStatus
append_picture (GString *html,
                const CliStudy *study,
                const TesseraWhose *whose,
                const TesseraVerdict *verdict,
                TesseraError *error)
{
  append (html, "<picture>\n");
  for (int dark = 1; dark >= 0; dark--)
    {
      const CliSheet sheet = { .width = 1600,
                               .height = 1000,
                               .scale = 1,
                               .figure = {
                                   .dark = dark,
                                   .colour = tessera_usual_colour_key (study->trace),
                                   .whose = whose,
                               } };
      g_autoptr (GBytes) png = NULL;
      gsize n_bytes;
      TesseraStatus status = cli_draw_sheet (study, verdict, &sheet, error, &png);
      if (status != TESSERA_OK)
        return status;
      const guchar *data = g_bytes_get_data (png, &n_bytes);
      g_autofree char *text = g_base64_encode (data, n_bytes);
      g_string_append_printf (
          html,
          dark ? "<source media=\"(prefers-color-scheme: dark)\" "
                 "srcset=\"data:image/png;base64,%s\">\n"
               : "<img alt=\"time runs right, addresses up: PyTorch's layout beside the "
                 "planned one\" src=\"data:image/png;base64,%s\">\n",
          text);
    }
  append (html, "</picture>\n");
  return TESSERA_OK;
}

/* The rows, numbers and order of `tessera info`. */
static void
append_to_do (GString *html, const CliStudy *study, const TesseraWhose *whose)
{
  g_autoptr (GArray) suggestions = cli_suggest (study, whose);

  if (suggestions->len == 0)
    return;
  append (html, "<h2>What to do</h2>\n<table><tr><th class=n>less<th><th>what<th>the "
                "text to type</tr>\n");
  for (guint i = 0; i < suggestions->len; i++)
    {
      const TesseraSuggestion *row = &g_array_index (suggestions, TesseraSuggestion, i);

      append (html, "<tr>");
      append_bytes (html, row->wins_bytes);
      append (html, "<td>%s</td><td>%s</td><td><code>%s</code></td></tr>\n", row->of,
              cli_shown (row->sentence), cli_shown (row->type));
    }
  append (html, "</table>\n");
}

/* The legend's, where the row is a category. */
static uint32_t
colour_of (TesseraBy by, const TesseraOwner *owner)
{
  for (int i = 0; by == TESSERA_BY_CATEGORY && i < TESSERA_N_CATEGORIES; i++)
    if (strcmp (owner->name, tessera_category_name ((TesseraCategory) i)) == 0)
      return tessera_colour_of_category ((TesseraCategory) i, false);
  return TESSERA_NONE;
}

static void
append_owner (GString *html, TesseraBy by, const TesseraOwner *owner, uint64_t all_bytes)
{
  const double share = (double) owner->bytes / (double) MAX (all_bytes, 1);
  const uint32_t rgb = colour_of (by, owner);

  append (html, "<tr><td style=\"padding-left:%uem\">%s", owner->depth,
          cli_shown (owner->name));
  if (owner->n_times > 1)
    append (html, " &times; %u", owner->n_times);
  append (html, "</td>");
  append_bytes (html, owner->bytes);
  append (html,
          "<td class=n>%.1f %%</td><td class=n>%" G_GUINT64_FORMAT
          "</td><td class=bar><span style=\"width:%.2f%%",
          100 * share, owner->n_blocks, 100 * share);
  if (rgb != TESSERA_NONE)
    append (html, ";background:#%06x", rgb);
  append (html, "\"></span></td></tr>\n");
}

/* By category and, where the file has stacks, by line and module. */
static void
append_whose (GString *html,
              const CliStudy *study,
              const TesseraWhose *whose,
              uint32_t at)
{
  static const struct
  {
    TesseraBy by;
    guint most;
  } tables[] = { { TESSERA_BY_CATEGORY, CLI_MOST_ROWS },
                 { TESSERA_BY_LINE, CLI_BRIEF_ROWS },
                 { TESSERA_BY_MODULE, CLI_MOST_ROWS } };
  const uint64_t all_bytes = tessera_live_bytes (whose->layout, at);
  const size_t n = study->trace->n_stacks > 0 ? G_N_ELEMENTS (tables) : 1;

  append (html, "<h2>Whose the %s are that were live at event %u</h2>\n",
          TESSERA_SIZE (all_bytes), at);
  for (size_t i = 0; i < n; i++)
    {
      g_autoptr (GArray) owners = cli_rows_worth_reading (
          tessera_whose (whose, tables[i].by, at), all_bytes, tables[i].most);

      append (html,
              "<table><tr><th>%s<th class=n>bytes<th class=n>share<th "
              "class=n>blocks<th></tr>\n",
              tessera_by_name (tables[i].by));
      for (guint row = 0; row < owners->len; row++)
        append_owner (html, tables[i].by, &g_array_index (owners, TesseraOwner, row),
                      all_bytes);
      append (html, "</table>\n");
    }
}

static void
append_parts (GString *html, const CliStudy *study, const TesseraParts *parts)
{
  TesseraPart list[TESSERA_N_PARTS];

  tessera_parts_list (study->trace, parts, list);
  append (html, "<h2>Reserved memory at event %u, byte by byte</h2>\n<table>\n",
          parts->event_index);
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    if (list[i].bytes > 0 || !list[i].is_rare)
      append_bar_row (html, list[i].name, list[i].bytes, parts->reserved_bytes);
  append_bar_row (html, "reserved", parts->reserved_bytes, parts->reserved_bytes);
  append (html, "</table>\n<p class=dim>Other sizes: free in segments for small requests "
                "where the next one is large, or the reverse. Free segments are given "
                "back before anything fails.</p>\n");
}

static void
append_largest (GString *html,
                const CliStudy *study,
                const TesseraWhose *whose,
                uint32_t at)
{
  const TesseraBlock *blocks = study->blocks->blocks;
  g_autofree TesseraKeyed *live = g_new (TesseraKeyed, study->blocks->n_blocks + 1);
  uint32_t n = 0;

  for (uint32_t i = 0; i < study->blocks->n_blocks; i++)
    if (tessera_is_live (study->blocks, study->layout, i, at))
      live[n++] = (TesseraKeyed){ ~blocks[i].size_bytes, i };
  tessera_sort (live, n);
  append (html,
          "<h2>Largest of %u live blocks</h2>\n<table><tr><th class=n>size<th "
          "class=n>events<th>born in<th>class<th>line</tr>\n",
          n);
  for (uint32_t i = 0; i < MIN (n, LARGEST_BLOCKS); i++)
    {
      const TesseraBlock *block = &blocks[live[i].value];
      g_autofree char *line = tessera_owner_of (whose, TESSERA_BY_LINE, live[i].value);
      append (html, "<tr>");
      append_bytes (html, block->size_bytes);
      append (html,
              "<td class=n>%u</td><td>%s</td><td>%s</td><td><code>%s</code></td></tr>\n",
              block->died_index - block->born_index,
              block->born_phase != TESSERA_NONE
                  ? cli_shown (tessera_phase_name (
                        study->trace, &study->structure->phases[block->born_phase]))
                  : "",
              cli_class_name (block->lifetime_class), cli_shown (line));
    }
  append (html, "</table>\n");
}

/* What a person changed about it. */
static void
append_edits (GString *html, const TesseraPlan *plan)
{
  if (plan->n_edits == 0)
    return;
  append (html, "<p>Edited by hand:</p>\n<ol class=edits>\n");
  for (size_t i = 0; i < plan->n_edits; i++)
    append (html, "<li>%s</li>\n", cli_shown (plan->edits[i].name));
  append (html, "</ol>\n");
}

static void
append_plan (GString *html, const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  g_autofree char *hits = cli_hits_text (study->planned);
  g_autofree char *followable = cli_followable_text (plan);
  g_autofree char *proof = cli_proof_text (plan);
  if (study->follows_length)
    {
      g_autofree char *lengths = cli_lengths_text (study->lengths);
      append (html, "<h2>The plan</h2>\n<p>For %s. Followed on this trace: %s.</p>\n",
              lengths, hits);
      append_edits (html, plan);
      return;
    }
  append (
      html,
      "<h2>The plan</h2>\n<p>Height %s, proven bound %s: %s; %zu slots; checked by code "
      "that shares nothing with the planner. Followed on this trace: %s.</p>\n<p "
      "class=dim>Strategy %s. Can a run follow it? %s</p>\n",
      TESSERA_SIZE (plan->height_bytes), TESSERA_SIZE (tessera_plan_proven_bound (plan)),
      proof, plan->n_slots, hits, cli_shown (plan->strategy), cli_shown (followable));
  append_edits (html, plan);
}

static void
append_needs (GString *html, const CliStudy *study)
{
  append (html,
          "<h2>What would fit</h2>\n<table><tr><th>policy<th class=n>smallest device<th "
          "class=n>cache flushes on it<th class=n>reserved with memory to spare</tr>\n");
  for (size_t i = 0; i < CLI_N_POLICIES; i++)
    {
      const TesseraNeed *need = &study->need[cli_policies[i]];
      append (html, "<tr><td>%s</td>", cli_layout_name (cli_policies[i]));
      append_bytes (html, need->smallest_bytes);
      append (html, "<td class=n>%" G_GUINT64_FORMAT "</td>", need->retries);
      append_bytes (html, need->endless_bytes);
      append (html, "</tr>\n");
    }
  append (html, "</table>\n<p class=dim>A request that failed counts as served here. "
                "Found by running the trace again under each policy.</p>\n");
}

TesseraStatus
cli_report_html (const CliStudy *study,
                 const TesseraWhose *whose,
                 GString **out_html,
                 TesseraError *error)
{
  const TesseraVerdict verdict = cli_study_verdict (study);
  GString *html = g_string_new (NULL);
  append_head (html, study, whose, &verdict);
  TesseraStatus status = append_picture (html, study, whose, &verdict, error);
  if (status != TESSERA_OK)
    {
      g_string_free (html, TRUE);
      return status;
    }
  append_to_do (html, study, whose);
  append_whose (html, study, whose, verdict.parts.event_index);
  append_parts (html, study, &verdict.parts);
  append_needs (html, study);
  append_largest (html, study, whose, verdict.parts.event_index);
  if (study->plan != NULL && study->planned != NULL)
    append_plan (html, study);
  append (html,
          "<p class=dim>Tessera %s; %zu events, %zu blocks, %zu step%s. %s</p>\n"
          "</body></html>\n",
          TESSERA_VERSION, study->trace->n_events, study->blocks->n_blocks,
          study->structure->n_steps, study->structure->n_steps == 1 ? "" : "s",
          cli_shown (study->layout->note));
  *out_html = html;
  return TESSERA_OK;
}

static int
run_report (int n_files, char **files)
{
  g_auto (CliStudy) study = { 0 };
  g_auto (TesseraWhose) whose = { 0 };
  GString *html = NULL;

  cli_study_open (&study, files[0]);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  cli_study_plan_as_edited (&study);
  cli_study_needs (&study);
  cli_whose_init (&whose, &study, NULL);
  cli_must (cli_report_html (&study, &whose, &html, cli_error ()));
  cli_must (tessera_write_file (cli_given.output, html->str, html->len, cli_error ()));
  g_string_free (html, TRUE);
  return CLI_DONE;
}

static const GOptionEntry report_options[] = { CLI_OPTION_OUTPUT ("The page to write",
                                                                  "REPORT.html"),
                                               CLI_OPTION_NO_EDITS,
                                               CLI_OPTION_FORCE,
                                               { NULL } };

const CliCommand cli_report = {
  .name = "report",
  .synopsis = "FILE -o REPORT.html",
  .summary = "one self-contained HTML page: verdict, pictures, tables",
  .help = "The page needs no network and prints well.",
  .takes = CLI_READS_TRACE | CLI_NEEDS_OUTPUT | CLI_WRITES_OTHER | CLI_PLANS,
  .n_least = 1,
  .options = report_options,
  .run = run_report,
};
