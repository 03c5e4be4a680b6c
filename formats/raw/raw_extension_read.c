/* Reads the data that our sampler records in addition to the documented raw dialect.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/elf/elf_content.h"
#include "formats/raw/raw_extension.h"

enum { READING_SIZE = 28 };

/* Reads a text of the block; it ends at its first NUL. */
static char *take_text(struct raw_extension *ext, struct cursor *in)
{
    size_t length;
    const char *text = cursor_string(in, &length);
    uint32_t number = strings_intern_bytes(ext->texts, text, strnlen(text, length));
    return (char *)strings_get(ext->texts, number);
}

static const struct {
    const char *name;
    char type; /* 's' text, 'u' unsigned, 'f' double */
    size_t at;
} facts[] = {
#define FACT(name, type)                                                                           \
    {                                                                                              \
#name, type, offsetof(struct raw_facts, name)                                              \
    }
    FACT(sampler, 's'),        FACT(command, 's'),      FACT(host, 's'),
    FACT(started, 's'),        FACT(cwd, 's'),          FACT(pmu, 's'),
    FACT(pmu_kind, 's'),       FACT(unit, 's'),         FACT(engine, 's'),
    FACT(interval, 's'),       FACT(target, 's'),       FACT(frequency, 'f'),
    FACT(reached, 'f'),        FACT(baseline_w, 'f'),   FACT(cpus, 'u'),
    FACT(cpu_ns, 'u'),         FACT(tick_ns, 'u'),      FACT(kernel_samples, 'u'),
    FACT(kernel_current, 'f'), FACT(idle_current, 'f'), FACT(page_faults, 'u'),
    FACT(system_ns, 'u'),      FACT(user_part, 'f'),
#undef FACT
};

static void set_fact(struct raw_facts *to, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char *at = (char *)to + facts[i].at;
        double number;
        if (strcmp(facts[i].name, name) != 0)
            continue;
        if (facts[i].type == 's')
            *(const char **)at = value;
        else if (facts[i].type == 'u')
            *(uint64_t *)at = strtoull(value, NULL, 10);
        else if (parse_double(value, 0, 1e12, &number)) /* stays 0 if it is not a number */
            *(double *)at = number;
    }
}

static void read_facts(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        const char *name = take_text(ext, in), *value = take_text(ext, in);
        if (!in->bad)
            set_fact(&ext->facts, name, value);
    }
}

static void read_maps(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_map *map = MEM_APPEND(ext->maps, ext->map_count, ext->map_capacity);
        map->address = cursor_u64(in);
        map->size = cursor_u64(in);
        map->offset = cursor_u64(in);
        map->pid = cursor_u32(in);
        map->build_id = take_text(ext, in);
        map->path = take_text(ext, in);
    }
}

static void read_threads(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_thread *thread =
            MEM_APPEND(ext->threads, ext->thread_count, ext->thread_capacity);
        thread->tid = cursor_u32(in);
        thread->pid = cursor_u32(in);
        thread->name = take_text(ext, in);
    }
}

static void read_images(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        uint32_t number = (uint32_t)ext->image_count;
        struct raw_image *image = MEM_APPEND(ext->images, ext->image_count, ext->image_capacity);
        image->pid = cursor_u32(in);
        image->ppid = cursor_u32(in);
        image->start = cursor_u64(in);
        image->parent = cursor_u32(in);
        image->how = cursor_u8(in);
        image->path = take_text(ext, in);
        image->comm = take_text(ext, in);
        in->bad |= image->how >= RAW_HOWS;
        in->bad |= image->parent != RAW_NO_IMAGE && image->parent >= number;
    }
}

