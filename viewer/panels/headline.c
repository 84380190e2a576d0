/*
 * The lines around the pictures: the verdict on top of the window, one sentence and four
 * numbers; at the bottom the chosen moment in words, and what is being worked on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "cli/command.h"
#include "db/plan.h"

/* --- the verdict ------------------------------------------------------------------ */

/* Of numbers and of the line below them, in characters, whatever they say: where these
 * become wider or narrower every sentence beside them is broken into lines anew, at each
 * width that GTK tries, 7 to 12 ms. */
#define NUMBER_CHARS 9
#define PROOF_CHARS 58
/* Of sentences at least: GTK lays them out at the least width as well, and one word a
 * line takes longest. */
#define SENTENCE_CHARS 50
/* Times the bound: less nobody misses. */
#define WORTH_A_HINT 1.01

enum
{
  NATIVE,
  EXPANDABLE,
  PLAN,
  BOUND,
  N_NUMBERS
};

typedef struct
{
  TesseraPanel panel;
  GtkWidget *title;
  GtkWidget *filling; /* which step, what was refused, what fills the memory */
  GtkWidget *sentence;
  GtkWidget *change;  /* what the last edit cost or won */
  GtkWidget *warning; /* where following the plan would be worse than not to */
  GtkWidget *hint;    /* where keeping streams apart costs something */
  GtkWidget *numbers[N_NUMBERS];
  GtkWidget *proof; /* whether the plan on the right can be bettered */
} Headline;

static const struct
{
  const char *caption;
  const char *name;
  const char *tooltip;
} captions[N_NUMBERS] = {
  { "native", "need-native",
    "Smallest device on which PyTorch's native allocator completes" },
  { "expandable", "need-expandable",
    "Smallest device on which PyTorch with expandable segments completes" },
  { "plan", "need-plan",
    "Smallest device on which a run that follows the plan completes" },
  { "bound", "need-bound", "Most bytes alive at one moment: no layout can need less" },
};

/* Green and red are verdicts: does it fit what there is, and is a plan of any use? */
static const char *
verdict_class (TesseraDocument *document, int which, uint64_t bytes)
{
  const TesseraNeeds *needs = &document->needs;

  if (which == BOUND || bytes == 0)
    return "quiet";
  if (document->ceiling_bytes != 0 && bytes > document->ceiling_bytes)
    return "bad";
  if (document->ceiling_bytes != 0 && document->verdict.died)
    return "good";
  return which == PLAN && bytes <= needs->native_bytes && bytes <= needs->expandable_bytes
             ? "good"
             : "plain";
}

static void
show_number (Headline *self, int which, uint64_t bytes)
{
  static const char *const verdicts[] = { "good", "bad", "plain", "quiet" };
  TesseraDocument *document = self->panel.document;
  GtkWidget *number = self->numbers[which];
  const char *verdict = verdict_class (document, which, bytes);
  /* Red and green are not all that tells them apart. */
  const char *sign = g_str_equal (verdict, "bad")    ? "✗ "
                     : g_str_equal (verdict, "good") ? "✓ "
                                                     : "";
  gboolean coming = document->jobs[TESSERA_WORK_NEEDS] != NULL ||
                    document->jobs[TESSERA_WORK_PLAN] != NULL;

  tessera_label_set (number, "%s%s", bytes != 0 ? sign : "",
                     bytes != 0 ? TESSERA_SIZE (bytes)
                     : coming   ? "…"
                                : "–");
  for (size_t i = 0; i < G_N_ELEMENTS (verdicts); i++)
    tessera_set_class (number, verdicts[i], g_str_equal (verdicts[i], verdict));
  if (bytes != 0)
    tessera_set_tip_of (gtk_widget_get_parent (number), "%s: %s", captions[which].tooltip,
                        TESSERA_BYTES (bytes));
}

