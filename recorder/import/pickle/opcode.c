/*
 * The names of all pickle opcodes, so that a refusal can say what was found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/pickle/opcode.h"

#include <stddef.h>

typedef enum
{
  PLAIN,    /* read by pickle.c */
  BUILDS,   /* makes objects or calls functions */
  OUTSIDE,  /* refers to data outside the file */
  OLD,      /* text form of protocols 0 and 1 */
  NOT_OURS, /* harmless, but no snapshot has it */
} Kind;

typedef struct
{
  const char *name;
  Kind kind;
} Opcode;

static const Opcode opcodes[256] = {
  ['('] = { "MARK", PLAIN },
  [')'] = { "EMPTY_TUPLE", PLAIN },
  ['.'] = { "STOP", PLAIN },
  ['0'] = { "POP", NOT_OURS },
  ['1'] = { "POP_MARK", NOT_OURS },
  ['2'] = { "DUP", NOT_OURS },
  ['B'] = { "BINBYTES", NOT_OURS },
  ['C'] = { "SHORT_BINBYTES", NOT_OURS },
  ['F'] = { "FLOAT", OLD },
  ['G'] = { "BINFLOAT", PLAIN },
  ['I'] = { "INT", OLD },
  ['J'] = { "BININT", PLAIN },
  ['K'] = { "BININT1", PLAIN },
  ['L'] = { "LONG", OLD },
  ['M'] = { "BININT2", PLAIN },
  ['N'] = { "NONE", PLAIN },
  ['P'] = { "PERSID", OUTSIDE },
  ['Q'] = { "BINPERSID", OUTSIDE },
  ['R'] = { "REDUCE", BUILDS },
  ['S'] = { "STRING", OLD },
  ['T'] = { "BINSTRING", OLD },
  ['U'] = { "SHORT_BINSTRING", OLD },
  ['V'] = { "UNICODE", OLD },
  ['X'] = { "BINUNICODE", PLAIN },
  [']'] = { "EMPTY_LIST", PLAIN },
  ['a'] = { "APPEND", PLAIN },
  ['b'] = { "BUILD", BUILDS },
  ['c'] = { "GLOBAL", BUILDS },
  ['d'] = { "DICT", PLAIN },
  ['e'] = { "APPENDS", PLAIN },
  ['g'] = { "GET", OLD },
  ['h'] = { "BINGET", PLAIN },
  ['i'] = { "INST", BUILDS },
  ['j'] = { "LONG_BINGET", PLAIN },
  ['l'] = { "LIST", PLAIN },
  ['o'] = { "OBJ", BUILDS },
  ['p'] = { "PUT", OLD },
  ['q'] = { "BINPUT", PLAIN },
  ['r'] = { "LONG_BINPUT", PLAIN },
  ['s'] = { "SETITEM", PLAIN },
  ['t'] = { "TUPLE", PLAIN },
  ['u'] = { "SETITEMS", PLAIN },
  ['}'] = { "EMPTY_DICT", PLAIN },
  [0x80] = { "PROTO", PLAIN },
  [0x81] = { "NEWOBJ", BUILDS },
  [0x82] = { "EXT1", BUILDS },
  [0x83] = { "EXT2", BUILDS },
  [0x84] = { "EXT4", BUILDS },
  [0x85] = { "TUPLE1", PLAIN },
  [0x86] = { "TUPLE2", PLAIN },
  [0x87] = { "TUPLE3", PLAIN },
  [0x88] = { "NEWTRUE", PLAIN },
  [0x89] = { "NEWFALSE", PLAIN },
  [0x8a] = { "LONG1", PLAIN },
  [0x8b] = { "LONG4", PLAIN },
  [0x8c] = { "SHORT_BINUNICODE", PLAIN },
  [0x8d] = { "BINUNICODE8", PLAIN },
  [0x8e] = { "BINBYTES8", NOT_OURS },
  [0x8f] = { "EMPTY_SET", NOT_OURS },
  [0x90] = { "ADDITEMS", NOT_OURS },
  [0x91] = { "FROZENSET", NOT_OURS },
  [0x92] = { "NEWOBJ_EX", BUILDS },
  [0x93] = { "STACK_GLOBAL", BUILDS },
  [0x94] = { "MEMOIZE", PLAIN },
  [0x95] = { "FRAME", PLAIN },
  [0x96] = { "BYTEARRAY8", NOT_OURS },
  [0x97] = { "NEXT_BUFFER", OUTSIDE },
  [0x98] = { "READONLY_BUFFER", OUTSIDE },
};

const char *
tessera_opcode_name (uint8_t opcode)
{
  return opcodes[opcode].name;
}

const char *
tessera_opcode_reason (uint8_t opcode)
{
  static const char *const reasons[] = {
    [PLAIN] = "it is out of place",
    [BUILDS] = "this file wants to build objects; a memory snapshot is plain data, "
               "so it is none and was not run",
    [OUTSIDE] = "this file refers to data outside itself; a memory snapshot does not",
    [OLD] = "this is the text form of protocols 0 and 1; write the snapshot with "
            "torch.cuda.memory._dump_snapshot",
    [NOT_OURS] = "no memory snapshot holds such data",
  };

  return reasons[opcodes[opcode].kind];
}
