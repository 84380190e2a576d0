/*
 * Which device of the file: a list in the header.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/kit/kit.h"

static void
on_selected (GtkDropDown *list, GParamSpec *property, TesseraDocument *document)
{
  guint at = gtk_drop_down_get_selected (list);

  if (document->data != NULL && at < document->data->trace->n_devices)
    tessera_document_set_device (document, document->data->trace->devices[at].device);
}

static void
show_names (GtkDropDown *list, const TesseraTrace *trace)
{
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);

  for (size_t i = 0; i < trace->n_devices; i++)
    gtk_string_list_take (names, g_strdup_printf ("Device %u", trace->devices[i].device));
  gtk_drop_down_set_model (list, G_LIST_MODEL (names));
}

/* Also after a device could not be opened: then the one that stayed is the one chosen. */
static void
show_choice (GtkDropDown *list, const TesseraTrace *trace)
{
  for (guint i = 0; i < trace->n_devices; i++)
    if (trace->devices[i].device == trace->device)
      gtk_drop_down_set_selected (list, i);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer widget)
{
  const TesseraTrace *trace = document->data != NULL ? document->data->trace : NULL;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_WORK)))
    return;
  gtk_widget_set_visible (widget, trace != NULL && trace->n_devices > 1);
  if (trace == NULL || trace->n_devices <= 1)
    return;
  g_signal_handlers_block_by_func (widget, on_selected, document);
  if (what & TESSERA_CHANGED_TRACE)
    show_names (widget, trace);
  if (document->jobs[TESSERA_WORK_LOAD] == NULL)
    show_choice (widget, trace);
  g_signal_handlers_unblock_by_func (widget, on_selected, document);
}

GtkWidget *
tessera_devices_new (TesseraDocument *document)
{
  GtkWidget *list = gtk_drop_down_new (NULL, NULL);

  gtk_widget_set_name (list, "devices");
  gtk_widget_set_tooltip_text (list, "Which device of the file");
  tessera_set_accessible_label (list, "Which device of the file");
  g_signal_connect_object (list, "notify::selected", G_CALLBACK (on_selected), document,
                           0);
  tessera_watch (document, list, on_changed);
  return list;
}
