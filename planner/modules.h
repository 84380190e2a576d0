/*
 * Which module of the model an event of a trace belongs to, and which line of source.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

/* String ids of the innermost module's name at each event, TESSERA_NONE outside of all;
 * NULL: the trace names no modules. The caller frees it. */
uint32_t *tessera_find_modules (const TesseraTrace *trace);

/* What stands for a module where a trace names none: the base name of the file of the
 * innermost frame that is called forward. Borrowed from @trace; NULL: there is none. */
const char *tessera_module_of_stack (const TesseraTrace *trace, uint32_t stack);

/* The module in which a block was born: by @modules, as found above, else by @stack.
 * @event: of its birth. Borrowed from @trace; NULL: there is none. */
const char *tessera_module_of_birth (const TesseraTrace *trace,
                                     const uint32_t *modules,
                                     uint32_t event,
                                     uint32_t stack);

/* Python source that is no library's and not the interpreter's own; cells of a notebook
 * are. */
bool tessera_frame_is_own (const TesseraTrace *trace, uint32_t frame);
/* That, or where a model's library keeps models and losses (transformers, diffusers ...). */
bool tessera_frame_is_model (const TesseraTrace *trace, uint32_t frame);
/* In a file of PyTorch's optimizers; averages of weights lie beside these, and run the
 * model. */
bool tessera_frame_is_optimizer (const TesseraTrace *trace, uint32_t frame);
/* The frame that a stack is named by: the innermost that is the program's or a model
 * library's, else the innermost in Python; TESSERA_NONE: none is in Python, or PyTorch
 * called its autograd engine, as a checkpoint does inside of a backward pass. */
uint32_t tessera_line_of_stack (const TesseraTrace *trace, uint32_t stack);
/* "train.py:214 loss_of"; free(). */
char *tessera_name_frame (const TesseraTrace *trace, uint32_t frame);
/* The same of a stack's line, or "(no stack)"; free(). */
char *tessera_name_line (const TesseraTrace *trace, uint32_t stack);
