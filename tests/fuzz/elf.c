/* ELF files: headers, sections, symbols, .gnu_debugdata, unwind tables.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_frames.h"
#include "formats/elf/elf_minidebug.h"
#include "formats/elf/elf_sections.h"
#include "formats/elf/elf_symbols.h"
#include "tests/fuzz/input.h"

enum { MAX_SECTION = 1 << 20, MAX_RANGES = 10000 };

/* Reads the first part of BYTES again: it must be the same. */
static void read_begin(const struct elf_file *file, const struct elf_section *section,
                       const uint8_t *bytes, uint64_t size)
{
    uint8_t *begin = malloc(size);
    if (begin != NULL && elf_section_read_begin(file, section, begin, size / 2) &&
        memcmp(begin, bytes, size / 2) != 0)
        abort();
    free(begin);
}

static void read_sections(const struct elf_file *file)
{
    elf_has_debug(file);
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        uint64_t size = elf_section_size(file, section);
        input_touch(section->name, strlen(section->name));
        elf_section_in_place(file, section);
        uint8_t *bytes = size > 0 && size <= MAX_SECTION ? malloc(size) : NULL;
        if (bytes != NULL && elf_section_read(file, section, bytes)) {
            read_begin(file, section, bytes, size);
            input_touch(bytes, size);
        }
        free(bytes);
        elf_file_unload(file, section->offset, section->size);
    }
}

static void read_symbols(const struct elf_file *file)
{
    struct elf_symbols *symbols = elf_symbols_new(file, NULL);
    struct elf_symbol_range range = {0};
    uint64_t at = 0;
    for (int i = 0; i < MAX_RANGES && elf_symbols_next(symbols, at, &range); i++) {
        const struct elf_symbol *symbol = elf_symbols_find(symbols, range.begin);
        input_touch(range.name, strlen(range.name));
        if (symbol == NULL || symbol->name != range.name)
            abort(); /* the two must agree */
        if (range.last == UINT64_MAX)
            break;
        at = range.last + 1;
    }
    elf_symbols_cover(symbols, at);
    elf_symbols_damage(symbols);
    elf_symbols_overlap(symbols);
    elf_symbols_delete(symbols);
}

static void read_frames(const struct elf_file *file)
{
    struct elf_frames frames = elf_frames_read(file);
    for (size_t i = 0; i < frames.count; i++)
        if (frames.items[i].begin > frames.items[i].last ||
            (i > 0 && frames.items[i - 1].last >= frames.items[i].begin))
            abort(); /* disjoint and ascending */
    elf_frames_free(&frames);
}

static void read_file(const struct elf_file *file)
{
    uint8_t code[64];
    struct elf_minidebug minidebug;
    uint64_t value;
    read_sections(file);
    read_symbols(file);
    read_frames(file);
    if (elf_minidebug_open(&minidebug, file) == 0)
        elf_minidebug_free(&minidebug);
    for (size_t i = 0; i < file->segment_count; i++)
        elf_file_read_code(file, file->segments[i].address, code, sizeof code);
    elf_symbol_value(file, file, "main", &value);
    elf_file_is_code(file, 0x1000);
    elf_file_failed(file);
}

/* The input as a file and as an image in memory: both must have the same sections. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    char path[64];
    int errnum, fd = input_file(data, size, path);
    struct elf_file *memory = elf_file_from_memory(data, size, "input", &err);
    struct elf_file *file = elf_file_open(path, &errnum, &err);
    if ((memory == NULL) != (file == NULL))
        abort();
    if (memory != NULL && memory->section_count != file->section_count)
        abort();
    if (memory != NULL)
        read_file(memory);
    if (file != NULL) {
        read_file(file);
        elf_file_map(file);
        read_sections(file);
    }
    elf_file_close(memory);
    elf_file_close(file);
    close(fd);
    return 0;
}
