/*
 * Why is reserved above allocated: one sentence, one number.
 *
 * Of a run that failed: would the request have fitted into all that was free? If not, it
 * is not fragmentation. If so, what kept most of it back is the cause. Of a run that went
 * through: what share of the peak was never in use, by the published definition of
 * fragmentation (1 - peak allocated / peak reserved), and where most of it lies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"

#include <glib.h>
#include <inttypes.h>

#include "allocator/caching.h"
#include "db/size-text.h"

/* Below this share of reserved there is nothing worth winning: the tails of blocks and
 * the last segment of each pool are always there. */
#define LITTLE_SHARE 0.03
#define WHERE_PENDING " freed but waiting for other streams"
#define WHERE_CACHE " in whole free segments"
#define WHERE_EDGES " at the edges of segments in use"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraLayout *layout;
  const TesseraParts *parts;
  TesseraNeeds needs;
  uint64_t free_at_driver_bytes; /* 0 where not known */
  uint64_t free_bytes;           /* there and inside the segments */
  uint64_t device_bytes;         /* 0: not known */
  bool is_recorded;
} Case;

/* "@before 1.23 GiB@after", or nothing for 0 bytes. Returns: whether it said anything. */
static bool
say_bytes (GString *text, const char *before, uint64_t bytes, const char *after)
{
  if (bytes > 0)
    g_string_append_printf (text, "%s%s%s", before, TESSERA_SIZE (bytes), after);
  return bytes > 0;
}

static double
share (uint64_t part, uint64_t whole)
{
  return whole > 0 ? (double) part / (double) whole : 0;
}

/* What kept most of the free memory back. */
static TesseraCause
largest_cause (uint64_t holes_bytes,
               uint64_t streams_bytes,
               uint64_t other_size_bytes,
               uint64_t pending_bytes,
               uint64_t cache_bytes)
{
  const struct
  {
    TesseraCause cause;
    uint64_t bytes;
  } causes[] = {
    { TESSERA_CAUSE_FRAGMENTATION, holes_bytes },
    { TESSERA_CAUSE_STREAMS, streams_bytes },
    { TESSERA_CAUSE_OTHER_SIZE, other_size_bytes },
    { TESSERA_CAUSE_PENDING, pending_bytes },
    { TESSERA_CAUSE_CACHE, cache_bytes },
  };
  size_t largest = 0;

  for (size_t i = 1; i < G_N_ELEMENTS (causes); i++)
    if (causes[i].bytes > causes[largest].bytes)
      largest = i;
  return causes[largest].bytes > 0 ? causes[largest].cause : TESSERA_CAUSE_NONE;
}

static void
say_needs (const Case *this, GString *text)
{
  const TesseraNeeds *needs = &this->needs;
  const struct
  {
    uint64_t bytes;
    const char *with;
  } policies[] = {
    { needs->native_bytes, " native" },
    { needs->expandable_bytes, " with expandable segments" },
    { needs->plan_bytes, " with the plan" },
    { needs->across_bytes, " with one across streams" },
  };
  const char *separator = " Smallest device: ";
  bool is_least = true;

  for (size_t i = 0; i < G_N_ELEMENTS (policies); i++)
    if (say_bytes (text, separator, policies[i].bytes, policies[i].with))
      {
        separator = ", ";
        is_least = is_least && needs->bound_bytes <= policies[i].bytes;
      }
  if (*separator != ',')
    return;
  /* A device may be smaller than what was ever held at once: a policy short of memory
     waits for the side streams, and what was pending is gone. */
  if (is_least)
    say_bytes (text, "; no layout is below ", needs->bound_bytes, "");
  else
    say_bytes (text, "; below ", needs->bound_bytes,
               " only by waiting for other streams");
  g_string_append (text, ".");
}

