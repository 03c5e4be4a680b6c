/* Resolves program counters to binary, function, source file and line.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/symbolizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "convert/symbolize/code_maps.h"
#include "convert/symbolize/demangle.h"
#include "convert/symbolize/kallsyms.h"
#include "formats/elf/elf_content.h"

/* The upper half of the address space of x86-64 and ARM. */
#define FIRST_KERNEL_ADDRESS UINT64_C(0xffff800000000000)
#define VSYSCALL_PAGE        UINT64_C(0xffffffffff600000)

enum { FRAMES_PER_CHUNK = 1024 };

/* A program counter to resolve, with its place in the caller's array. */
struct wanted {
    uint64_t pc;
    uint32_t map, turn; /* of the mapping */
    size_t index;
};

/* Addresses in one mapping, at most as many as a question may have. */
struct lookup {
    const struct wanted *wanted;
    size_t count;
    struct code_file *file;           /* NULL: none */
    uint64_t addresses[MAX_QUESTION]; /* in FILE */
};

struct symbolizer {
    struct lookup lookups[MAX_HELD]; /* in progress, used in rotation */
    struct symbolizer_options options;
    struct code_maps *maps;
    struct kallsyms *kallsyms;
    struct strings *strings; /* names, paths, demangled names */
    uint32_t *demangled;     /* [name] number of its demangled form + 1, 0: not made yet */
    size_t demangled_count, demangled_capacity;
    struct code_frame **chunks; /* frames that were returned */
    size_t chunk_count, chunk_capacity, chunk_used, chunk_size;
    struct dwarf_answer answer;
    struct demangle_costs costs;
    struct reporter *reporter;
};

/* The answer for the last address: the next one is usually on the same line of the same
 * function. */
struct last_frames {
    uint32_t symbol;
    uint32_t first; /* in the answer */
    size_t count, frame_count;
    const struct code_frame *frames; /* NULL: nothing yet */
};

struct symbolizer *symbolizer_new(const struct code_map *maps, size_t map_count,
                                  const struct symbolizer_options *options,
                                  struct reporter *reporter, struct error *err)
{
    struct symbolizer *s = mem_zalloc(1, sizeof *s);
    s->options = *options;
    if (options->kallsyms != NULL) {
        s->kallsyms = kallsyms_read(options->kallsyms, err);
        if (s->kallsyms == NULL) {
            free(s);
            return NULL;
        }
    }
    s->reporter = reporter;
    s->strings = strings_new();
    s->maps = code_maps_new(maps, map_count, &s->options, reporter);
    return s;
}

struct symbolizer *symbolizer_new_file(struct elf_file *image,
                                       const struct symbolizer_options *options,
                                       struct reporter *reporter)
{
    struct symbolizer *s = mem_zalloc(1, sizeof *s);
    s->options = *options;
    s->reporter = reporter;
    s->strings = strings_new();
    s->maps = code_maps_new_file(image, &s->options, reporter);
    return s;
}

void symbolizer_delete(struct symbolizer *s)
{
    if (s == NULL)
        return;
    code_maps_delete(s->maps);
    kallsyms_delete(s->kallsyms);
    strings_delete(s->strings);
    dwarf_answer_free(&s->answer);
    for (size_t i = 0; i < s->chunk_count; i++)
        free(s->chunks[i]);
    free(s->chunks);
    free(s->demangled);
    free(s);
}

static struct code_frame *new_frames(struct symbolizer *s, size_t count)
{
    if (s->chunk_count == 0 || count > s->chunk_size - s->chunk_used) {
        s->chunk_size = count > FRAMES_PER_CHUNK ? count : FRAMES_PER_CHUNK;
        s->chunk_used = 0;
        *MEM_APPEND(s->chunks, s->chunk_count, s->chunk_capacity) =
            mem_alloc(s->chunk_size * sizeof **s->chunks);
    }
    struct code_frame *frames = s->chunks[s->chunk_count - 1] + s->chunk_used;
    s->chunk_used += count;
    return frames;
}

/* Returns the demangled form of the name with NUMBER; each is computed only once. */
static const char *demangled(struct symbolizer *s, uint32_t number)
{
    mem_extend(&s->demangled, &s->demangled_count, &s->demangled_capacity, (size_t)number + 1,
               sizeof *s->demangled);
    if (s->demangled[number] == 0) {
        bool exceeded = s->costs.exceeded;
        const char *name = strings_get(s->strings, number);
        char *text = demangle(name, &s->costs);
        if (s->costs.exceeded && !exceeded)
            report_warning(s->reporter,
                           "%.100s: too long when demangled: this name and later ones "
                           "remain mangled",
                           name);
        if (text == NULL && strcmp(name, LABEL_UNKNOWN) == 0) /* a symbol with this name */
            text = mem_strdup(label_unlike(name));
        s->demangled[number] = (text != NULL ? strings_intern(s->strings, text) : number) + 1;
        free(text);
    }
    return strings_get(s->strings, s->demangled[number] - 1);
}