/* One bound is shown; the tooltip has what it is, and the other. */
static void
show_bound (Headline *self)
{
  TesseraDocument *document = self->panel.document;
  uint64_t load_bytes = document->needs.bound_bytes;
  uint64_t bytes = tessera_document_bound (document);

  show_number (self, BOUND, load_bytes != 0 ? bytes : 0);
  if (bytes != load_bytes && load_bytes != 0)
    tessera_set_tip_of (gtk_widget_get_parent (self->numbers[BOUND]),
                        "Proven that no plan of what this one is held to (its streams) "
                        "has a lower pool: %s\n%s: %s",
                        TESSERA_BYTES (bytes), captions[BOUND].tooltip,
                        TESSERA_BYTES (load_bytes));
}

/* @text: (nullable): nothing is to be said. */
static void
say (GtkWidget *sentence, const char *text)
{
  tessera_label_set (sentence, "%s", text != NULL ? text : "");
  gtk_widget_set_visible (sentence, text != NULL);
}

static void
show_change (Headline *self)
{
  g_autofree char *change = tessera_describe_change (self->panel.document);

  say (self->change, change);
}

/* What `tessera plan` warns of. */
static void
show_warning (Headline *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraFollowed *planned = document->planned;
  g_autofree char *text = NULL;

  if (planned != NULL && !planned->request.is_preview)
    text = tessera_describe_worse (planned->height_bytes,
                                   tessera_data_own_layout (document->data));
  if (text != NULL)
    text[0] = g_ascii_toupper (text[0]);
  say (self->warning, text);
}

/* What a plan is held to is no news to the planner, but to who looks at a plan that is
 * proven and still far above the bound. */
static void
show_hint (Headline *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraFollowed *planned = document->planned;
  const gboolean is_full = planned != NULL && !planned->request.is_preview;
  const uint64_t proven = is_full ? tessera_plan_proven_bound (planned->plan) : 0;
  g_autofree char *text = NULL;

  if (is_full && planned->plan->crosses_streams)
    text = g_strdup_printf (
        "Streams wait for each other %s%s, for memory that others used: see Plans "
        "(Ctrl+J).",
        TESSERA_COUNTED (planned->layout->handovers.n_waits, "time"),
        planned->layout->handovers.step != TESSERA_NONE ? " a step" : "");
  else if (is_full && tessera_document_has_streams (document) &&
           planned->plan->n_edits == 0 &&
           (double) proven > WORTH_A_HINT * (double) document->data->bound_bytes)
    text = g_strdup_printf (
        "This plan keeps streams apart: no such plan is below %s. Plan > One pool over "
        "all streams takes less, if the program allows it.",
        TESSERA_SIZE (proven));
  else if (is_full && planned->why_no_lengths != NULL)
    {
      text = g_strdup_printf ("%s.", planned->why_no_lengths);
      text[0] = g_ascii_toupper (text[0]);
    }
  say (self->hint, text);
}

/* The words and numbers of `tessera plan`. Of a preview nothing is claimed. */
static void
show_proof (Headline *self)
{
  const TesseraFollowed *planned = self->panel.document->planned;
  g_autofree char *text = NULL, *above = NULL, *of_length = NULL;
  char proof[128];

  if (planned == NULL)
    {
      say (self->proof, NULL);
      return;
    }
  above = tessera_describe_above (planned, 0);
  if (planned->length == 0)
    tessera_plan_describe_proof (planned->plan, proof, sizeof proof);
  else
    {
      of_length = g_strdup_printf (
          "\nThat is of a step of length %" G_GUINT64_FORMAT
          ", the fullest seen: the plan is for every length up to %" G_GUINT64_FORMAT,
          planned->length, planned->plan->lengths->most.length);
      g_strlcpy (proof, *above == '=' ? "optimal (proven)" : above, sizeof proof);
    }
  text = g_strdup_printf ("pool %s%s", TESSERA_SIZE (planned->height_bytes),
                          planned->request.is_preview ? ", a preview" : ": ");
  if (!planned->request.is_preview)
    text = g_strconcat (g_steal_pointer (&text), proof, NULL);
  say (self->proof, text);
  tessera_set_tip_of (self->proof,
                      "The plan's pool: %s\nProven that no layout of what it is held to "
                      "(its streams, its edits) is lower: %s%s",
                      TESSERA_BYTES (planned->height_bytes),
                      TESSERA_BYTES (planned->bound_bytes),
                      of_length != NULL ? of_length : "");
}