/* What would have saved a run that failed. */
static void
say_cures (const Case *this, GString *text)
{
  const TesseraNeeds *needs = &this->needs;
  bool was_expandable = this->is_recorded ? this->trace->settings.is_expandable
                                          : this->layout->kind != TESSERA_LAYOUT_NATIVE;

  if (this->device_bytes == 0)
    {
      say_needs (this, text);
      return;
    }
  const struct
  {
    uint64_t bytes;
    const char *fit, *need;
  } cures[] = {
    { was_expandable ? 0 : needs->expandable_bytes, " Expandable segments fit in ",
      " Expandable segments need " },
    { needs->plan_bytes, " The plan fits in ", " The plan needs " },
  };

  say_bytes (text, " ", needs->bound_bytes, " were needed.");
  for (size_t i = 0; i < G_N_ELEMENTS (cures); i++)
    {
      bool fits = cures[i].bytes <= this->device_bytes;

      say_bytes (text, fits ? cures[i].fit : cures[i].need, cures[i].bytes,
                 fits ? "." : ": no cure.");
    }
  if (needs->across_bytes > 0 && needs->across_bytes <= this->device_bytes)
    say_bytes (text, " A plan across streams fits in ", needs->across_bytes, ".");
}

static void
say_outside (const Case *this, GString *text)
{
  const uint64_t worth_saying = (uint64_t) 1 << 20;

  if (this->parts->outside_bytes != TESSERA_NOWHERE &&
      this->parts->outside_bytes >= worth_saying)
    say_bytes (text, " ", this->parts->outside_bytes,
               " of the device are not PyTorch's.");
}

typedef struct
{
  uint64_t bytes;
  const char *where;
  uint64_t whole_bytes; /* of these in whole free segments; 0: not told */
} Place;

/* "6.18 GiB at the driver, 7.87 GiB in pieces inside PyTorch's segments": all but what
 * would not change the picture. */
static void
say_places (GString *text, const Place *places, size_t n_places)
{
  const uint64_t one_in = 200;
  uint64_t all_bytes = 0;
  const char *separator = "";

  for (size_t i = 0; i < n_places; i++)
    all_bytes += places[i].bytes;
  for (size_t i = 0; i < n_places; i++)
    if (places[i].bytes >= all_bytes / one_in &&
        say_bytes (text, separator, places[i].bytes, places[i].where))
      {
        separator = ", ";
        say_bytes (text, " (", places[i].whole_bytes, " of it in whole free segments)");
      }
}

/* A program of one stream can have private pools. */
static bool
has_streams (const Case *this)
{
  return this->trace->n_streams > 1;
}

static const char *
where_of_streams (const Case *this)
{
  return has_streams (this) ? " held by other streams or pools" : " held by other pools";
}

static Place
place_of_other_size (const TesseraParts *parts)
{
  return (Place){ parts->other_size_bytes,
                  parts->request_bytes <= TESSERA_SMALL_BYTES
                      ? " in segments for large requests"
                      : " in segments for small requests",
                  parts->other_size_cache_bytes };
}

/* Without what the steps kept the request would have had its place. */
static bool
has_leaked (const Case *this)
{
  return this->needs.leak.step_bytes > 0 &&
         this->needs.leak.kept_bytes + this->free_bytes >= this->parts->request_bytes;
}

/* PyTorch takes whole pages of 2 MiB, of 20 MiB for requests up to 10 MiB. */
static bool
driver_could_serve (const Case *this)
{
  const uint64_t page_bytes = (uint64_t) 2 << 20, large_bytes = (uint64_t) 20 << 20;
  uint64_t request_bytes = this->parts->request_bytes;

  return this->is_recorded && this->free_at_driver_bytes >= large_bytes &&
         this->free_at_driver_bytes - page_bytes >= request_bytes;
}

