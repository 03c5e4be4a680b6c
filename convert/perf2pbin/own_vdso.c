/* The vdso of the running kernel.
 * SPDX-License-Identifier: MIT */
#include "convert/perf2pbin/own_vdso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "formats/elf/elf_file.h"

/* The bytes that are mapped from IMAGE on; 0: unknown. */
static size_t size_of(const void *image)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *text = NULL;
    size_t room = 0, size = 0;
    while (file != NULL && size == 0 && getline(&text, &room, file) > 0) {
        char *end;
        unsigned long long first = strtoull(text, &end, 16);
        if (first == (uintptr_t)image && *end == '-')
            size = (size_t)(strtoull(end + 1, NULL, 16) - first);
    }
    if (file != NULL)
        fclose(file);
    free(text);
    return size <= MAX_RAW_VDSO ? size : 0;
}

/* Is FILE in all mappings of a vdso? Processes with 32 bits have another one, under the same name. */
static bool is_everywhere(const struct elf_file *file, const struct raw_extension *ext)
{
    size_t count = 0;
    for (size_t i = 0; i < ext->mapx_count; i++) {
        const struct raw_mapx *map = &ext->mapx[i];
        if (map->kind != RAW_MAP_VDSO)
            continue;
        if (strcmp(map->build_id, file->build_id) != 0 ||
            (file->is_64 && map->address <= UINT32_MAX))
            return false;
        count++;
    }
    return count > 0 && file->build_id[0] != '\0';
}

void own_vdso_find(struct raw_extension *ext)
{
    struct error err = {0};
    uint8_t *image = (uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    size_t size = image != NULL ? size_of(image) : 0;
    struct elf_file *file = size > 0 ? elf_file_from_memory(image, size, "[vdso]", &err) : NULL;
    if (file != NULL && is_everywhere(file, ext)) {
        ext->vdso = image;
        ext->vdso_size = size;
    }
    elf_file_close(file);
}
