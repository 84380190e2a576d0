/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include "nullcuda/settings.h"

/* Best first, as cli_policies has them: what fits natively needs nobody's help. */
typedef enum
{
  FITS_NATIVELY,
  FITS_EXPANDABLE,
  FITS_PLANNED,
  FITS_NOT
} Fits;

static const char *const fits_names[] = {
  [FITS_NATIVELY] = "native",
  [FITS_EXPANDABLE] = "expandable",
  [FITS_PLANNED] = "plan",
  [FITS_NOT] = "no",
};

guint64
cli_answer_available (const CliQuestion *question)
{
  return question->gpu_bytes > question->headroom_bytes
             ? question->gpu_bytes - question->headroom_bytes
             : 0;
}

/* A plan that was just made, and that no run can follow. */
static gboolean
is_out_of_question (const CliStudy *study, TesseraLayoutKind kind)
{
  return kind == TESSERA_LAYOUT_PLAN && study->followed == NULL &&
         study->plan->followable == TESSERA_FOLLOWABLE_NO;
}

static gboolean
fits (const CliStudy *study, TesseraLayoutKind kind, const CliQuestion *question)
{
  return study->need[kind].smallest_bytes <= cli_answer_available (question) &&
         !is_out_of_question (study, kind);
}

/* Who follows a plan asks about that one. */
static Fits
answer (const CliStudy *study, const CliQuestion *question)
{
  Fits best = study->followed != NULL ? FITS_PLANNED : FITS_NATIVELY;

  while (best < FITS_NOT && !fits (study, cli_policies[best], question))
    best++;
  return best;
}

gboolean
cli_answer_is_yes (const CliStudy *study, const CliQuestion *question)
{
  Fits fitting = answer (study, question);

  return fitting <= FITS_EXPANDABLE || question->adapted != NULL ||
         (fitting == FITS_PLANNED && study->followed != NULL);
}

/* Natively in less than the plan needs, and not only by flushing its cache over and over.
 */
static gboolean
is_native_better (const CliStudy *study)
{
  return study->needs.native_bytes < study->needs.plan_bytes &&
         study->need[TESSERA_LAYOUT_NATIVE].retries == 0;
}

/* Never worse than PyTorch alone: a plan that is must say so. */
static gboolean
is_plan_worse (const CliStudy *study)
{
  return study->needs.plan_bytes > study->needs.expandable_bytes ||
         is_native_better (study);
}

/* "gpt.tsp was followed by 5783 of 5783 requests": what this run did with the plan. */
static char *
followed_text (const CliStudy *study)
{
  const TesseraLayout *layout = study->layout;
  g_autofree char *when =
      layout->declined_index != 0
          ? g_strdup_printf (" does not suit and was declined at event %u",
                             layout->declined_index)
          : g_strdup (" was declined before the first request");

  if (layout->pool_bytes == 0 || layout->declined_index != 0)
    return g_strdup_printf ("%s%s; the run went on by the rules of expandable segments",
                            study->followed, when);
  return g_strdup_printf (
      "%s was followed by %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " requests",
      study->followed, layout->n_hits, layout->n_hits + layout->n_misses);
}

/* As fit_sentence(), of a run that was to follow a plan. */
static char *
fit_followed (const CliStudy *study, const CliQuestion *question)
{
  g_autofree char *followed = followed_text (study);

  return g_strdup_printf (
      "%s: %s, with at most %s reserved. Such a run needs %s%s, and %s leaves %s to "
      "PyTorch; without a plan native needs %s, expandable segments %s.",
      answer (study, question) == FITS_NOT ? "Does not fit"
      : question->is_complete              ? "Fits"
                                           : "What was seen fits",
      followed, TESSERA_SIZE (study->layout->peak_reserved_bytes),
      TESSERA_SIZE (study->needs.plan_bytes),
      /* Less than was reserved, or more: told apart, or one of the two looks wrong. */
      study->needs.plan_bytes < study->layout->peak_reserved_bytes
          ? " (it gives back what is free where memory is short)"
      : study->layout->n_ooms > 0 ? " (with what was refused to it)"
                                  : "",
      question->gpu, TESSERA_SIZE (cli_answer_available (question)),
      TESSERA_SIZE (study->needs.native_bytes),
      TESSERA_SIZE (study->needs.expandable_bytes));
}

