/*
 * A stack, folded to the program's own lines; a switch shows all of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_STACK_VIEW (tessera_stack_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraStackView, tessera_stack_view, TESSERA, STACK_VIEW, GtkBox)

GtkWidget *tessera_stack_view_new (void);
/* @trace: (nullable) must outlive what is shown. */
void tessera_stack_view_set_stack (TesseraStackView *self,
                                   const TesseraTrace *trace,
                                   uint32_t stack);
