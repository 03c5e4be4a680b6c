/* What our sampler knows beyond the documented raw dialect.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_extension.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/pbin/block.h"

const uint8_t raw_signature[RAW_SIGNATURE_SIZE] = {0x89, 'P', 'B', 'X', '\r', '\n', 0x1a, '\n'};

void raw_put_facts(struct buffer *buffer, const struct raw_fact *facts, size_t count)
{
    size_t begin = block_begin(buffer, "info");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_string(buffer, facts[i].name);
        buffer_string(buffer, facts[i].value);
    }
    block_end(buffer, begin);
}

void raw_put_maps(struct buffer *buffer, const struct raw_map *maps, size_t count)
{
    size_t begin = block_begin(buffer, "maps");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u64(buffer, maps[i].address);
        buffer_u64(buffer, maps[i].size);
        buffer_u64(buffer, maps[i].offset);
        buffer_u32(buffer, maps[i].pid);
        buffer_string(buffer, maps[i].build_id);
        buffer_string(buffer, maps[i].path);
    }
    block_end(buffer, begin);
}

void raw_put_threads(struct buffer *buffer, const struct raw_thread *threads, size_t count)
{
    size_t begin = block_begin(buffer, "thrd");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, threads[i].tid);
        buffer_u32(buffer, threads[i].pid);
        buffer_string(buffer, threads[i].name);
    }
    block_end(buffer, begin);
}

void raw_put_vdso(struct buffer *buffer, uint64_t address, const uint8_t *image, size_t size)
{
    size_t begin = block_begin(buffer, "vdso");
    buffer_u64(buffer, address);
    buffer_bytes(buffer, image, size);
    block_end(buffer, begin);
}

void raw_put_times(struct buffer *buffer, uint64_t first, const uint64_t *times, size_t count)
{
    size_t begin = block_begin(buffer, "time");
    buffer_u64(buffer, first);
    for (size_t i = 0; i < count; i++)
        buffer_u64(buffer, times[i]);
    block_end(buffer, begin);
}

void raw_put_rows(struct buffer *buffer, const uint8_t *rows, size_t size, size_t count)
{
    size_t begin = block_begin(buffer, "rows");
    buffer_u32(buffer, (uint32_t)count);
    buffer_bytes(buffer, rows, size);
    block_end(buffer, begin);
}

void raw_put_done(struct buffer *buffer, uint64_t samples)
{
    size_t begin = block_begin(buffer, "done");
    buffer_u64(buffer, samples);
    block_end(buffer, begin);
}

void raw_put_images(struct buffer *buffer, const struct raw_image *images, size_t count)
{
    size_t begin = block_begin(buffer, "imgs");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, images[i].pid);
        buffer_u32(buffer, images[i].ppid);
        buffer_u64(buffer, images[i].start);
        buffer_u32(buffer, images[i].parent);
        buffer_u8(buffer, images[i].how);
        buffer_string(buffer, images[i].path);
        buffer_string(buffer, images[i].comm);
    }
    block_end(buffer, begin);
}

void raw_put_mapx(struct buffer *buffer, const struct raw_mapx *maps, size_t count)
{
    size_t begin = block_begin(buffer, "mapx");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, maps[i].image);
        buffer_u64(buffer, maps[i].from);
        buffer_u64(buffer, maps[i].address);
        buffer_u64(buffer, maps[i].size);
        buffer_u64(buffer, maps[i].offset);
        buffer_u64(buffer, maps[i].inode);
        buffer_u8(buffer, maps[i].kind);
        buffer_string(buffer, maps[i].build_id);
        buffer_string(buffer, maps[i].path);
    }
    block_end(buffer, begin);
}

void raw_put_tasks(struct buffer *buffer, const struct raw_task *tasks, size_t count)
{
    size_t begin = block_begin(buffer, "task");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, tasks[i].tid);
        buffer_u32(buffer, tasks[i].pid);
        buffer_u64(buffer, tasks[i].start);
        buffer_string(buffer, tasks[i].name);
    }
    block_end(buffer, begin);
}

void raw_put_jit(struct buffer *buffer, uint32_t image, enum raw_jit kind, const uint8_t *bytes,
                 size_t size)
{
    size_t begin = block_begin(buffer, "jits");
    buffer_u32(buffer, image);
    buffer_u8(buffer, (uint8_t)kind);
    buffer_bytes(buffer, bytes, size);
    block_end(buffer, begin);
}

void raw_put_seen(struct buffer *buffer, uint64_t first, const uint8_t *flags, size_t count,
                  const uint64_t *callers)
{
    size_t begin = block_begin(buffer, "seen");
    buffer_u64(buffer, first);
    buffer_u32(buffer, (uint32_t)count);
    buffer_bytes(buffer, flags, count);
    for (size_t i = 0; i < count; i++)
        if (flags[i] & RAW_CALLER)
            buffer_u64(buffer, *callers++);
    block_end(buffer, begin);
}

void raw_put_sources(struct buffer *buffer, const struct raw_source *sources, size_t count)
{
    size_t begin = block_begin(buffer, "srcs");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_string(buffer, sources[i].name);
        buffer_string(buffer, sources[i].kind);
        buffer_string(buffer, sources[i].unit);
        buffer_string(buffer, sources[i].scope);
        buffer_f64(buffer, sources[i].per_count);
        buffer_u64(buffer, sources[i].period);
        buffer_u8(buffer, sources[i].role);
        buffer_string(buffer, sources[i].help);
    }
    block_end(buffer, begin);
}

void raw_put_readings(struct buffer *buffer, const struct raw_reading *readings, size_t count)
{
    size_t begin = block_begin(buffer, "read");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, readings[i].source);
        buffer_u64(buffer, readings[i].time);
        buffer_u64(buffer, readings[i].value);
        buffer_u64(buffer, readings[i].busy);
    }
    block_end(buffer, begin);
}

void raw_put_cpus(struct buffer *buffer, const struct raw_cpu *cpus, size_t count)
{
    size_t begin = block_begin(buffer, "cpus");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, cpus[i].pid);
        buffer_u64(buffer, cpus[i].user);
        buffer_u64(buffer, cpus[i].system);
    }
    block_end(buffer, begin);
}

static char *take_string(struct cursor *in)
{
    size_t length;
    const char *text = cursor_string(in, &length);
    return mem_strndup(text, length);
}

static void read_facts(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        mem_reserve(&ext->facts, &ext->fact_capacity, ext->fact_count + 1, sizeof *ext->facts);
        struct raw_fact *fact = &ext->facts[ext->fact_count++];
        fact->name = take_string(in);
        fact->value = take_string(in);
    }
}

static void read_maps(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        mem_reserve(&ext->maps, &ext->map_capacity, ext->map_count + 1, sizeof *ext->maps);
        struct raw_map *map = &ext->maps[ext->map_count++];
        map->address = cursor_u64(in);
        map->size = cursor_u64(in);
        map->offset = cursor_u64(in);
        map->pid = cursor_u32(in);
        map->build_id = take_string(in);
        map->path = take_string(in);
    }
}

static void read_threads(struct raw_extension *ext, struct cursor *in)
{
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--) {
        mem_reserve(&ext->threads, &ext->thread_capacity, ext->thread_count + 1,
                    sizeof *ext->threads);
        struct raw_thread *thread = &ext->threads[ext->thread_count++];
        thread->tid = cursor_u32(in);
        thread->pid = cursor_u32(in);
        thread->name = take_string(in);
    }
}

static void read_vdso(struct raw_extension *ext, struct cursor *in)
{
    free(ext->vdso);
    ext->vdso_address = cursor_u64(in);
    ext->vdso_size = cursor_left(in);
    ext->vdso = mem_alloc(ext->vdso_size);
    memcpy(ext->vdso, in->data + in->at, ext->vdso_size);
}

/* Takes in one block. Returns 0, or -1 when its payload does not fit its type. */
static int take_block(struct raw_extension *ext, struct block *block)
{
    struct cursor *in = &block->in;
    if (strcmp(block->type, "info") == 0) {
        read_facts(ext, in);
    } else if (strcmp(block->type, "maps") == 0) {
        read_maps(ext, in);
    } else if (strcmp(block->type, "thrd") == 0) {
        read_threads(ext, in);
    } else if (strcmp(block->type, "vdso") == 0) {
        read_vdso(ext, in);
    } else if (strcmp(block->type, "time") == 0) {
        if (ext->time_at == 0)
            ext->time_at = block->offset;
    } else if (strcmp(block->type, "rows") == 0) {
        if (ext->rows_at == 0)
            ext->rows_at = block->offset;
        ext->samples += cursor_u32(in);
    } else if (strcmp(block->type, "done") == 0) {
        ext->samples = cursor_u64(in);
        ext->done = true;
    }
    return in->bad ? -1 : 0;
}