static void read_mapx(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_mapx *map = MEM_APPEND(ext->mapx, ext->mapx_count, ext->mapx_capacity);
        map->image = cursor_u32(in);
        map->from = cursor_u64(in);
        map->address = cursor_u64(in);
        map->size = cursor_u64(in);
        map->offset = cursor_u64(in);
        map->inode = cursor_u64(in);
        map->kind = cursor_u8(in);
        map->build_id = take_text(ext, in);
        map->path = take_text(ext, in);
        in->bad |= map->image >= ext->image_count || map->kind >= RAW_MAPPINGS;
    }
}

static void read_codes(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_code *code = MEM_APPEND(ext->codes, ext->code_count, ext->code_capacity);
        code->inode = cursor_u64(in);
        code->path = take_text(ext, in);
        code->content = take_text(ext, in);
        in->bad |= !elf_is_content_id(code->content);
    }
}

/* The number of a file among KNOWN. Texts are interned, so that equal texts have equal pointers. */
static uint32_t file_number(struct strings *known, const char *path, uint64_t inode)
{
    const uint64_t key[] = {(uintptr_t)path, inode};
    return strings_intern_bytes(known, (const char *)key, sizeof key) - 1; /* "" is 0 */
}

/* Sets the build-id of mappings of files without one to the text that identifies the file. */
static void identify_files(struct raw_extension *ext)
{
    struct strings *known = strings_new();
    char **contents = mem_zalloc(ext->code_count + 1, sizeof *contents);
    for (size_t i = 0; i < ext->code_count; i++) {
        const struct raw_code *code = &ext->codes[i];
        contents[file_number(known, code->path, code->inode)] = code->content;
    }
    for (size_t i = 0; i < ext->mapx_count && ext->code_count > 0; i++) {
        struct raw_mapx *map = &ext->mapx[i];
        if (map->kind != RAW_MAP_FILE || map->build_id[0] != '\0')
            continue;
        uint32_t number = file_number(known, map->path, map->inode);
        if (number < ext->code_count && contents[number] != NULL)
            map->build_id = contents[number];
    }
    strings_delete(known);
    free(contents);
}

static void read_tasks(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_task *task = MEM_APPEND(ext->tasks, ext->task_count, ext->task_capacity);
        task->tid = cursor_u32(in);
        task->pid = cursor_u32(in);
        task->start = cursor_u64(in);
        task->name = take_text(ext, in);
    }
}

static void read_sources(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_source *source =
            MEM_APPEND(ext->sources, ext->source_count, ext->source_capacity);
        source->name = take_text(ext, in);
        source->kind = take_text(ext, in);
        source->unit = take_text(ext, in);
        source->scope = take_text(ext, in);
        source->per_count = cursor_f64(in);
        source->period = cursor_u64(in);
        source->role = cursor_u8(in);
        source->help = take_text(ext, in);
    }
}

static void read_cpus(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_cpu *cpu = MEM_APPEND(ext->cpus, ext->cpu_count, ext->cpu_capacity);
        cpu->pid = cursor_u32(in);
        cpu->user = cursor_u64(in);
        cpu->system = cursor_u64(in);
    }
}

static void read_ticks(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_ticks *ticks = MEM_APPEND(ext->ticks, ext->tick_count, ext->tick_capacity);
        ticks->pid = cursor_u32(in);
        ticks->time = cursor_u64(in);
        ticks->user = cursor_u64(in);
        ticks->system = cursor_u64(in);
        ticks->stops = cursor_u64(in);
    }
}

static void read_marks(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        struct raw_mark *mark = MEM_APPEND(ext->marks, ext->mark_count, ext->mark_capacity);
        mark->time = cursor_u64(in);
        mark->cpu = cursor_u64(in);
    }
}

static void read_nominal(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--)
        *MEM_APPEND(ext->nominal_ns, ext->nominal_count, ext->nominal_capacity) = cursor_u64(in);
}

