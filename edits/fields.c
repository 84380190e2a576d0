/*
 * The fields of a selector, names and texts: private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/private.h"

#include <string.h>

/* Longer texts are no names. */
#define MOST_TEXT_BYTES 1024
#define MOST_NAMES 11

/* By number; 0 is nobody's. */
static const char *const names_of[][MOST_NAMES] = {
  [EDITS_KINDS] = { NULL, "merge", "split", "group", "move", "pin", "together", "apart",
                    "dynamic", "class", "cap" },
  [EDITS_SPLITS] = { NULL, "phase", "size", "module", "step", "at" },
  [EDITS_CLASSES] = { NULL, "persistent", "scoped", "transient", "dynamic" },
};

const char *
edits_get_name (EditsNames names, guint number)
{
  return number < MOST_NAMES ? names_of[names][number] : NULL;
}

guint
edits_find_number (EditsNames names, const char *name)
{
  for (guint i = 1; i < MOST_NAMES; i++)
    if (g_strcmp0 (names_of[names][i], name) == 0)
      return i;
  return 0;
}

#define AT(member)                                                                       \
  G_STRUCT_OFFSET (TesseraSelector, member), sizeof ((TesseraSelector *) NULL)->member
#define TEXT(name, said, member)                                                         \
  {                                                                                      \
    .key = name, .condition = said, .type = EDITS_TEXT, AT (member)                      \
  }
#define NUMBER(name, said, member, highest, unset)                                       \
  {                                                                                      \
    name, said, EDITS_NUMBER, AT (member), .most = highest, .none = unset                \
  }

const EditsField edits_fields[EDITS_N_FIELDS] = {
  { "blocks", NULL, EDITS_BLOCKS, AT (blocks) },
  { "names", NULL, EDITS_BLOCK_NAMES, AT (names) },
  NUMBER ("least_bytes", NULL, least_bytes, G_MAXINT64, 0),
  NUMBER ("most_bytes", NULL, most_bytes, G_MAXINT64, 0),
  NUMBER ("least_life", NULL, least_life, TESSERA_NONE - 1, 0),
  NUMBER ("most_life", NULL, most_life, TESSERA_NONE - 1, 0),
  TEXT ("phase", "phase", phase),
  TEXT ("died_phase", "died", died_phase),
  TEXT ("module", "module", module),
  TEXT ("source", "source", source),
  TEXT ("group", "group", group),
  NUMBER ("step", "step", step, G_MAXINT64, G_MAXUINT64),
  NUMBER ("stream", "stream", stream, G_MAXUINT16, G_MAXUINT32),
  NUMBER ("ordinal", "ordinal", ordinal, TESSERA_NONE - 1, TESSERA_NONE),
  NUMBER ("alive_at", "alive", alive_at, TESSERA_NONE - 1, TESSERA_NONE),
  { "class", "class", EDITS_NAME, AT (lifetime_class), .names = EDITS_CLASSES },
};

guint64
edits_get_number (const EditsField *field, gconstpointer owner)
{
  switch (field->n_bytes)
    {
    case sizeof (guint8):
      return G_STRUCT_MEMBER (guint8, owner, field->offset);
    case sizeof (guint32):
      return G_STRUCT_MEMBER (guint32, owner, field->offset);
    default:
      return G_STRUCT_MEMBER (guint64, owner, field->offset);
    }
}

void
edits_set_number (const EditsField *field, gpointer owner, guint64 number)
{
  switch (field->n_bytes)
    {
    case sizeof (guint8):
      G_STRUCT_MEMBER (guint8, owner, field->offset) = (guint8) number;
      break;
    case sizeof (guint32):
      G_STRUCT_MEMBER (guint32, owner, field->offset) = (guint32) number;
      break;
    default:
      G_STRUCT_MEMBER (guint64, owner, field->offset) = number;
    }
}

char **
edits_get_text (const EditsField *field, gconstpointer owner)
{
  return &G_STRUCT_MEMBER (char *, owner, field->offset);
}

gboolean
edits_is_set (const EditsField *field, gconstpointer owner)
{
  return edits_get_number (field, owner) != field->none;
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

const char *
edits_find_fault_of_text (const char *text)
{
  if (strlen (text) > MOST_TEXT_BYTES)
    return "is longer than 1024 bytes";
  return edits_is_one_line (text) ? NULL : "is not one line of text";
}

/* Returns: the key, or NULL where all can be kept. */
static const char *
find_wrong_in_selector (const TesseraSelector *selector, const char **out_fault)
{
  for (const EditsField *field = edits_fields; field < edits_fields + EDITS_N_FIELDS;
       field++)
    if (field->type == EDITS_TEXT && edits_is_set (field, selector) &&
        (*out_fault = edits_find_fault_of_text (*edits_get_text (field, selector))) !=
            NULL)
      return field->key;
  return NULL;
}

TesseraStatus
edits_check_texts (const TesseraEdit *edit, const char *where, TesseraError *error)
{
  const char *fault = NULL, *key = find_wrong_in_selector (&edit->what, &fault);

  if (key == NULL)
    key = find_wrong_in_selector (&edit->with, &fault);
  if (key == NULL && edit->group != NULL &&
      (fault = edits_find_fault_of_text (edit->group)) != NULL)
    key = "group";
  if (key == NULL)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_INVALID, "%s, \"%s\" %s", where, key, fault);
}

char *
edits_dup_label (const char *name)
{
  g_autofree char *valid = g_utf8_make_valid (name != NULL ? name : "", -1);
  GString *line;

  if (edits_find_fault_of_text (valid) == NULL)
    return g_steal_pointer (&valid);
  line = g_string_new (NULL);
  for (const char *at = valid; *at != '\0'; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);

      if (line->len + strlen ("\u2026") + 4 > MOST_TEXT_BYTES)
        {
          g_string_append (line, "\u2026");
          break;
        }
      g_string_append_unichar (line, g_unichar_iscntrl (c) ? ' ' : c);
    }
  return g_string_free (line, FALSE);
}
