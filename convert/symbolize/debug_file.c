/* The separate file that holds the debug information of a stripped binary.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/debug_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { LARGEST_LINK = 4096, CRC_STEP = 1 << 16 };

bool has_debug_info(const struct elf_image *image)
{
    return elf_image_section(image, ".debug_info") != NULL ||
           elf_image_section(image, ".zdebug_info") != NULL;
}

/* A debug file of another machine, or of another build of the program, is none. */
static struct elf_image *open_fitting(const char *path, const struct elf_image *image)
{
    struct error ignored = {0};
    int errnum;
    struct elf_image *debug = elf_image_open(path, &errnum, &ignored);
    if (debug == NULL)
        return NULL;
    bool same_id = image->build_id[0] == '\0' || debug->build_id[0] == '\0' ||
                   strcmp(image->build_id, debug->build_id) == 0;
    if (same_id && debug->machine == image->machine && debug->is_64 == image->is_64 &&
        debug->big_endian == image->big_endian && has_debug_info(debug))
        return debug;
    elf_image_delete(debug);
    return NULL;
}

static struct elf_image *by_build_id(const struct elf_image *image, const char *sysroot)
{
    char path[PATH_MAX];
    if (strlen(image->build_id) < 4)
        return NULL;
    int length = snprintf(path, sizeof path, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", sysroot,
                          image->build_id, image->build_id + 2);
    return (size_t)length < sizeof path ? open_fitting(path, image) : NULL;
}

/* The CRC-32 of all of the file, read in steps: such files may be gigabytes. */
static bool crc_agrees(const struct elf_image *debug, uint32_t expected)
{
    uint8_t *step = mem_alloc(CRC_STEP);
    uLong crc = crc32(0, NULL, 0);
    bool whole = true;
    for (uint64_t at = 0; whole && at < debug->size; at += CRC_STEP) {
        uint64_t size = debug->size - at < CRC_STEP ? debug->size - at : CRC_STEP;
        whole = elf_image_read(debug, at, step, size);
        crc = crc32(crc, step, whole ? (uInt)size : 0);
    }
    free(step);
    return whole && crc == expected;
}

static struct elf_image *open_linked(const struct elf_image *image, const char *path, uint32_t crc)
{
    struct elf_image *debug = open_fitting(path, image);
    if (debug == NULL || crc_agrees(debug, crc))
        return debug;
    elf_image_delete(debug);
    return NULL;
}

/* Folder of the binary as the target sees it: the sysroot is not part of paths in usr/lib/debug. */
static const char *below_sysroot(const char *folder, const char *sysroot)
{
    size_t length = strlen(sysroot);
    return length > 0 && strncmp(folder, sysroot, length) == 0 ? folder + length : folder;
}

static struct elf_image *in_link_folders(const struct elf_image *image, const char *sysroot,
                                         const char *name, uint32_t crc)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const char *slash = strrchr(image->path, '/');
    int length =
        snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - image->path) : 1,
                 slash != NULL ? image->path : ".");
    const char *const patterns[][3] = {{"", folder, ""},
                                       {"", folder, "/.debug"},
                                       {"/usr/lib/debug", below_sysroot(folder, sysroot), ""}};
    for (size_t i = 0; (size_t)length < sizeof folder && i < 3; i++) {
        int n = snprintf(path, sizeof path, "%s%s%s%s%s/%s", i == 2 ? sysroot : "", patterns[i][0],
                         i == 2 && patterns[i][1][0] != '/' ? "/" : "", patterns[i][1],
                         patterns[i][2], name);
        struct elf_image *debug = (size_t)n < sizeof path ? open_linked(image, path, crc) : NULL;
        if (debug != NULL)
            return debug;
    }
    return NULL;
}

/* .gnu_debuglink: name, NUL, padding to 4 bytes, CRC-32 in the file's byte order. */
static struct elf_image *by_debuglink(const struct elf_image *image, const char *sysroot)
{
    const struct elf_section *section = elf_image_section(image, ".gnu_debuglink");
    uint8_t *link = section != NULL && section->size <= LARGEST_LINK && section->size > 4
                        ? elf_image_contents(image, section)
                        : NULL;
    struct elf_image *debug = NULL;
    size_t crc_at = link != NULL ? (strlen((char *)link) + 4) & ~(size_t)3 : 0;
    /* The name is a file's name, not a way to somewhere else. */
    if (link != NULL && link[0] != '\0' && strchr((char *)link, '/') == NULL &&
        crc_at + 4 <= section->size)
        debug = in_link_folders(image, sysroot, (char *)link,
                                get_u32(link + crc_at, image->big_endian));
    free(link);
    return debug;
}

struct elf_image *debug_file_open(const struct elf_image *image, const char *sysroot)
{
    const char *root = sysroot != NULL ? sysroot : "";
    struct elf_image *debug = by_build_id(image, root);
    return debug != NULL || image->fd < 0 ? debug : by_debuglink(image, root);
}