static void
headline_changed (TesseraDocument *document, guint what, gpointer user)
{
  Headline *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_EDITS |
              TESSERA_CHANGED_WORK))
    {
      show_change (self);
      show_bound (self);
      show_proof (self);
      show_warning (self);
      show_hint (self);
    }
  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_VERDICT | TESSERA_CHANGED_WORK)))
    return;
  gtk_widget_set_visible (self->panel.box, document->data != NULL);
  if (document->data == NULL)
    return;
  tessera_label_set (self->title, "%s", document->verdict.headline);
  tessera_label_set (self->filling, "%s", cli_shown (document->data->filling));
  tessera_label_set (self->sentence, "%s", document->verdict.sentence);
  show_number (self, NATIVE, document->needs.native_bytes);
  show_number (self, EXPANDABLE, document->needs.expandable_bytes);
  show_number (self, PLAN, document->needs.plan_bytes);
}

static GtkWidget *
numbers_new (Headline *self)
{
  GtkWidget *grid = tessera_grid_new (12, 0);
  GtkWidget *above = tessera_label_new ("smallest device", "caption");

  gtk_widget_add_css_class (above, "number-span");
  gtk_grid_attach (GTK_GRID (grid), above, 0, 0, BOUND, 1);
  for (int i = 0; i < N_NUMBERS; i++)
    {
      GtkWidget *number =
          tessera_named (tessera_label_new ("", "number"), captions[i].name);
      GtkWidget *column = tessera_column_new (
          0, tessera_label_new (captions[i].caption, "caption"), number, NULL);

      self->numbers[i] = number;
      gtk_label_set_width_chars (GTK_LABEL (number), NUMBER_CHARS);
      tessera_set_tip (column, captions[i].tooltip);
      gtk_grid_attach (GTK_GRID (grid), column, i, 1, 1, 1);
    }
  self->proof = tessera_named (tessera_sentence_new ("", "caption"), "plan-proof");
  g_object_set (self->proof, "xalign", 1.0, "width-chars", PROOF_CHARS, "max-width-chars",
                PROOF_CHARS, NULL);
  gtk_grid_attach (GTK_GRID (grid), self->proof, 0, 2, N_NUMBERS, 1);
  gtk_widget_set_valign (grid, GTK_ALIGN_CENTER);
  return grid;
}

static GtkWidget *
add_sentence (GtkWidget *box, const char *name, const char *css_class)
{
  GtkWidget *sentence = tessera_sentence_new ("", css_class);

  gtk_label_set_width_chars (GTK_LABEL (sentence), SENTENCE_CHARS);
  tessera_named (sentence, name);
  gtk_box_append (GTK_BOX (box), sentence);
  return sentence;
}

GtkWidget *
tessera_headline_new (TesseraDocument *document)
{
  Headline *self = tessera_panel_new (sizeof *self, document, "headline", 24, NULL);
  GtkWidget *words = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2);

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->panel.box),
                                  GTK_ORIENTATION_HORIZONTAL);
  self->title = add_sentence (words, "verdict-headline", "verdict");
  self->filling = add_sentence (words, "verdict-filling", "verdict-filling");
  self->sentence = add_sentence (words, "verdict-sentence", "verdict-sentence");
  gtk_label_set_selectable (GTK_LABEL (self->sentence), TRUE);
  gtk_widget_set_focusable (self->sentence, FALSE);
  self->change = add_sentence (words, "plan-change", "verdict-change");
  self->warning = add_sentence (words, "plan-warning", "problem");
  self->hint = add_sentence (words, "plan-hint", "verdict-change");
  gtk_widget_set_hexpand (words, TRUE);
  gtk_widget_set_valign (words, GTK_ALIGN_CENTER);
  tessera_panel_add (self, words, numbers_new (self), NULL);
  gtk_widget_add_css_class (self->panel.box, "headline");
  return tessera_panel_watch (self, headline_changed);
}

