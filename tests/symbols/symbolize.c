/* Test driver: resolves program counters from stdin (hex, one a line) and prints one line for each:
 * PC <tab> binary <tab> function|demangled|file|line <tab> ... innermost frame first.
 *
 *   symbolize [-s DIR]... [-d DEBUG-DIR]... [-r SYSROOT] [-k KALLSYMS] [-t SECONDS] [-n] [-p] [-q] MAP...
 *   MAP: ADDRESS,SIZE,OFFSET or -,BUILD-ID or -,LABEL        (hex numbers)
 *   MAP: ADDRESS,SIZE,image,-,FILE                           (FILE's bytes in memory)
 * -p prints path and build-id of each map first; -w waits between two halves of the PCs for fd 3 to
 * be closed, with "waiting PID" on stdout, so that a test can do something to the worker; -q prints
 * nothing.
 * SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "convert/symbolize/symbolizer.h"

struct driver {
    struct symbolizer_options options;
    struct reporter reporter;
    const char *paths[64], *debug_paths[64];
    bool print_paths, quiet, wait;
    uint8_t *image;
};

static uint8_t *read_image(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        exit(3);
    uint8_t *data = mem_alloc(1 << 24);
    *size = fread(data, 1, 1 << 24, file);
    fclose(file);
    return data;
}

static struct code_map parse_map(struct driver *d, char *text)
{
    char *field[5] = {"", "", "", "", ""};
    for (int i = 0; i < 5; i++) {
        field[i] = text;
        char *comma = i < 4 ? strchr(text, ',') : NULL;
        if (comma == NULL)
            break;
        *comma = '\0';
        text = comma + 1;
    }
    struct code_map map = {.address = strtoull(field[0], NULL, 16),
                           .size = strtoull(field[1], NULL, 16),
                           .label = field[4]};
    if (strcmp(field[2], "image") == 0) {
        map.image = d->image = read_image(field[4], &map.image_size);
        map.label = "[vdso]";
    } else if (strcmp(field[2], "-") != 0) {
        map.has_offset = true;
        map.offset = strtoull(field[2], NULL, 16);
    }
    if (strcmp(field[3], "-") != 0)
        map.build_id = field[3];
    return map;
}

static void parse_options(struct driver *d, int argc, char **argv)
{
    int c;
    d->options.search.folders = d->paths;
    d->options.search.debug_folders = d->debug_paths;
    while ((c = getopt(argc, argv, "s:d:r:k:t:npqw")) != -1) {
        if (c == 's' && d->options.search.folder_count < 64)
            d->paths[d->options.search.folder_count++] = optarg;
        if (c == 'd' && d->options.search.debug_folder_count < 64)
            d->debug_paths[d->options.search.debug_folder_count++] = optarg;
        d->options.search.sysroot = c == 'r' ? optarg : d->options.search.sysroot;
        d->options.kallsyms = c == 'k' ? optarg : d->options.kallsyms;
        d->options.dwarf_timeout = c == 't' ? (unsigned)atoi(optarg) : d->options.dwarf_timeout;
        d->options.no_dwarf |= c == 'n';
        d->print_paths |= c == 'p';
        d->quiet |= c == 'q';
        d->wait |= c == 'w';
        if (c == '?')
            exit(2);
    }
}

static void print_location(const struct code_location *l)
{
    printf("0x%" PRIx64 "\t%s", l->pc, l->binary);
    for (size_t f = 0; f < l->frame_count; f++)
        printf("\t%s\x1f%s\x1f%s\x1f%" PRIu32, l->frames[f].function, l->frames[f].demangled,
               l->frames[f].file, l->frames[f].line);
    putchar('\n');
}

static void resolve(struct driver *d, struct symbolizer *s, const uint64_t *pcs, size_t count)
{
    struct code_location *locations = mem_alloc(count * sizeof *locations);
    symbolizer_resolve(s, pcs, count, locations);
    for (size_t i = 0; i < count && !d->quiet; i++)
        print_location(&locations[i]);
    free(locations);
}

int main(int argc, char **argv)
{
    struct driver d = {.reporter = {.tool = "symbolize"}};
    struct code_map *maps = mem_alloc((size_t)argc * sizeof *maps);
    struct error err = {0};
    uint64_t *pcs = NULL;
    size_t map_count = 0, count = 0, capacity = 0;
    parse_options(&d, argc, argv);
    for (int i = optind; i < argc; i++)
        maps[map_count++] = parse_map(&d, argv[i]);
    for (uint64_t pc; scanf("%" SCNx64, &pc) == 1;) {
        mem_reserve(&pcs, &capacity, count + 1, sizeof *pcs);
        pcs[count++] = pc;
    }
    struct symbolizer *s = symbolizer_new(maps, map_count, &d.options, &d.reporter, &err);
    if (s == NULL) {
        free(maps);
        free(pcs);
        return report_error(&d.reporter, &err);
    }
    for (size_t i = 0; d.print_paths && i < map_count; i++) {
        const char *path = symbolizer_path(s, i);
        printf("map\t%s\t%s\n", path != NULL ? path : "-", symbolizer_build_id(s, i));
    }
    size_t half = d.wait ? count / 2 : count;
    resolve(&d, s, pcs, half);
    if (d.wait) {
        printf("waiting %d\n", (int)getpid());
        fflush(stdout);
        FILE *go =
            fopen("/dev/fd/3", "r"); /* the test closes its end to let this process continue */
        if (go == NULL || fgetc(go) == 0)
            return 4;
        fclose(go);
        resolve(&d, s, pcs + half, count - half);
    }
    symbolizer_delete(s);
    free(d.image);
    free(maps);
    free(pcs);
    return fflush(stdout) == 0 ? 0 : 1;
}