/* Makes a frame from FROM, with the name FUNCTION. */
static struct code_frame make_frame(struct symbolizer *s, uint32_t function,
                                    const struct dwarf_frame *from)
{
    const char *name = function != 0 ? strings_get(s->strings, function) : LABEL_UNKNOWN;
    return (struct code_frame){
        name,
        function != 0 && !s->options.no_demangle ? demangled(s, function) : name,
        strings_get(s->strings, from->file),
        from->line,
        strings_get(s->strings, from->checksum),
        from->discriminator,
    };
}

/* Makes the frames of one address: those of the debug information, with the outermost one named by
 * the symbol table, which distinguishes clones (.cold, .part.0) and is the same with and without
 * -g. */
static void make_location(struct symbolizer *s, struct code_location *to, uint32_t symbol,
                          const struct dwarf_frame *from, uint32_t first, size_t count,
                          struct last_frames *last)
{
    if (last->frames == NULL || last->symbol != symbol || last->first != first ||
        last->count != count) {
        size_t frame_count = count > 0 ? count : 1;
        struct code_frame *frames = new_frames(s, frame_count);
        for (size_t i = 0; i < count; i++)
            frames[i] =
                make_frame(s, i + 1 == count && symbol != 0 ? symbol : from[i].function, &from[i]);
        if (count == 0)
            frames[0] = make_frame(s, symbol, &(struct dwarf_frame){0});
        *last = (struct last_frames){symbol, first, count, frame_count, frames};
    }
    to->frames = last->frames;
    to->frame_count = last->frame_count;
}

/* Fills LOOKUP with the first of COUNT addresses, and begins to look them up. Returns the number of
 * addresses in it. */
static size_t begin_lookup(struct symbolizer *s, struct lookup *lookup, const struct wanted *wanted,
                           size_t count)
{
    lookup->wanted = wanted;
    lookup->count = 0;
    lookup->file = NULL;
    while (lookup->count < count && lookup->count < MAX_QUESTION &&
           wanted[lookup->count].map == wanted->map)
        lookup->count++;
    if (count == 0 || wanted->map == UINT32_MAX)
        return lookup->count;
    const struct elf_mapping *mapping;
    lookup->file = code_maps_file(s->maps, wanted->map, &mapping);
    if (lookup->file == NULL)
        return lookup->count;
    const struct elf_file *image =
        code_file_image(lookup->file, &(struct error){0}); /* already open */
    for (size_t i = 0; i < lookup->count; i++)
        lookup->addresses[i] = elf_mapping_address(image, mapping, wanted[i].pc);
    code_file_announce(lookup->file, lookup->addresses, lookup->count);
    return lookup->count;
}

static void resolve_in_file(struct symbolizer *s, const struct lookup *lookup,
                            struct code_location *locations)
{
    uint32_t names[MAX_QUESTION];
    struct last_frames last = {0};
    code_file_find(lookup->file, lookup->addresses, lookup->count, s->strings, &s->answer, names);
    for (size_t i = 0; i < lookup->count; i++) {
        size_t frames = s->answer.count[i];
        uint32_t first = frames > 0 ? s->answer.first[i] : 0;
        const struct dwarf_frame *from = frames > 0 ? s->answer.frames + first : NULL;
        make_location(s, &locations[lookup->wanted[i].index], names[i], from, first, frames, &last);
    }
}

/* Returns the function at PC in the mapping NAME, which has no file; NULL if unknown. The kernel's
 * page of legacy system calls is not in any file and does not change: its three functions have been
 * at these addresses since Linux 2.6. */
static const char *name_without_file(const char *name, uint64_t pc)
{
    static const char *const functions[] = {"gettimeofday", "time", "getcpu"};
    enum { EACH = 0x400, CODE = 16 }; /* [bytes] */
    const uint64_t offset = pc - VSYSCALL_PAGE;
    if (strcmp(name, "[vsyscall]") != 0 || pc < VSYSCALL_PAGE || offset % EACH >= CODE ||
        offset / EACH >= sizeof functions / sizeof functions[0])
        return NULL;
    return functions[offset / EACH];
}

static void resolve_in_map(struct symbolizer *s, const struct lookup *lookup,
                           struct code_location *locations)
{
    const uint32_t map = lookup->wanted->map;
    struct last_frames last = {0};
    for (size_t i = 0; i < lookup->count; i++) {
        struct code_location *to = &locations[lookup->wanted[i].index];
        to->binary = code_maps_name(s->maps, map);
        to->map = map;
        if (lookup->file != NULL)
            continue;
        const char *name = name_without_file(to->binary, to->pc);
        make_location(s, to, name != NULL ? strings_intern(s->strings, name) : 0, NULL, 0, 0,
                      &last);
    }
    if (lookup->file != NULL)
        resolve_in_file(s, lookup, locations);
}

