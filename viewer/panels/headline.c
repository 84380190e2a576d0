/*
 * The verdict on top of the window: one sentence, four numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "db/plan.h"
#include "viewer/model/document.h"
#include "viewer/panels/edits/edits.h"
#include "viewer/kit/kit.h"

/* Of numbers and of the line below them, in characters, whatever they say: where these
 * become wider or narrower every sentence beside them is broken into lines anew, at each
 * width that GTK tries, 7 to 12 ms. */
#define NUMBER_CHARS 8
#define PROOF_CHARS 58
/* Of sentences at least: GTK lays them out at the least width as well, and one word a
 * line takes longest. */
#define SENTENCE_CHARS 60
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

#define TESSERA_TYPE_HEADLINE (tessera_headline_get_type ())
G_DECLARE_FINAL_TYPE (TesseraHeadline, tessera_headline, TESSERA, HEADLINE, GtkBox)

struct _TesseraHeadline
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *title;
  GtkWidget *sentence;
  GtkWidget *change;  /* what the last edit cost or won */
  GtkWidget *warning; /* where following the plan would be worse than not to */
  GtkWidget *hint;    /* where keeping streams apart costs something */
  GtkWidget *numbers[N_NUMBERS];
  GtkWidget *proof; /* whether the plan on the right can be bettered */
};

G_DEFINE_TYPE (TesseraHeadline, tessera_headline, GTK_TYPE_BOX)

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
show_number (TesseraHeadline *self, int which, uint64_t bytes)
{
  TesseraDocument *document = self->document;
  g_autofree char *text = NULL;
  g_autofree char *exact = tessera_describe_bytes_exact (bytes);
  gboolean coming = document->jobs[TESSERA_WORK_NEEDS] != NULL ||
                    document->jobs[TESSERA_WORK_PLAN] != NULL;

  text = bytes != 0 ? tessera_describe_bytes (bytes) : g_strdup (coming ? "…" : "–");
  gtk_label_set_text (GTK_LABEL (self->numbers[which]), text);
  tessera_set_classes (
      self->numbers[which],
      (const char *[]){ "number", verdict_class (document, which, bytes), NULL });
  if (bytes != 0)
    {
      g_autofree char *tip = g_strdup_printf ("%s: %s", captions[which].tooltip, exact);

      tessera_set_tip (gtk_widget_get_parent (self->numbers[which]), tip);
    }
}

/* One bound is shown; the tooltip has what it is, and the other. */
static void
show_bound (TesseraHeadline *self)
{
  TesseraDocument *document = self->document;
  uint64_t load_bytes = document->needs.bound_bytes;
  uint64_t bytes = tessera_document_bound (document);
  g_autofree char *exact = tessera_describe_bytes_exact (bytes);
  g_autofree char *load = tessera_describe_bytes_exact (load_bytes);
  g_autofree char *tip = g_strdup_printf (
      "Proven that no plan of what this one is held to (its streams) has "
      "a lower pool: %s\n%s: %s",
      exact, captions[BOUND].tooltip, load);

  show_number (self, BOUND, load_bytes != 0 ? bytes : 0);
  if (bytes > load_bytes && load_bytes != 0)
    tessera_set_tip (gtk_widget_get_parent (self->numbers[BOUND]), tip);
}

static void
show_change (TesseraHeadline *self)
{
  g_autofree char *change = tessera_describe_change (self->document);

  gtk_label_set_text (GTK_LABEL (self->change), change != NULL ? change : "");
  gtk_widget_set_visible (self->change, change != NULL);
}

/* What `tessera plan` warns of. */
static void
show_warning (TesseraHeadline *self)
{
  TesseraDocument *document = self->document;
  const TesseraFollowed *planned = document->planned;
  const TesseraLayout *layout;
  char text[160] = "";

  if (planned != NULL && document->data != NULL && !planned->request.is_preview &&
      tessera_data_get_layout (document->data, document->data->own_kind, NULL, NULL,
                               &layout) == TESSERA_OK &&
      tessera_describe_worse (planned->plan->height_bytes, layout, text, sizeof text))
    text[0] = g_ascii_toupper (text[0]);
  gtk_label_set_text (GTK_LABEL (self->warning), text);
  gtk_widget_set_visible (self->warning, text[0] != '\0');
}

/* What a plan is held to is no news to the planner, but to who looks at a plan that is
 * proven and still far above the bound. */
static void
show_hint (TesseraHeadline *self)
{
  TesseraDocument *document = self->document;
  const TesseraFollowed *planned = document->planned;
  gboolean has_hint = planned != NULL && document->data != NULL &&
                      document->data->trace->n_streams > 1 &&
                      !planned->request.is_preview && planned->plan->n_edits == 0 &&
                      (double) tessera_plan_proven_bound (planned->plan) >
                          WORTH_A_HINT * (double) document->data->bound_bytes;

  gtk_widget_set_visible (self->hint, has_hint);
  if (has_hint)
    {
      g_autofree char *proven =
          tessera_describe_bytes (tessera_plan_proven_bound (planned->plan));
      g_autofree char *text = g_strdup_printf (
          "This plan keeps streams apart: no such plan is below %s.", proven);

      gtk_label_set_text (GTK_LABEL (self->hint), text);
    }
}

