/* The symbols that some distributions leave in stripped files.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_minidebug.h"

#include <lzma.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "formats/elf/elf_match.h"
#include "formats/elf/elf_sections.h"

/* In the largest programs, these symbols have a few megabytes. Even level 9 of xz needs less than
 * 100 MB of memory. */
enum { MAX_PACKED = 16 << 20, MAX_UNPACKED = 64 << 20, MAX_MEMORY = 100 << 20, STEP = 1 << 16 };

/* Returns false if the SIZE bytes at PACKED are not a complete file in xz format, or are too
 * large. */
static bool unpack(const uint8_t *packed, size_t size, struct buffer *to)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret result = lzma_stream_decoder(&stream, MAX_MEMORY, 0);
    stream.next_in = packed;
    stream.avail_in = size;
    while (result == LZMA_OK && to->size < MAX_UNPACKED) {
        stream.next_out = buffer_extend(to, STEP);
        stream.avail_out = STEP;
        result = lzma_code(&stream, LZMA_FINISH);
        to->size -= stream.avail_out;
    }
    lzma_end(&stream);
    return result == LZMA_STREAM_END;
}

static bool unpack_section(const struct elf_file *file, const struct elf_section *section,
                           struct buffer *to)
{
    uint64_t size = elf_section_size(file, section);
    if (size == 0 || size > MAX_PACKED)
        return false;
    uint8_t *packed = mem_alloc(size);
    bool ok = elf_section_read(file, section, packed) && unpack(packed, size, to);
    free(packed);
    return ok;
}

int elf_minidebug_open(struct elf_minidebug *minidebug, const struct elf_file *file)
{
    struct error ignored = {0};
    struct buffer bytes = {0};
    const struct elf_section *section = elf_section_find(file, ".gnu_debugdata");
    *minidebug = (struct elf_minidebug){0};
    if (section == NULL)
        return 0;
    if (unpack_section(file, section, &bytes))
        minidebug->file = elf_file_from_memory(bytes.data, bytes.size, file->path, &ignored);
    minidebug->bytes = bytes.data;
    if (minidebug->file != NULL && elf_match_debug(file, minidebug->file, NULL, &(struct error){0}))
        return 0;
    elf_minidebug_free(minidebug);
    return -1;
}

void elf_minidebug_free(struct elf_minidebug *minidebug)
{
    elf_file_close(minidebug->file);
    free(minidebug->bytes);
    *minidebug = (struct elf_minidebug){0};
}
