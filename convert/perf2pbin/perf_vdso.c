/* The vdso of the running kernel.
 * SPDX-License-Identifier: MIT */
#include "convert/perf2pbin/perf_vdso.h"

#include "base/own_vdso.h"
#include "formats/elf/elf_match.h"

/* Returns whether all mappings of a vdso are of FILE. 32-bit processes have another vdso under the
 * same name. */
static bool is_everywhere(const struct elf_file *file, const struct raw_extension *ext)
{
    size_t count = 0;
    for (size_t i = 0; i < ext->mapx_count; i++) {
        const struct raw_mapx *map = &ext->mapx[i];
        if (map->kind != RAW_MAP_VDSO)
            continue;
        if (!elf_has_build_id(file, map->build_id) || (file->is_64 && map->address <= UINT32_MAX))
            return false;
        count++;
    }
    return count > 0;
}

void perf_vdso_find(struct raw_extension *ext)
{
    struct error err = {0};
    size_t size;
    const uint8_t *image = own_vdso(&size);
    struct elf_file *file = NULL;
    if (image != NULL && size <= MAX_RAW_VDSO)
        file = elf_file_from_memory(image, size, "[vdso]", &err);
    if (file != NULL && is_everywhere(file, ext)) {
        ext->vdso = (uint8_t *)(uintptr_t)image;
        ext->vdso_size = size;
    }
    elf_file_close(file);
}