static void read_jit(struct raw_extension *ext, struct cursor *in)
{
    uint32_t image = cursor_u32(in), known = ext->jit_numbers.count;
    uint8_t kind = cursor_u8(in);
    size_t size = cursor_left(in);
    in->bad |= image >= ext->image_count || kind >= RAW_JITS;
    if (in->bad)
        return;
    uint32_t number = numbers_intern(&ext->jit_numbers, (uint64_t)image << 8 | kind);
    if (number == known)
        *MEM_APPEND(ext->jits, ext->jit_count, ext->jit_capacity) =
            (struct raw_jit_map){image, kind, {0}};
    buffer_bytes(&ext->jits[number].bytes, cursor_bytes(in, size), size);
}

static void read_vdso(struct raw_extension *ext, struct cursor *in)
{
    free(ext->vdso);
    ext->vdso_address = cursor_u64(in);
    ext->vdso_size = cursor_left(in);
    ext->vdso = mem_alloc(ext->vdso_size);
    memcpy(ext->vdso, in->data + in->at, ext->vdso_size);
}

size_t raw_seen_whole(const uint8_t *data, size_t size, size_t count)
{
    size_t room = size > count ? (size - count) / 8 : 0, i = 0;
    while (i < count && i < size && ((data[i] & RAW_CALLER) == 0 || room > 0))
        room -= (data[i++] & RAW_CALLER) != 0;
    return i;
}

/* Counts the flags in a block; they are read later, with their samples. */
static void look_at_seen(struct raw_extension *ext, struct cursor *in)
{
    uint64_t first = cursor_u64(in);
    uint32_t count = cursor_u32(in);
    const uint8_t *flags = cursor_bytes(in, count);
    size_t callers = 0;
    for (uint32_t i = 0; i < count && flags != NULL; i++)
        callers += (flags[i] & RAW_CALLER) != 0;
    in->bad |= first != ext->seen_count || cursor_left(in) != callers * 8;
    ext->seen_count += count;
    ext->unseen = 0;
}

/* The same for a truncated block. */
static void look_at_part_of_seen(struct raw_extension *ext, struct cursor *in)
{
    uint64_t first = cursor_u64(in);
    uint32_t count = cursor_u32(in);
    size_t size = cursor_left(in);
    size_t whole = in->bad ? 0 : raw_seen_whole(cursor_bytes(in, size), size, count);
    in->bad |= first != ext->seen_count || whole == 0;
    ext->seen_count += whole;
}

static void look_at_readings(struct raw_extension *ext, struct cursor *in)
{
    uint32_t count = cursor_u32(in);
    in->bad |= cursor_left(in) != (uint64_t)count * READING_SIZE;
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        in->bad |= cursor_u32(in) >= ext->source_count;
        cursor_bytes(in, READING_SIZE - 4);
    }
}

static void look_at_rows(struct raw_extension *ext, struct cursor *in)
{
    ext->unseen = cursor_u32(in);
    ext->samples += ext->unseen;
}

static void read_done(struct raw_extension *ext, struct cursor *in)
{
    ext->samples = cursor_u64(in);
    ext->done = true;
}

/* Counts the times in a block. They are read later, with their samples; blocks out of order are
 * reported then. */
static void look_at_times(struct raw_extension *ext, struct cursor *in)
{
    uint64_t first = cursor_u64(in);
    size_t count = cursor_left(in) / 8;
    if (in->bad || first != ext->time_count || count == 0)
        return;
    ext->time_count += count;
    ext->last_ns = get_u64(cursor_bytes(in, count * 8) + (count - 1) * 8, false);
}

