/*
 * What a fuzzer made up, as a file that can be opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What every fuzz target defines; tests/fuzz/replay.c or libFuzzer calls it. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n_bytes);

/*
 * fuzz_file_input:
 * @make_base: writes a sound file to the path it is given; called once
 *
 * An input that begins like an SQLite file is that file. Any other is a list of changes
 * to the sound file, four bytes each: where (three bytes, modulo its size) and the byte
 * that is to stand there. So damage deep inside is found without a fuzzer having to
 * invent the tables first.
 *
 * Returns: the path of the file; it is removed when the program exits.
 */
const char *fuzz_file_input (const uint8_t *data,
                             size_t n_bytes,
                             void (*make_base) (const char *path));
