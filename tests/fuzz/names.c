/* Names from other files: kallsyms, perf maps, jitdumps, mappings as text, mangled names. The first
 * byte of the input selects the kind.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "convert/prof2pbin/jit_names.h"
#include "convert/symbolize/demangle.h"
#include "convert/symbolize/kallsyms.h"
#include "formats/raw/raw.h"
#include "tests/fuzz/input.h"

static void read_kallsyms(const char *path)
{
    struct error err = {0};
    struct kallsyms *kallsyms = kallsyms_read(path, &err);
    for (unsigned bit = 0; kallsyms != NULL && bit < 64; bit++) {
        const char *name = kallsyms_find(kallsyms, UINT64_MAX << bit);
        if (name != NULL)
            input_touch(name, strlen(name));
    }
    kallsyms_delete(kallsyms);
}

static void read_jit(const uint8_t *data, size_t size, unsigned kind)
{
    struct raw_image image = {.parent = RAW_NO_IMAGE};
    struct raw_jit_map jit = {.kind = (uint8_t)kind};
    struct raw_extension ext = {.images = &image, .image_count = 1, .jits = &jit, .jit_count = 1};
    uint64_t address = 0;
    buffer_bytes(&jit.bytes, data, size);
    numbers_intern(&ext.jit_numbers, kind);
    struct jit_names *names = jit_names_new(&ext);
    for (size_t i = 0; i + 8 <= size && i < 512; i++) {
        memcpy(&address, data + i, sizeof address);
        uint32_t name = jit_names_find(names, 0, address);
        name = name == NO_JIT ? jit_names_find(names, 0, address % 0x10000) : name;
        if (name != NO_JIT)
            input_touch(jit_names_get(names, name), strlen(jit_names_get(names, name)));
    }
    jit_names_delete(names);
    numbers_free(&ext.jit_numbers);
    buffer_free(&jit.bytes);
}

static void read_mappings(const char *path)
{
    struct error err = {0};
    struct raw_vmmap *maps = NULL;
    size_t count = 0;
    if (raw_vmmap_text_read(path, &maps, &count, &err) == 0) {
        input_touch(maps, count * sizeof *maps);
        free(maps);
    }
}

static void read_mangled(const uint8_t *data, size_t size)
{
    struct demangle_costs costs = {0};
    char *name = mem_strndup((const char *)data, size);
    free(demangle(name, &costs));
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 1)
        return 0;
    int fd = input_file(data + 1, size - 1, path);
    switch (data[0] % 5) {
    case 0:
        read_kallsyms(path);
        break;
    case 1:
        read_jit(data + 1, size - 1, RAW_JIT_TEXT);
        break;
    case 2:
        read_jit(data + 1, size - 1, RAW_JIT_DUMP);
        break;
    case 3:
        read_mappings(path);
        break;
    default:
        read_mangled(data + 1, size - 1);
    }
    close(fd);
    return 0;
}