/* What fits, and where. That something fits is said of what was seen. */
static char *
fit_sentence (const CliStudy *study, const CliQuestion *question)
{
  const char *fits_word = question->is_complete ? "Fits" : "What was seen fits";
  const char *there = TESSERA_SIZE (cli_answer_available (question));
  g_autofree char *needs = g_strdup_printf (
      "native needs %s, expandable segments %s, the plan %s, and %s leaves %s to PyTorch",
      TESSERA_SIZE (study->needs.native_bytes),
      TESSERA_SIZE (study->needs.expandable_bytes),
      TESSERA_SIZE (study->needs.plan_bytes), question->gpu, there);

  if (study->followed != NULL)
    return fit_followed (study, question);
  switch (answer (study, question))
    {
    case FITS_NATIVELY:
      return g_strdup_printf ("%s natively: it needs %s, and %s leaves %s to PyTorch.",
                              fits_word, TESSERA_SIZE (study->needs.native_bytes),
                              question->gpu, there);
    case FITS_EXPANDABLE:
      return g_strdup_printf ("%s only with expandable segments "
                              "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)%s: %s.",
                              fits_word,
                              fits (study, TESSERA_LAYOUT_PLAN, question) &&
                                      !is_plan_worse (study)
                                  ? " or with the plan"
                                  : "",
                              needs);
    case FITS_PLANNED:
      return g_strdup_printf ("%s only with the plan: %s.", fits_word, needs);
    case FITS_NOT:
      break;
    }
  return g_strdup_printf ("Does not fit: %s; %s are live at once%s.", needs,
                          TESSERA_SIZE (study->needs.bound_bytes),
                          study->needs.bound_bytes > cli_answer_available (question)
                              ? ", more than any layout can hold"
                              : "");
}

/* One sentence that a person acts on, behind what would end a longer run, or what is not
 * in the trace. */
static char *
sentence (const CliStudy *study, const CliQuestion *question)
{
  g_autofree char *alone = fit_sentence (study, question);
  g_autofree char *fit =
      question->adapted == NULL
          ? g_strdup (alone)
          : g_strdup_printf ("%s As it begins: %c%s", question->adapted,
                             g_ascii_tolower (alone[0]), alone + 1);
  const char *cut = tessera_describe_cut (study->trace);
  g_autofree char *leak = tessera_leak_describe (
      &study->needs.leak, study->needs.native_bytes, cli_answer_available (question));

  if (leak == NULL)
    return g_strdup_printf ("%s%s%s", cut != NULL ? cut : "", cut != NULL ? " " : "",
                            fit);
  return g_strdup_printf ("%s%s%s The %u steps seen: %c%s", leak, cut != NULL ? " " : "",
                          cut != NULL ? cut : "", study->needs.leak.n_steps,
                          g_ascii_tolower (fit[0]), fit + 1);
}

static void
say_plan_warning (const CliStudy *study)
{
  gboolean is_native = is_native_better (study) &&
                       study->needs.native_bytes < study->needs.expandable_bytes;
  const TesseraNeed *need =
      &study->need[is_native ? TESSERA_LAYOUT_NATIVE : TESSERA_LAYOUT_EXPANDABLE];

  if (!is_plan_worse (study))
    return;
  cli_say ("The plan needs a device of %s, %s one of %s",
           TESSERA_SIZE (study->needs.plan_bytes),
           is_native ? "native" : "expandable segments",
           TESSERA_SIZE (need->smallest_bytes));
  if (need->retries > 0)
    cli_say (" with %" G_GUINT64_FORMAT " flushes of its cache", need->retries);
  cli_say (".\n");
  if (study->across.smallest_bytes > 0 &&
      study->across.smallest_bytes < need->smallest_bytes &&
      tessera_trace_get_meta (study->trace, "contract") == NULL)
    cli_say (
        "A plan across streams needs one of %s: whether the program allows it is what "
        "--contract looks at.\n",
        TESSERA_SIZE (study->across.smallest_bytes));
}