/* --- the line at the bottom ------------------------------------------------------- */

typedef struct
{
  TesseraPanel panel;
  GtkWidget *moment;
  GtkWidget *work;
  GtkWidget *progress;
  GtkWidget *cancel;
} StatusBar;

static void
show_moment (StatusBar *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = document->sheets[TESSERA_SIDE_LEFT];
  const TesseraCurves *curves = sheet != NULL ? &sheet->layout->curves : NULL;
  g_autofree char *moment = NULL, *text = NULL;

  if (sheet == NULL || document->moment >= sheet->layout->n_events)
    {
      tessera_name_set (self->moment, "");
      return;
    }
  moment = tessera_describe_moment (document->data, document->moment);
  text = g_strdup_printf ("Event %s%s%s · live %s, reserved %s",
                          TESSERA_COUNT (document->moment), *moment != '\0' ? " · " : "",
                          moment, TESSERA_SIZE (curves->live_bytes[document->moment]),
                          TESSERA_SIZE (curves->reserved_bytes[document->moment]));
  tessera_name_set (self->moment, text);
}

/* What the planner has while it works. */
static void
show_news (StatusBar *self, int work, const char *name)
{
  TesseraJob *job = self->panel.document->jobs[work];
  TesseraNews news = tessera_job_news (job);
  g_autofree char *text = tessera_describe_news (&news);

  tessera_label_set (self->work, "%s%s%s", name, text != NULL ? ": " : "",
                     text != NULL ? text : "");
  tessera_set_tip (self->cancel,
                   text != NULL ? "Stop, and keep the best plan so far" : "Stop");
}

static void
show_work (StatusBar *self)
{
  static const char *const names[TESSERA_WORK_MOMENT] = { "Opening", "Simulating",
                                                          "Planning", "Smallest device…",
                                                          "Writing" };
  TesseraDocument *document = self->panel.document;
  int work = 0;

  while (work < TESSERA_WORK_MOMENT && document->jobs[work] == NULL)
    work++;
  gtk_widget_set_visible (self->work, work < TESSERA_WORK_MOMENT);
  gtk_widget_set_visible (self->progress, work < TESSERA_WORK_MOMENT);
  gtk_widget_set_visible (self->cancel, work < TESSERA_WORK_MOMENT);
  if (work == TESSERA_WORK_MOMENT)
    return;
  show_news (self, work, names[work]);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress),
                                 document->fractions[work]);
  tessera_set_accessible_label (self->progress, names[work]);
}

static void
status_changed (TesseraDocument *document, guint what, gpointer user)
{
  StatusBar *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_SHEETS))
    show_moment (self);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_WORK))
    show_work (self);
}

GtkWidget *
tessera_status_bar_new (TesseraDocument *document)
{
  StatusBar *self = tessera_panel_new (sizeof *self, document, "status", 8, NULL);

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->panel.box),
                                  GTK_ORIENTATION_HORIZONTAL);
  self->moment = tessera_name_new ("moment", "quiet", 2);
  gtk_widget_set_hexpand (self->moment, TRUE);
  self->work = tessera_named (tessera_label_new ("", "quiet"), "work");
  self->progress = gtk_progress_bar_new ();
  gtk_widget_set_valign (self->progress, GTK_ALIGN_CENTER);
  gtk_widget_set_size_request (self->progress, 80, -1);
  self->cancel = tessera_button_new ("tessera-stop-symbolic", "win.cancel", NULL,
                                     "flat small", "Stop");
  tessera_panel_add (self, self->moment, self->work, self->progress, self->cancel, NULL);
  gtk_widget_add_css_class (self->panel.box, "status");
  return tessera_panel_watch (self, status_changed);
}