/* The words and numbers of `tessera plan`. Of a preview nothing is claimed. */
static void
show_proof (TesseraHeadline *self)
{
  const TesseraFollowed *planned = self->document->planned;
  g_autofree char *text = NULL, *tip = NULL;
  g_autofree char *height = NULL, *exact = NULL, *exact_bound = NULL;
  char proof[128];

  gtk_widget_set_visible (self->proof, planned != NULL);
  if (planned == NULL)
    return;
  height = tessera_describe_bytes (planned->plan->height_bytes);
  exact = tessera_describe_bytes_exact (planned->plan->height_bytes);
  exact_bound = tessera_describe_bytes_exact (tessera_plan_proven_bound (planned->plan));
  tessera_plan_describe_proof (planned->plan, proof, sizeof proof);
  text = planned->request.is_preview ? g_strdup_printf ("pool %s, a preview", height)
                                     : g_strdup_printf ("pool %s: %s", height, proof);
  tip =
      g_strdup_printf ("The plan's pool: %s\nProven that no layout of what it is held to "
                       "(its streams, its edits) is lower: %s",
                       exact, exact_bound);
  gtk_label_set_text (GTK_LABEL (self->proof), text);
  tessera_set_tip (self->proof, tip);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraHeadline *self = user;

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
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  gtk_label_set_text (GTK_LABEL (self->title), document->verdict.headline);
  gtk_label_set_text (GTK_LABEL (self->sentence), document->verdict.sentence);
  show_number (self, NATIVE, document->needs.native_bytes);
  show_number (self, EXPANDABLE, document->needs.expandable_bytes);
  show_number (self, PLAN, document->needs.plan_bytes);
}

static void
tessera_headline_dispose (GObject *object)
{
  g_clear_object (&TESSERA_HEADLINE (object)->document);
  G_OBJECT_CLASS (tessera_headline_parent_class)->dispose (object);
}

static void
tessera_headline_class_init (TesseraHeadlineClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_headline_dispose;
}

static void
add_numbers (TesseraHeadline *self)
{
  GtkWidget *grid = gtk_grid_new ();
  GtkWidget *above = tessera_label_new ("smallest device", "caption");

  gtk_grid_set_column_spacing (GTK_GRID (grid), 20);
  gtk_widget_add_css_class (above, "number-span");
  gtk_grid_attach (GTK_GRID (grid), above, 0, 0, BOUND, 1);
  for (int i = 0; i < N_NUMBERS; i++)
    {
      GtkWidget *column = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

      self->numbers[i] = tessera_label_new ("", "number");
      gtk_label_set_width_chars (GTK_LABEL (self->numbers[i]), NUMBER_CHARS);
      gtk_widget_set_name (self->numbers[i], captions[i].name);
      tessera_set_tip (column, captions[i].tooltip);
      gtk_box_append (GTK_BOX (column),
                      tessera_label_new (captions[i].caption, "caption"));
      gtk_box_append (GTK_BOX (column), self->numbers[i]);
      gtk_grid_attach (GTK_GRID (grid), column, i, 1, 1, 1);
    }
  self->proof = tessera_sentence_new ("", "caption");
  gtk_label_set_xalign (GTK_LABEL (self->proof), 1);
  gtk_label_set_width_chars (GTK_LABEL (self->proof), PROOF_CHARS);
  gtk_label_set_max_width_chars (GTK_LABEL (self->proof), PROOF_CHARS);
  gtk_widget_set_name (self->proof, "plan-proof");
  gtk_grid_attach (GTK_GRID (grid), self->proof, 0, 2, N_NUMBERS, 1);
  gtk_widget_set_valign (grid, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (self), grid);
}

static GtkWidget *
sentence_new (const char *css_class)
{
  GtkWidget *sentence = tessera_sentence_new ("", css_class);

  gtk_label_set_width_chars (GTK_LABEL (sentence), SENTENCE_CHARS);
  return sentence;
}

static void
tessera_headline_init (TesseraHeadline *self)
{
  GtkWidget *words = gtk_box_new (GTK_ORIENTATION_VERTICAL, 2);

  self->title = sentence_new ("verdict");
  self->sentence = sentence_new ("verdict-sentence");
  gtk_label_set_selectable (GTK_LABEL (self->sentence), TRUE);
  gtk_widget_set_focusable (self->sentence, FALSE);
  gtk_widget_set_name (self->title, "verdict-headline");
  gtk_widget_set_name (self->sentence, "verdict-sentence");
  gtk_box_append (GTK_BOX (words), self->title);
  gtk_box_append (GTK_BOX (words), self->sentence);
  self->change = sentence_new ("verdict-change");
  gtk_widget_set_name (self->change, "plan-change");
  gtk_box_append (GTK_BOX (words), self->change);
  self->warning = sentence_new ("problem");
  gtk_widget_set_name (self->warning, "plan-warning");
  gtk_box_append (GTK_BOX (words), self->warning);
  self->hint = sentence_new ("verdict-change");
  gtk_widget_set_name (self->hint, "plan-hint");
  gtk_box_append (GTK_BOX (words), self->hint);
  gtk_widget_set_hexpand (words, TRUE);
  gtk_widget_set_valign (words, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (self), words);
  gtk_box_set_spacing (GTK_BOX (self), 24);
  gtk_widget_add_css_class (GTK_WIDGET (self), "headline");
  gtk_widget_set_name (GTK_WIDGET (self), "headline");
  add_numbers (self);
}

GtkWidget *
tessera_headline_new (TesseraDocument *document)
{
  TesseraHeadline *self = g_object_new (TESSERA_TYPE_HEADLINE, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