/* Kinds of blocks, and where the offset of the first block of each kind is kept. */
static const struct {
    const char *type;
    void (*read)(struct raw_extension *ext, struct cursor *in);
    size_t at; /* offsetof, 0: nowhere */
} kinds[] = {
    {"info", read_facts, 0},
    {"maps", read_maps, 0},
    {"thrd", read_threads, 0},
    {"imgs", read_images, 0},
    {"mapx", read_mapx, 0},
    {"task", read_tasks, 0},
    {"code", read_codes, 0},
    {"vdso", read_vdso, 0},
    {"jits", read_jit, 0},
    {"srcs", read_sources, 0},
    {"cpus", read_cpus, 0},
    {"tick", read_ticks, 0},
    {"mark", read_marks, 0},
    {"nomi", read_nominal, 0},
    {"time", look_at_times, offsetof(struct raw_extension, time_at)},
    {"rows", look_at_rows, offsetof(struct raw_extension, rows_at)},
    {"seen", look_at_seen, offsetof(struct raw_extension, seen_at)},
    {"read", look_at_readings, offsetof(struct raw_extension, read_at)},
    {"done", read_done, 0},
};

/* Reads one block. Returns 0, or -1 if its payload does not fit its type. */
static int take_block(struct raw_extension *ext, struct block *block)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t *at = (uint64_t *)((char *)ext + kinds[i].at);
        if (strcmp(block->type, kinds[i].type) != 0)
            continue;
        kinds[i].read(ext, &block->in);
        if (kinds[i].at != 0 && *at == 0 && !block->in.bad)
            *at = block->offset;
    }
    return block->in.bad ? -1 : 0;
}

/* Restores the lengths that lists had before a bad block. */
static void forget_block(struct raw_extension *ext, const struct raw_extension *before)
{
    ext->map_count = before->map_count;
    ext->thread_count = before->thread_count;
    ext->image_count = before->image_count;
    ext->mapx_count = before->mapx_count;
    ext->task_count = before->task_count;
    ext->code_count = before->code_count;
    ext->source_count = before->source_count;
    ext->cpu_count = before->cpu_count;
    ext->tick_count = before->tick_count;
    ext->mark_count = before->mark_count;
    ext->nominal_count = before->nominal_count;
    ext->samples = before->samples;
    ext->unseen = before->unseen;
    ext->time_count = before->time_count;
    ext->last_ns = before->last_ns;
    ext->seen_count = before->seen_count;
    ext->done = before->done;
}

/* Reads the complete records of BLOCK, in which the file ends. */
static void take_part(struct raw_extension *ext, struct block *block)
{
    const struct raw_extension before = *ext;
    if (strcmp(block->type, "time") == 0) {
        look_at_times(ext, &block->in);
        if (ext->time_at == 0 && ext->time_count > 0)
            ext->time_at = block->offset;
    } else if (strcmp(block->type, "seen") == 0) {
        look_at_part_of_seen(ext, &block->in);
        if (block->in.bad)
            forget_block(ext, &before);
        else if (ext->seen_at == 0)
            ext->seen_at = block->offset;
    }
}

int raw_extension_next(struct stream *stream, struct block *block, struct error *err)
{
    struct error damage = {0};
    int got = block_next(stream, block, &damage);
    if (got >= 0)
        return got;
    got = damage.of_system ? 0 : block_part(stream, block, err);
    return got != 0 ? got : error_pass(err, &damage);
}

int raw_extension_read(struct stream *stream, struct raw_extension *ext, bool salvage,
                       struct error *err)
{
    struct block block;
    struct error damage = {0};
    int got;
    *ext = (struct raw_extension){.texts = strings_new()};
    if (stream_skip(stream, RAW_SIGNATURE_SIZE, err) != 0)
        return -1;
    ext->end = stream_offset(stream);
    while ((got = block_next(stream, &block, &damage)) > 0 && !ext->done) {
        const struct raw_extension before = *ext;
        if (!block_is_optional(&block)) {
            got = error_set(&damage, stream_name(stream), block.offset,
                            "block '%s' is required, but from a newer version", block.type);
            break;
        }
        if (take_block(ext, &block) != 0) {
            forget_block(ext, &before);
            got =
                error_set(&damage, stream_name(stream), block.offset,
                          "block '%s' is too short for its count, or refers to something undefined",
                          block.type);
            break;
        }
        ext->end = stream_offset(stream);
    }
    if (got > 0)
        got = error_set(&damage, stream_name(stream), ext->end,
                        "%" PRIu64 " bytes after the end of the raw extension",
                        stream_size(stream) - ext->end);
    else if (got == 0 && !ext->done)
        got = error_set(&damage, stream_name(stream), ext->end,
                        "raw extension without its end block");
    if (got < 0 && (!salvage || damage.of_system)) {
        raw_extension_free(ext);
        return error_pass(err, &damage);
    }
    identify_files(ext);
    if (got == 0 || ext->rows_at != 0 || stream_offset(stream) != ext->end)
        return 0;
    got = block_part(stream, &block, err);
    if (got > 0)
        take_part(ext, &block);
    else if (got < 0)
        raw_extension_free(ext);
    return got < 0 ? -1 : 0;
}