static void
judge_failure (const Case *this,
               TesseraVerdict *verdict,
               GString *headline,
               GString *sentence)
{
  const char *const endings[] = {
    [TESSERA_CAUSE_NONE] = "of size, not of fragmentation.",
    [TESSERA_CAUSE_FRAGMENTATION] = "of fragmentation, not of size.",
    [TESSERA_CAUSE_STREAMS] = has_streams (this)
                                  ? "with its free memory held by other streams or pools."
                                  : "with its free memory held by other pools.",
    [TESSERA_CAUSE_OTHER_SIZE] =
        "with its free memory kept for requests of another size.",
    [TESSERA_CAUSE_PENDING] = "with freed memory still waiting for other streams.",
    [TESSERA_CAUSE_CACHE] = "with whole segments free in its own cache.",
    [TESSERA_CAUSE_SIZE] = "of size, not of fragmentation.",
    [TESSERA_CAUSE_LEAK] = "of a leak, not of fragmentation.",
    [TESSERA_CAUSE_LIMIT] = "of a limit, with room left at the driver.",
  };
  const TesseraParts *parts = this->parts;
  uint64_t live_bytes = parts->live_bytes + parts->rounding_bytes;
  const Place places[] = {
    { this->free_at_driver_bytes, " at the driver" },
    { parts->hard_bytes + parts->soft_bytes, " in pieces inside PyTorch's segments" },
    { parts->other_stream_bytes, where_of_streams (this) },
    place_of_other_size (parts),
    { parts->pending_bytes, WHERE_PENDING },
    { parts->cache_bytes, WHERE_CACHE },
  };

  verdict->cause =
      this->free_bytes < parts->request_bytes
          ? has_leaked (this) ? TESSERA_CAUSE_LEAK : TESSERA_CAUSE_SIZE
      : driver_could_serve (this)
          ? TESSERA_CAUSE_LIMIT
          : largest_cause (parts->hard_bytes + parts->soft_bytes,
                           parts->other_stream_bytes, parts->other_size_bytes,
                           parts->pending_bytes, parts->cache_bytes);
  if (verdict->cause == TESSERA_CAUSE_NONE)
    verdict->cause = TESSERA_CAUSE_SIZE;
  g_string_append_printf (headline, "%s %s", this->is_recorded ? "Died" : "Would die",
                          endings[verdict->cause]);
  const char *asked = TESSERA_SIZE (parts->request_bytes);

  if (verdict->cause == TESSERA_CAUSE_LIMIT)
    {
      g_string_append_printf (sentence, "%s asked with %s free at the driver", asked,
                              TESSERA_SIZE (this->free_at_driver_bytes));
      g_string_append (
          sentence,
          ", where a new segment would have fitted: a memory fraction, a pool's "
          "own allocator or another library refused it.");
    }
  else if (verdict->cause == TESSERA_CAUSE_SIZE || verdict->cause == TESSERA_CAUSE_LEAK)
    {
      g_string_append_printf (
          sentence,
          "This is not fragmentation, because all that was free would not hold it: "
          "%s asked, %s free, and live blocks alone take ",
          asked, TESSERA_SIZE (this->free_bytes));
      g_string_append_printf (sentence, "%s.", TESSERA_SIZE (live_bytes));
    }
  else
    {
      g_string_append_printf (sentence, "%s asked with %s free: ", asked,
                              TESSERA_SIZE (this->free_bytes));
      say_places (sentence, places, G_N_ELEMENTS (places));
      say_bytes (sentence, "; the largest hole is ", parts->largest_hole_bytes, "");
      g_string_append (sentence, ".");
    }
  say_cures (this, sentence);
}

/* Free memory when reserved first peaks, or does so again after a start with full caches.
 * What only serves requests of another size counts by its own shape here: no request
 * failed for it. */
static void
judge_peak (const Case *this, TesseraVerdict *verdict, GString *sentence)
{
  const TesseraParts *parts = this->parts;
  uint64_t hard_bytes = parts->hard_bytes + parts->other_size_hard_bytes;
  uint64_t soft_bytes = parts->soft_bytes + parts->other_size_soft_bytes;
  uint64_t cache_bytes = parts->cache_bytes + parts->other_size_cache_bytes;
  uint64_t streams_bytes = parts->other_stream_bytes;
  const Place places[] = {
    { parts->hard_bytes, " between live blocks" }, { parts->soft_bytes, WHERE_EDGES },
    { streams_bytes, where_of_streams (this) },    place_of_other_size (parts),
    { parts->pending_bytes, WHERE_PENDING },       { parts->cache_bytes, WHERE_CACHE },
  };

  verdict->cause = largest_cause (hard_bytes + soft_bytes, streams_bytes, 0,
                                  parts->pending_bytes, cache_bytes);
  if (verdict->cause == TESSERA_CAUSE_NONE)
    return;
  if (parts->reserved_bytes < this->layout->peak_reserved_bytes)
    say_bytes (sentence, "; free when reserved comes back, to ", parts->reserved_bytes,
               ": ");
  else
    g_string_append (sentence, "; free when reserved first peaks: ");
  say_places (sentence, places, G_N_ELEMENTS (places));
}