static void resolve_outside(struct symbolizer *s, const struct wanted *wanted, size_t count,
                            struct code_location *locations)
{
    struct last_frames last = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t pc = wanted[i].pc;
        bool kernel = pc >= FIRST_KERNEL_ADDRESS;
        const char *label = kernel ? LABEL_KERNEL : LABEL_FOREIGN;
        const char *name = kernel && s->kallsyms != NULL ? kallsyms_find(s->kallsyms, pc) : NULL;
        locations[wanted[i].index].binary = label;
        uint32_t symbol = strings_intern(s->strings, name != NULL ? name : label);
        make_location(s, &locations[wanted[i].index], symbol, NULL, 0, 0, &last);
    }
}

static int compare_wanted(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

void symbolizer_count(struct symbolizer *s, const uint64_t *samples)
{
    code_maps_count(s->maps, samples);
}

uint32_t symbolizer_find_map(const struct symbolizer *s, uint64_t pc)
{
    return code_maps_find(s->maps, pc);
}

void symbolizer_resolve(struct symbolizer *s, const uint64_t *pcs, size_t count,
                        struct code_location *locations)
{
    uint32_t *maps = mem_alloc(count * sizeof *maps);
    for (size_t i = 0; i < count; i++)
        maps[i] = code_maps_find(s->maps, pcs[i]);
    symbolizer_resolve_in(s, pcs, maps, count, locations);
    free(maps);
}

/* Returns whether addresses in MAP may be looked up while COUNT lookups, the last of which is LAST,
 * are in progress. */
static bool may_begin(const struct symbolizer *s, size_t count, const struct lookup *last,
                      uint32_t map)
{
    return count == 0 || count < code_maps_held(s->maps) ||
           (count == 1 && last->wanted->map == map);
}

/* Workers of the same file or of the next ones look up the next addresses while the previous ones
 * are named. */
static void resolve_sorted(struct symbolizer *s, const struct wanted *wanted, size_t count,
                           struct code_location *locations)
{
    size_t taken = 0, begun = 0;
    for (size_t turn = 0; taken < count || turn < begun; turn++) {
        const struct lookup *now = &s->lookups[turn % MAX_HELD];
        while (taken < count &&
               may_begin(s, begun - turn, &s->lookups[(begun - 1) % MAX_HELD], wanted[taken].map)) {
            if (begun > turn)
                report_hold(s->reporter, begun);
            taken += begin_lookup(s, &s->lookups[begun % MAX_HELD], wanted + taken, count - taken);
            report_held(s->reporter);
            begun++;
        }
        if (now->wanted->map != UINT32_MAX)
            resolve_in_map(s, now, locations);
        else
            resolve_outside(s, now->wanted, now->count, locations);
        report_release(s->reporter, turn + 1);
    }
}

/* Sets the turn of each address: the mapping with the most addresses comes first, because it takes
 * longest. The others follow in their order. */
static void give_turns(struct wanted *wanted, size_t count, size_t map_count)
{
    size_t *sums = mem_zalloc(map_count, sizeof *sums), most = 0;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].map < map_count && ++sums[wanted[i].map] > sums[most])
            most = wanted[i].map;
    for (size_t i = 0; i < count; i++)
        if (wanted[i].map < map_count)
            wanted[i].turn = wanted[i].map == most ? 0 : wanted[i].map + 1;
    free(sums);
}

void symbolizer_resolve_in(struct symbolizer *s, const uint64_t *pcs, const uint32_t *maps,
                           size_t count, struct code_location *locations)
{
    struct wanted *wanted = mem_alloc(count * sizeof *wanted);
    for (size_t i = 0; i < count; i++) {
        wanted[i] = (struct wanted){pcs[i], maps[i], UINT32_MAX, i};
        locations[i] = (struct code_location){.pc = pcs[i], .map = UINT32_MAX};
    }
    give_turns(wanted, count, code_maps_number(s->maps));
    if (count > 0)
        qsort(wanted, count, sizeof *wanted, compare_wanted);
    resolve_sorted(s, wanted, count, locations);
    free(wanted);
}

const char *symbolizer_path(struct symbolizer *s, size_t index)
{
    return code_maps_path(s->maps, index);
}

uint64_t symbolizer_offset(struct symbolizer *s, size_t index)
{
    return code_maps_offset(s->maps, index);
}

const char *symbolizer_build_id(struct symbolizer *s, size_t index)
{
    return code_maps_build_id(s->maps, index);
}
