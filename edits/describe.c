/*
 * Edits in one sentence: query.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/query.h"

#include "db/size-text.h"
#include "edits/names.h"

static char *
describe_selector (const TesseraSelector *selector)
{
  char *text = tessera_query_format (selector);

  if (*text != '\0')
    return text;
  g_free (text);
  return g_strdup ("all blocks");
}

char *
tessera_edit_describe (const TesseraEdit *edit)
{
  g_autofree char *what = describe_selector (&edit->what);
  const char *size = TESSERA_SIZE (edit->at);

  switch (edit->kind)
    {
    case TESSERA_EDIT_MERGE:
      return g_strdup_printf ("Merge the groups of %s as \"%s\"", what, edit->group);
    case TESSERA_EDIT_SPLIT:
      if (edit->by == TESSERA_SPLIT_AT)
        return g_strdup_printf ("Split the groups of %s at event %" G_GUINT64_FORMAT,
                                what, edit->at);
      return g_strdup_printf ("Split the groups of %s by %s", what,
                              edits_split_name (edit->by));
    case TESSERA_EDIT_GROUP:
      return g_strdup_printf ("Group %s as \"%s\"", what, edit->group);
    case TESSERA_EDIT_MOVE:
      return g_strdup_printf ("Move %s to \"%s\"", what, edit->group);
    case TESSERA_EDIT_PIN:
      return g_strdup_printf ("Pin %s at %s", what, size);
    case TESSERA_EDIT_TOGETHER:
      return g_strdup_printf ("Keep %s together", what);
    case TESSERA_EDIT_APART:
      if (edit->has_with)
        {
          g_autofree char *with = describe_selector (&edit->with);

          return g_strdup_printf ("Keep %s apart from %s", what, with);
        }
      return g_strdup_printf ("Keep %s apart from each other", what);
    case TESSERA_EDIT_DYNAMIC:
      return g_strdup_printf ("Leave %s to the dynamic allocator", what);
    case TESSERA_EDIT_CLASS:
      return g_strdup_printf ("Take %s for %s", what,
                              edits_class_name (edit->lifetime_class));
    case TESSERA_EDIT_CAP:
      return g_strdup_printf ("Cap the pool at %s", size);
    }
  return g_strdup ("Change something");
}
