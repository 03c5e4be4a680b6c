/* Results from debug information, kept on disk.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/frame_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "convert/symbolize/cache_folder.h"
#include "formats/elf/elf_search.h"

static const char magic[8] = "PBXFRAM";
enum { MAX_FILE = 64 << 20 }; /* [bytes] */
enum { REVISION = 7 }; /* increment this whenever answers for the same debug information change */

struct cached_address {
    uint64_t address;
    uint32_t first, symbol; /* SYMBOL: number in NAMES */
    uint8_t count;
};

struct frame_cache {
    struct cache_folder *folder;
    char *name;                    /* of the file in the folder */
    char *identity;                /* of the files that the answers come from */
    struct strings *names;         /* of the caller */
    struct cached_address *cached; /* the first FOUND come from the file, in ascending order */
    struct dwarf_frame *frames;
    size_t count, found, capacity, frame_count, frame_capacity;
};

/* ---- the file ----
 * magic, u64 XXH3 of the rest: identity; u32 count of strings, each u32 length and bytes;
 * u32 count of frames, each u32 function, u32 file, u32 line, u32 checksum, u32 discriminator;
 * u32 count of addresses, each u64 address, u32 first frame, u32 symbol, u8 count of frames;
 * all little-endian. */

/* Reads the strings. Returns their numbers in NAMES, in order; sets *COUNT. Caller frees. */
static uint32_t *take_strings(struct frame_cache *c, struct cursor *in, size_t *count)
{
    *count = cursor_u32(in);
    in->bad |= *count > cursor_left(in) / sizeof(uint32_t) + 1;
    if (in->bad)
        return NULL;
    uint32_t *numbers = mem_zalloc(*count + 1, sizeof *numbers);
    for (size_t i = 1; i < *count && !in->bad; i++) {
        size_t length = 0;
        const char *text = cursor_string(in, &length);
        in->bad |= !in->bad && memchr(text, '\0', length) != NULL;
        if (!in->bad)
            numbers[i] = strings_intern_bytes(c->names, text, length);
    }
    return numbers;
}

/* Reads the frames. NUMBERS: the numbers in NAMES of the TEXTS strings. */
static void take_frames(struct frame_cache *c, struct cursor *in, const uint32_t *numbers,
                        size_t texts)
{
    enum { SIZE = 20 };
    size_t count = cursor_u32(in);
    in->bad |= count > cursor_left(in) / SIZE;
    if (!in->bad)
        mem_reserve(&c->frames, &c->frame_capacity, count, sizeof *c->frames);
    for (; c->frame_count < count && !in->bad; c->frame_count++) {
        uint32_t function = cursor_u32(in), file = cursor_u32(in), line = cursor_u32(in);
        uint32_t checksum = cursor_u32(in), discriminator = cursor_u32(in);
        in->bad |= function >= texts || file >= texts || checksum >= texts;
        if (!in->bad)
            c->frames[c->frame_count] = (struct dwarf_frame){numbers[function], numbers[file], line,
                                                             numbers[checksum], discriminator};
    }
}

static void take_addresses(struct frame_cache *c, struct cursor *in, const uint32_t *numbers,
                           size_t texts)
{
    enum { SIZE = 17 };
    size_t count = cursor_u32(in);
    in->bad |= count > cursor_left(in) / SIZE;
    if (in->bad)
        return;
    mem_reserve(&c->cached, &c->capacity, count, sizeof *c->cached);
    for (; c->count < count; c->count++) {
        struct cached_address *e = &c->cached[c->count];
        e->address = cursor_u64(in);
        e->first = cursor_u32(in);
        uint32_t symbol = cursor_u32(in);
        e->symbol = symbol < texts ? numbers[symbol] : 0;
        e->count = cursor_u8(in);
        in->bad |= symbol >= texts || e->count > MAX_FRAMES || e->first > c->frame_count ||
                   e->count > c->frame_count - e->first ||
                   (c->count > 0 && e->address <= e[-1].address);
    }
    c->found = c->count;
}

/* Returns false if DATA does not belong to this cache, which may then contain a part of it. */
static bool parse(struct frame_cache *c, const uint8_t *data, size_t size)
{
    struct cursor in = {.data = data, .size = size};
    size_t length = 0;
    const uint8_t *start = cursor_bytes(&in, sizeof magic);
    uint64_t sum = cursor_u64(&in);
    if (in.bad || memcmp(start, magic, sizeof magic) != 0 ||
        sum != XXH3_64bits(data + in.at, size - in.at))
        return false;
    const char *identity = cursor_string(&in, &length);
    if (in.bad || length != strlen(c->identity) || memcmp(identity, c->identity, length) != 0)
        return false;
    size_t texts;
    uint32_t *numbers = take_strings(c, &in, &texts);
    if (numbers == NULL)
        return false;
    take_frames(c, &in, numbers, texts);
    take_addresses(c, &in, numbers, texts);
    free(numbers);
    return !in.bad && cursor_left(&in) == 0;
}

static void load(struct frame_cache *c)
{
    size_t size;
    uint8_t *data = cache_folder_read(c->folder, c->name, MAX_FILE, &size);
    if (data != NULL && !parse(c, data, size))
        c->count = c->found = c->frame_count = 0;
    free(data);
}