/* Where most of what was never in use lay. */
static const char *
where_of (const Case *this, TesseraCause cause)
{
  const TesseraParts *parts = this->parts;

  if (cause == TESSERA_CAUSE_STREAMS)
    return where_of_streams (this);
  if (cause != TESSERA_CAUSE_FRAGMENTATION)
    return cause == TESSERA_CAUSE_PENDING ? WHERE_PENDING : WHERE_CACHE;
  return parts->soft_bytes + parts->other_size_soft_bytes >
                 parts->hard_bytes + parts->other_size_hard_bytes
             ? WHERE_EDGES
             : " in holes between blocks";
}

static void
judge_success (const Case *this,
               TesseraVerdict *verdict,
               GString *headline,
               GString *sentence)
{
  const TesseraLayout *layout = this->layout;
  uint64_t wasted_bytes = layout->peak_reserved_bytes > layout->peak_allocated_bytes
                              ? layout->peak_reserved_bytes - layout->peak_allocated_bytes
                              : 0;
  double fragmentation = share (wasted_bytes, layout->peak_reserved_bytes);

  if (layout->peak_reserved_bytes == 0)
    {
      g_string_append (headline, "Nothing was reserved.");
      g_string_append (sentence, "No memory was taken from the driver in this trace.");
      return;
    }
  g_string_append_printf (sentence, "%s of %s reserved were never allocated",
                          TESSERA_SIZE (wasted_bytes),
                          TESSERA_SIZE (layout->peak_reserved_bytes));
  say_bytes (sentence, " (peak allocated ", layout->peak_allocated_bytes, "");
  if (layout->peak_active_bytes > layout->peak_allocated_bytes)
    say_bytes (sentence, ", with what waits for other streams ",
               layout->peak_active_bytes, "");
  g_string_append (sentence, ")");
  if (fragmentation >= LITTLE_SHARE)
    judge_peak (this, verdict, sentence);
  g_string_append (sentence, ".");
  if (verdict->cause == TESSERA_CAUSE_NONE)
    g_string_append_printf (
        headline, "%.1f %% of reserved is lost to fragmentation: nothing to win here.",
        100 * fragmentation);
  else
    g_string_append_printf (headline,
                            "%.1f %% of reserved is never in use, most of it%s.",
                            100 * fragmentation, where_of (this, verdict->cause));
  if (verdict->cause == TESSERA_CAUSE_CACHE)
    g_string_append (sentence, " Whole segments are given back before anything fails.");
  say_needs (this, sentence);
}

/* How the plan fared that the recorded run followed. */
static void
say_followed (const Case *this, GString *sentence)
{
  const TesseraLayout *layout = this->layout;
  const char *source = tessera_trace_get_meta (this->trace, "plan_source");

  if (layout->pool_bytes == 0)
    return;
  g_string_append_printf (
      sentence, " Plan %s was followed: %" PRIu64 " hits, %" PRIu64 " misses",
      source != NULL ? source : "without a name", layout->n_hits, layout->n_misses);
  if (layout->n_planned_misses > 0)
    g_string_append_printf (sentence, ", %" PRIu64 " of them planned",
                            layout->n_planned_misses);
  if (layout->n_misses > 0)
    say_bytes (sentence, " (", layout->miss_bytes, ")");
  say_bytes (sentence, ", pool ", layout->pool_bytes, "");
  if (layout->declined_index == 0 && layout->peak_reserved_bytes > layout->pool_bytes)
    say_bytes (sentence, ", extras ", layout->peak_reserved_bytes - layout->pool_bytes,
               "");
  if (layout->declined_index > 0)
    g_string_append_printf (
        sentence, "; it did not suit the run, which declined it at event %" PRIu32,
        layout->declined_index);
  g_string_append (sentence, ".");
}

const char *
tessera_describe_cut (const TesseraTrace *trace)
{
  const char *closed = tessera_trace_get_meta (trace, TESSERA_META_CLOSED);

  return g_strcmp0 (closed, "no") == 0
             ? "The recording has no end (it goes on, was killed, or the disk was "
               "full): what came after its last event is in no figure here."
             : NULL;
}