/* What there is to say of a plan that was just made. */
static void
say_new_plan (const CliStudy *study)
{
  g_autofree char *followable = cli_followable_text (study->plan);

  say_plan_warning (study);
  if (study->lengths != NULL)
    {
      g_autofree char *most = cli_most_text (study->lengths);
      cli_say ("One plan for every length up to %s is made: steps may differ when it is "
               "followed\n",
               most);
    }
  cli_say ("can a run follow it? %s\n", cli_shown (followable));
  if (study->why_no_lengths != NULL)
    cli_say ("%s\n", cli_shown (study->why_no_lengths));
}

/* What a run that computes nothing cannot know. */
static const char *const not_seen[] = {
  "memory outside PyTorch's allocator (CUDA context, kernels, NCCL): the head-room is an "
  "assumption",
  "workspaces that cuBLAS, cuDNN and cuFFT choose by GPU and shape",
  "sizes that depend on values (masks, expert routing): counts are drawn or zero, not "
  "computed",
  "when side streams finish: a modelled clock says",
};

void
cli_answer_tell_smallest (const CliStudy *study, const CliQuestion *question)
{
  cli_say ("Smallest known GPU%s", question->is_complete ? "" : " for what was seen");
  cli_object ("smallest_gpus");
  for (size_t i = 0; i < CLI_N_POLICIES; i++)
    {
      const NullProfile *gpu = null_profile_least (
          study->need[cli_policies[i]].smallest_bytes + question->headroom_bytes);
      const gboolean is_out = is_out_of_question (study, cli_policies[i]);

      if (!is_out)
        cli_say ("%s %s %s", i > 0 ? "," : ":",
                 cli_study_policy_name (study, cli_policies[i]),
                 gpu != NULL ? gpu->name : "none");
      cli_member (fits_names[i], gpu != NULL && !is_out ? gpu->name : NULL);
    }
  cli_close ();
  cli_say ("\n");
}

void
cli_answer_tell (const CliStudy *study, const CliQuestion *question)
{
  g_autofree char *text = sentence (study, question);

  cli_say ("%s\n", text);
  if (study->trace->n_devices > 1)
    cli_say ("That is GPU %u, of %zu the one with most requests: tessera info --device N "
             "tells of another.\n",
             study->trace->device, study->trace->n_devices);
  if (study->followed == NULL)
    {
      say_new_plan (study);
      cli_tell_kept (study);
    }
  cli_tell_needs (study);
  cli_say ("\n%s has %s; head-room %s (%s)\n", question->gpu,
           TESSERA_SIZE (question->gpu_bytes), TESSERA_SIZE (question->headroom_bytes),
           question->headroom_why);
  cli_member ("gpu", question->gpu);
  cli_member ("gpu_bytes", question->gpu_bytes);
  cli_member ("headroom_bytes", question->headroom_bytes);
  cli_member ("headroom_why", question->headroom_why);
  cli_member ("available_bytes", cli_answer_available (question));
  cli_member ("live_bytes", study->layout->peak_live_bytes);
  cli_member ("fits", fits_names[answer (study, question)]);
  cli_member ("sentence", text);
  cli_member_warnings (study);
  cli_member_followable (study->plan);
  cli_say ("Not seen by a run that computes nothing:\n");
  cli_array ("not_seen");
  for (size_t i = 0; i < G_N_ELEMENTS (not_seen); i++)
    {
      cli_say ("  - %s\n", not_seen[i]);
      cli_member (NULL, not_seen[i]);
    }
  cli_close ();
}