static int by_address(const void *left, const void *right)
{
    const struct cached_address *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Sorts the addresses, and drops all but one for each address. */
static void sort(struct frame_cache *c)
{
    size_t kept = 0;
    qsort(c->cached, c->count, sizeof *c->cached, by_address);
    for (size_t i = 0; i < c->count; i++)
        if (kept == 0 || c->cached[i].address != c->cached[kept - 1].address)
            c->cached[kept++] = c->cached[i];
    c->count = kept;
}

static void store(struct frame_cache *c)
{
    struct buffer rest = {0}, file = {0};
    sort(c);
    buffer_string(&rest, c->identity);
    buffer_u32(&rest, strings_count(c->names));
    for (uint32_t i = 1; i < strings_count(c->names); i++)
        buffer_string(&rest, strings_get(c->names, i));
    buffer_u32(&rest, (uint32_t)c->frame_count);
    for (size_t i = 0; i < c->frame_count; i++) {
        buffer_u32(&rest, c->frames[i].function);
        buffer_u32(&rest, c->frames[i].file);
        buffer_u32(&rest, c->frames[i].line);
        buffer_u32(&rest, c->frames[i].checksum);
        buffer_u32(&rest, c->frames[i].discriminator);
    }
    buffer_u32(&rest, (uint32_t)c->count);
    for (size_t i = 0; i < c->count; i++) {
        buffer_u64(&rest, c->cached[i].address);
        buffer_u32(&rest, c->cached[i].first);
        buffer_u32(&rest, c->cached[i].symbol);
        buffer_u8(&rest, c->cached[i].count);
    }
    buffer_bytes(&file, magic, sizeof magic);
    buffer_u64(&file, XXH3_64bits(rest.data, rest.size));
    buffer_bytes(&file, rest.data, rest.size);
    if (file.size <= MAX_FILE)
        cache_folder_write(c->folder, c->name, file.data, file.size);
    buffer_free(&rest);
    buffer_free(&file);
}

/* ---- */

/* Identifies the version of the tools; the debug file, whose size or modification time changes if
 * it is replaced; and the name of the program, which is part of names by address. Caller frees. */
static char *identity_of(const struct elf_file *image, const struct elf_file *debug)
{
    struct stat st = {0};
    if (debug->fd < 0 || fstat(debug->fd, &st) != 0)
        return NULL;
    return mem_printf("%s %d %s %s %s %lld %lld.%09ld", PBIN_TOOLS_VERSION, REVISION,
                      debug->build_id, elf_base_name(image->path), debug->path,
                      (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

struct frame_cache *frame_cache_open(const struct elf_file *image, const struct elf_file *debug,
                                     struct strings *names)
{
    char *identity = image->build_id[0] != '\0' ? identity_of(image, debug) : NULL;
    struct cache_folder *folder = identity != NULL ? cache_folder_open() : NULL;
    if (folder == NULL) {
        free(identity);
        return NULL;
    }
    struct frame_cache *c = mem_zalloc(1, sizeof *c);
    c->folder = folder;
    c->identity = identity;
    c->name = mem_printf("%s.frames", image->build_id);
    c->names = names;
    load(c);
    return c;
}

static const struct cached_address *find(const struct frame_cache *c, uint64_t address)
{
    const struct cached_address wanted = {.address = address};
    return c->found == 0 ? NULL : bsearch(&wanted, c->cached, c->found, sizeof wanted, by_address);
}

bool frame_cache_has(const struct frame_cache *c, const uint64_t *addresses, size_t count)
{
    for (size_t i = 0; c != NULL && i < count; i++)
        if (find(c, addresses[i]) == NULL)
            return false;
    return c != NULL;
}

bool frame_cache_find(struct frame_cache *c, const uint64_t *addresses, size_t count,
                      struct dwarf_answer *answer, uint32_t *symbols)
{
    if (c == NULL)
        return false;
    dwarf_answer_reserve(answer, count);
    for (size_t i = 0; i < count; i++) {
        const struct cached_address *e = find(c, addresses[i]);
        if (e == NULL)
            return false;
        answer->first[i] = (uint32_t)(e - c->cached);
    }
    answer->damaged = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cached_address *e = &c->cached[answer->first[i]];
        mem_reserve(&answer->frames, &answer->frame_capacity, answer->frame_count + e->count,
                    sizeof *answer->frames);
        answer->first[i] = (uint32_t)answer->frame_count;
        answer->count[i] = e->count;
        symbols[i] = e->symbol;
        for (size_t k = 0; k < e->count; k++)
            answer->frames[answer->frame_count++] = c->frames[e->first + k];
    }
    return true;
}

static uint32_t add_frames(struct frame_cache *c, const struct dwarf_frame *from, size_t count)
{
    size_t first = c->frame_count;
    mem_reserve(&c->frames, &c->frame_capacity, first + count, sizeof *c->frames);
    for (size_t k = 0; k < count; k++)
        c->frames[c->frame_count++] = from[k];
    return (uint32_t)first;
}

void frame_cache_add(struct frame_cache *c, const uint64_t *addresses, size_t count,
                     const struct dwarf_answer *answer, const uint32_t *symbols)
{
    uint32_t first = 0;
    if (c == NULL || count == 0)
        return;
    mem_reserve(&c->cached, &c->capacity, c->count + count, sizeof *c->cached);
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && answer->first[i] == answer->first[i - 1] &&
                    answer->count[i] == answer->count[i - 1];
        if (!same) /* many successive addresses have the same frames */
            first = add_frames(c, answer->frames + answer->first[i], answer->count[i]);
        c->cached[c->count++] =
            (struct cached_address){addresses[i], first, symbols[i], answer->count[i]};
    }
}

void frame_cache_close(struct frame_cache *c)
{
    if (c == NULL)
        return;
    if (c->count > c->found)
        store(c);
    cache_folder_close(c->folder);
    free(c->cached);
    free(c->frames);
    free(c->name);
    free(c->identity);
    free(c);
}