struct raw_reading_walk raw_reading_walk_begin(struct stream *stream,
                                               const struct raw_extension *ext)
{
    return (struct raw_reading_walk){.stream = stream, .at = ext->read_at};
}

void raw_reading_walk_end(struct raw_reading_walk *walk)
{
    buffer_free(&walk->bytes);
}

/* Opens the next block of readings. Returns 1, 0 if there are no more, or -1 if reading fails. */
static int open_readings(struct raw_reading_walk *walk, struct error *err)
{
    struct block block;
    uint64_t back = stream_offset(walk->stream);
    if (stream_seek(walk->stream, walk->at, err) != 0)
        return -1;
    while (walk->at != 0 && walk->left == 0) {
        struct error damage = {0}; /* ignored: the extension was checked when it was opened */
        int got = block_next(walk->stream, &block, &damage);
        if (got < 0 && damage.of_system)
            return error_pass(err, &damage);
        walk->at = got > 0 ? stream_offset(walk->stream) : 0;
        if (got <= 0 || strcmp(block.type, "read") != 0)
            continue;
        walk->left = cursor_u32(&block.in);
        size_t size = cursor_left(&block.in);
        walk->bytes.size = 0;
        buffer_bytes(&walk->bytes, cursor_bytes(&block.in, size), size);
        walk->in = (struct cursor){.data = walk->bytes.data, .size = size};
    }
    return stream_seek(walk->stream, back, err) != 0 ? -1 : walk->left > 0;
}

int raw_reading_next(struct raw_reading_walk *walk, struct raw_reading *reading, struct error *err)
{
    if (walk->left == 0) {
        int got = walk->at == 0 ? 0 : open_readings(walk, err);
        if (got <= 0)
            return got;
    }
    reading->source = cursor_u32(&walk->in);
    reading->time = cursor_u64(&walk->in);
    reading->value = cursor_u64(&walk->in);
    reading->busy = cursor_u64(&walk->in);
    walk->left--;
    if (walk->in.bad)
        walk->left = 0;
    return !walk->in.bad;
}

void raw_extension_forget_images(struct raw_extension *ext)
{
    ext->image_count = ext->mapx_count = ext->task_count = 0;
    for (size_t i = 0; i < ext->jit_count; i++)
        buffer_free(&ext->jits[i].bytes);
    ext->jit_count = 0;
}

void raw_extension_forget_maps(struct raw_extension *ext)
{
    ext->map_count = ext->mapx_count = 0;
}

void raw_extension_free(struct raw_extension *ext)
{
    for (size_t i = 0; i < ext->jit_count; i++)
        buffer_free(&ext->jits[i].bytes);
    numbers_free(&ext->jit_numbers);
    strings_delete(ext->texts);
    free(ext->maps);
    free(ext->threads);
    free(ext->images);
    free(ext->mapx);
    free(ext->tasks);
    free(ext->codes);
    free(ext->sources);
    free(ext->jits);
    free(ext->cpus);
    free(ext->ticks);
    free(ext->nominal_ns);
    free(ext->marks);
    free(ext->vdso);
    *ext = (struct raw_extension){0};
}