int raw_extension_read(struct stream *stream, struct raw_extension *ext, bool salvage,
                       struct error *err)
{
    struct block block;
    struct error damage = {0};
    int got;
    *ext = (struct raw_extension){0};
    if (stream_skip(stream, RAW_SIGNATURE_SIZE, err) != 0)
        return -1;
    ext->end = stream_offset(stream);
    while ((got = block_next(stream, &block, &damage)) > 0 && !ext->done) {
        if (!block_is_optional(&block)) {
            got = error_set(&damage, stream_name(stream), block.offset,
                            "block '%s' is needed, but of a newer version", block.type);
            break;
        }
        if (take_block(ext, &block) != 0) {
            got = error_set(&damage, stream_name(stream), block.offset,
                            "block '%s' is too short for what it counts", block.type);
            break;
        }
        ext->end = stream_offset(stream);
    }
    if (got > 0)
        got = error_set(&damage, stream_name(stream), ext->end,
                        "%" PRIu64 " bytes behind the end of the raw extension",
                        stream_size(stream) - ext->end);
    else if (got == 0 && !ext->done)
        got = error_set(&damage, stream_name(stream), ext->end,
                        "raw extension without its end block");
    if (got < 0 && !salvage) {
        raw_extension_free(ext);
        return error_set(err, damage.file, damage.offset, "%s", damage.text);
    }
    return 0;
}

void raw_extension_forget_maps(struct raw_extension *ext)
{
    for (size_t i = 0; i < ext->map_count; i++) {
        free(ext->maps[i].build_id);
        free(ext->maps[i].path);
    }
    ext->map_count = 0;
}

void raw_extension_free(struct raw_extension *ext)
{
    raw_extension_forget_maps(ext);
    for (size_t i = 0; i < ext->fact_count; i++) {
        free(ext->facts[i].name);
        free(ext->facts[i].value);
    }
    for (size_t i = 0; i < ext->thread_count; i++)
        free(ext->threads[i].name);
    free(ext->facts);
    free(ext->maps);
    free(ext->threads);
    free(ext->vdso);
    *ext = (struct raw_extension){0};
}

const char *raw_extension_fact(const struct raw_extension *ext, const char *name)
{
    for (size_t i = 0; i < ext->fact_count; i++)
        if (strcmp(ext->facts[i].name, name) == 0)
            return ext->facts[i].value;
    return NULL;
}
