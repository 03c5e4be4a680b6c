/* Identifies an ELF file without build-id by the bytes of its code.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_content.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"

enum { STEP = 1 << 18 };

static const char prefix[] = "code:";
const char elf_content_lost[] = "code:0:0";

bool elf_is_content_id(const char *id)
{
    return id != NULL && strncmp(id, prefix, strlen(prefix)) == 0;
}

/* Adds the bytes of SEGMENT except those of the file header, in which strip changes the fields
 * about sections. Reads in steps, because the segment may have gigabytes. */
static bool add_segment(XXH3_state_t *sum, const struct elf_file *file,
                        const struct elf_segment *segment, uint8_t *step)
{
    const uint64_t header = file->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    uint64_t at = segment->offset > header ? segment->offset : header, end;
    if (__builtin_add_overflow(segment->offset, segment->file_size, &end) || end > file->size)
        return false;
    while (at < end) {
        uint64_t size = end - at < STEP ? end - at : STEP;
        if (!elf_file_read(file, at, step, size))
            return false;
        XXH3_64bits_update(sum, step, (size_t)size);
        at += size;
    }
    return true;
}

static void compute(const struct elf_file *file, char id[ELF_CONTENT_ID])
{
    XXH3_state_t *sum = XXH3_createState();
    uint8_t *step = mem_alloc(STEP);
    uint64_t total = 0;
    bool whole = sum != NULL && XXH3_64bits_reset(sum) == XXH_OK;
    for (size_t i = 0; i < file->segment_count && whole; i++) {
        if (!file->segments[i].executable)
            continue;
        whole = add_segment(sum, file, &file->segments[i], step);
        total += file->segments[i].file_size;
    }
    if (whole && total > 0)
        snprintf(id, ELF_CONTENT_ID, "%s%" PRIu64 ":%016" PRIx64, prefix, total,
                 (uint64_t)XXH3_64bits_digest(sum));
    free(step);
    XXH3_freeState(sum);
}

void elf_content_id(const struct elf_file *file, char id[ELF_CONTENT_ID])
{
    id[0] = '\0';
    if (file->content[0] == '\0')
        compute(file, file->content);
    memcpy(id, file->content, ELF_CONTENT_ID);
}
