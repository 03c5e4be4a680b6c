/* Code that the fuzz targets share: the input as a file, and blocks with correct checksums. Each
 * target is a separate libFuzzer program, so that everything here is static inline.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Creates a file in memory with SIZE bytes of DATA; PATH becomes its name. Returns its descriptor,
 * which the caller closes. */
static inline int input_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Reads the data so that AddressSanitizer, which tracks bytes in groups of eight, checks all of it. Excluded from
 * coverage. */
#ifdef __clang__
__attribute__((no_sanitize("coverage")))
#endif
static inline void
input_touch(const void *data, size_t size)
{
    const volatile uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 8)
        (void)bytes[i];
    if (size > 0)
        (void)bytes[size - 1];
}

enum { INPUT_BLOCK_HEAD = 8, INPUT_BLOCK_TAIL = 8 };

static inline uint32_t input_block_length(const uint8_t *at)
{
    uint32_t length;
    memcpy(&length, at, sizeof length);
    return length;
}

/* Corrects the checksums of all blocks at or after AT. With LENGTHS, a block that reaches beyond the end ends there. */
static inline void input_fix_blocks(uint8_t *data, size_t at, size_t size, bool lengths)
{
    while (at <= size && size - at >= INPUT_BLOCK_HEAD + INPUT_BLOCK_TAIL) {
        size_t most = size - at - INPUT_BLOCK_HEAD - INPUT_BLOCK_TAIL;
        uint32_t length = input_block_length(data + at);
        if (length > most) {
            if (!lengths)
                return;
            length = (uint32_t)most;
            memcpy(data + at, &length, sizeof length);
        }
        uint64_t sum = XXH3_64bits(data + at, INPUT_BLOCK_HEAD + length);
        memcpy(data + at + INPUT_BLOCK_HEAD + length, &sum, sizeof sum);
        at += INPUT_BLOCK_HEAD + length + INPUT_BLOCK_TAIL;
    }
}

/* The offset of a block at or after AT, chosen by SEED; SIZE if there is none. */
static inline size_t input_choose_block(const uint8_t *data, size_t at, size_t size, unsigned seed)
{
    size_t chosen = size;
    for (unsigned seen = 1; at <= size && size - at >= INPUT_BLOCK_HEAD + INPUT_BLOCK_TAIL;
         seen++) {
        uint32_t length = input_block_length(data + at);
        if (length > size - at - INPUT_BLOCK_HEAD - INPUT_BLOCK_TAIL)
            break;
        if (seed / 16 % seen == 0)
            chosen = at;
        at += INPUT_BLOCK_HEAD + length + INPUT_BLOCK_TAIL;
    }
    return chosen;
}

/* Mutates the payload of a block and corrects its length, or now and then mutates all bytes. Blocks
 * begin at AT. One SEED in PLAIN mutates without regard to blocks, as inputs without blocks need. */
static inline size_t input_mutate_blocks(uint8_t *data, size_t at, size_t size, size_t most,
                                         unsigned seed, unsigned plain)
{
    if (at >= size || seed % plain == 0)
        return LLVMFuzzerMutate(data, size, most);
    size_t block = input_choose_block(data, at, size, seed);
    if (seed % 4 == 0 || block >= size) {
        size = LLVMFuzzerMutate(data, size, most);
        if (seed % 64 != 0)
            input_fix_blocks(data, at, size, seed % 8 == 0);
        return size;
    }
    uint32_t length = input_block_length(data + block);
    size_t begin = block + INPUT_BLOCK_HEAD, rest = size - begin - length;
    size_t room = most - begin - rest;
    if (room > 2 * (size_t)length + 64)
        room = 2 * (size_t)length + 64;
    uint8_t *payload = malloc(room + 1);
    if (payload == NULL)
        return size;
    memcpy(payload, data + begin, length < room ? length : room);
    uint32_t now = (uint32_t)LLVMFuzzerMutate(payload, length < room ? length : room, room);
    memmove(data + begin + now, data + begin + length, rest);
    memcpy(data + begin, payload, now);
    memcpy(data + block, &now, sizeof now);
    free(payload);
    size = begin + now + rest;
    input_fix_blocks(data, block, size, false);
    return size;
}

#endif
