/*
 * The names of all pickle opcodes, so that a refusal can say what was found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/* "GLOBAL", or NULL: no opcode of any protocol. */
const char *tessera_opcode_name (uint8_t opcode);

/* What is wrong with it: "this file wants to build objects", "... of protocol 0" ... */
const char *tessera_opcode_reason (uint8_t opcode);
