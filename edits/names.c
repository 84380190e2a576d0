/*
 * Names of kinds, classes and ways to split: see names.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/names.h"

/* By number; 0 is nobody's. */
static const char *const kinds[] = { NULL,      "merge", "split",    "group",
                                     "move",    "pin",   "together", "apart",
                                     "dynamic", "class", "cap" };
static const char *const splits[] = { NULL, "phase", "size", "module", "step", "at" };
static const char *const classes[] = { NULL, "persistent", "scoped", "transient",
                                       "dynamic" };

static const char *
name_of (const char *const *names, gsize n_names, guint number)
{
  return number < n_names ? names[number] : NULL;
}

static guint
number_of (const char *const *names, gsize n_names, const char *name)
{
  for (guint i = 1; i < n_names; i++)
    if (g_str_equal (names[i], name))
      return i;
  return 0;
}

const char *
edits_kind_name (TesseraEditKind kind)
{
  return name_of (kinds, G_N_ELEMENTS (kinds), kind);
}

const char *
edits_split_name (TesseraSplitBy by)
{
  return name_of (splits, G_N_ELEMENTS (splits), by);
}

const char *
edits_class_name (guint lifetime_class)
{
  return name_of (classes, G_N_ELEMENTS (classes), lifetime_class);
}

TesseraEditKind
edits_kind_of (const char *name)
{
  return (TesseraEditKind) number_of (kinds, G_N_ELEMENTS (kinds), name);
}

TesseraSplitBy
edits_split_of (const char *name)
{
  return (TesseraSplitBy) number_of (splits, G_N_ELEMENTS (splits), name);
}

guint8
edits_class_of (const char *name)
{
  return (guint8) number_of (classes, G_N_ELEMENTS (classes), name);
}

gboolean
edits_is_one_line (const char *text)
{
  if (!g_utf8_validate (text, -1, NULL))
    return FALSE;
  for (; *text != '\0'; text = g_utf8_next_char (text))
    if (g_unichar_iscntrl (g_utf8_get_char (text)))
      return FALSE;
  return TRUE;
}
