/* The files with a profile's code, each of which is opened once.
 * SPDX-License-Identifier: MIT */
#include "analyze/code/code_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"

struct code_files {
    const struct elf_search *search;
    struct reporter *reporter;
    bool intel;
    struct strings *texts;
    struct strings *keys; /* files as bytes; number - 1 = index */
    struct code_file **files;
    size_t count, capacity;
};

struct code_files *code_files_new(const struct elf_search *search, bool intel,
                                  struct reporter *reporter)
{
    struct code_files *f = mem_zalloc(1, sizeof *f);
    f->search = search;
    f->intel = intel;
    f->reporter = reporter;
    f->texts = strings_new();
    f->keys = strings_new();
    return f;
}

void code_files_delete(struct code_files *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->count; i++) {
        disassembler_delete(f->files[i]->disassembler);
        machine_code_close(f->files[i]->code);
        free(f->files[i]);
    }
    free(f->files);
    strings_delete(f->texts);
    strings_delete(f->keys);
    free(f);
}

static struct code_file *open_file(const struct code_files *f, const struct code_wanted *wanted)
{
    struct code_file *file = mem_zalloc(1, sizeof *file);
    file->code = machine_code_open(wanted, f->search, f->reporter);
    if (file->code != NULL)
        file->disassembler = disassembler_new(file->code, f->intel, f->reporter);
    return file;
}

const struct code_file *code_files_get(struct code_files *f, const struct code_wanted *wanted)
{
    const uint64_t key[] = {strings_intern(f->texts, wanted->sought.label),
                            strings_intern(f->texts, wanted->sought.path),
                            strings_intern(f->texts, wanted->build_id), wanted->has_offset,
                            wanted->map_size};
    uint32_t index = strings_intern_bytes(f->keys, (const char *)key, sizeof key) - 1;
    if (index == f->count) {
        mem_reserve(&f->files, &f->capacity, f->count + 1, sizeof *f->files);
        f->files[f->count++] = open_file(f, wanted);
    }
    return f->files[index];
}