/* A leak comes first: whatever else is true of the trace, a longer run ends by it. */
static void
put_leak_first (const Case *this,
                TesseraVerdict *verdict,
                GString *headline,
                GString *sentence)
{
  uint64_t needed_bytes = this->needs.native_bytes > 0
                              ? this->needs.native_bytes
                              : this->layout->peak_reserved_bytes;

  g_autofree char *text = tessera_leak_describe (&this->needs.leak, needed_bytes,
                                                 verdict->died ? 0 : this->device_bytes);

  if (text == NULL)
    return;
  g_string_prepend_c (sentence, ' ');
  if (verdict->died)
    {
      g_string_prepend (sentence, text);
      return;
    }
  verdict->cause = TESSERA_CAUSE_LEAK;
  g_string_prepend (sentence, headline->str);
  g_string_assign (headline, text);
}

uint32_t
tessera_verdict_moment (const TesseraLayout *layout)
{
  return layout->n_ooms > 0 ? layout->ooms[layout->n_ooms - 1].event_index
                            : layout->peak_reserved_index;
}

uint64_t
tessera_needs_pytorch (const TesseraNeeds *needs)
{
  if (needs->native_bytes == 0 || needs->expandable_bytes == 0)
    return 0;
  return needs->native_bytes < needs->expandable_bytes ? needs->native_bytes
                                                       : needs->expandable_bytes;
}

void
tessera_verdict (const TesseraTrace *trace,
                 const TesseraLayout *layout,
                 const TesseraParts *parts,
                 const TesseraNeeds *needs,
                 TesseraVerdict *out_verdict)
{
  /* A dry run says what it leaves to CUDA. */
  uint64_t headroom_bytes = tessera_trace_get_number (trace, TESSERA_META_HEADROOM);
  Case this = {
    .trace = trace,
    .layout = layout,
    .parts = parts,
    .device_bytes = trace->device_bytes - MIN (headroom_bytes, trace->device_bytes),
    .is_recorded = layout->kind == TESSERA_LAYOUT_RECORDED,
  };
  g_autoptr (GString) headline = g_string_new (NULL);
  g_autoptr (GString) sentence = g_string_new (NULL);

  *out_verdict = (TesseraVerdict){ .parts = *parts, .died = layout->n_ooms > 0 };
  if (needs != NULL)
    this.needs = *needs;
  if (parts->free_at_driver_bytes != TESSERA_NOWHERE)
    {
      this.free_at_driver_bytes = parts->free_at_driver_bytes;
      /* At least so much is there. */
      if (this.device_bytes == 0)
        this.device_bytes = parts->reserved_bytes + parts->free_at_driver_bytes;
    }
  this.free_bytes = this.free_at_driver_bytes + parts->reserved_bytes -
                    parts->live_bytes - parts->rounding_bytes;
  if (out_verdict->died)
    judge_failure (&this, out_verdict, headline, sentence);
  else
    judge_success (&this, out_verdict, headline, sentence);
  say_outside (&this, sentence);
  say_followed (&this, sentence);
  if (tessera_describe_cut (trace) != NULL)
    g_string_append_printf (sentence, " %s", tessera_describe_cut (trace));
  put_leak_first (&this, out_verdict, headline, sentence);
  g_strlcpy (out_verdict->headline, headline->str, sizeof out_verdict->headline);
  g_strlcpy (out_verdict->sentence, sentence->str, sizeof out_verdict->sentence);
}

char *
tessera_describe_worse (uint64_t height_bytes, const TesseraLayout *layout)
{
  if (height_bytes <= layout->peak_reserved_bytes || layout->n_ooms > 0)
    return NULL;
  return g_strdup_printf (
      "the plan takes %s where the run as it was reserved %s: following it would be "
      "worse",
      TESSERA_SIZE (height_bytes), TESSERA_SIZE (layout->peak_reserved_bytes));
}

uint64_t
tessera_room_bytes (const TesseraTrace *trace,
                    const TesseraLayout *layout,
                    bool *out_is_device)
{
  uint64_t room_bytes = trace->device_bytes;

  *out_is_device = room_bytes > 0;
  for (size_t i = 0; !*out_is_device && i < layout->n_ooms; i++)
    if (layout->ooms[i].free_at_driver_bytes != TESSERA_NOWHERE &&
        layout->curves.reserved_bytes != NULL)
      room_bytes = MAX (room_bytes,
                        layout->ooms[i].free_at_driver_bytes +
                            layout->curves.reserved_bytes[layout->ooms[i].event_index]);
  return room_bytes;
}
