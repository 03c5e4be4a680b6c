/* Writes the data that our sampler records in addition to the documented raw dialect.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_extension.h"

#include "formats/pbin/block.h"

const uint8_t raw_signature[RAW_SIGNATURE_SIZE] = {0x89, 'P', 'B', 'X', '\r', '\n', 0x1a, '\n'};

enum raw_mapping raw_mapping_of_path(const char *path)
{
    static const struct {
        const char *path;
        enum raw_mapping kind;
    } named[] = {{"[heap]", RAW_MAP_HEAP},
                 {"[stack]", RAW_MAP_STACK},
                 {"[vdso]", RAW_MAP_VDSO},
                 {"[vsyscall]", RAW_MAP_VSYSCALL}};
    static const char *const memory[] = {"/memfd:", "/SYSV", "/dev/zero"};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(path, named[i].path) == 0)
            return named[i].kind;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (strncmp(path, memory[i], strlen(memory[i])) == 0)
            return RAW_MAP_ANONYMOUS;
    return path[0] == '/' && path[1] != '/' ? RAW_MAP_FILE : RAW_MAP_ANONYMOUS;
}

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

void raw_put_codes(struct buffer *buffer, const struct raw_code *codes, size_t count)
{
    size_t begin = block_begin(buffer, "code");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u64(buffer, codes[i].inode);
        buffer_string(buffer, codes[i].path);
        buffer_string(buffer, codes[i].content);
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

void raw_put_ticks(struct buffer *buffer, const struct raw_ticks *ticks, size_t count)
{
    size_t begin = block_begin(buffer, "tick");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u32(buffer, ticks[i].pid);
        buffer_u64(buffer, ticks[i].time);
        buffer_u64(buffer, ticks[i].user);
        buffer_u64(buffer, ticks[i].system);
        buffer_u64(buffer, ticks[i].stops);
    }
    block_end(buffer, begin);
}

void raw_put_marks(struct buffer *buffer, const struct raw_mark *marks, size_t count)
{
    size_t begin = block_begin(buffer, "mark");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_u64(buffer, marks[i].time);
        buffer_u64(buffer, marks[i].cpu);
    }
    block_end(buffer, begin);
}

void raw_put_nominal(struct buffer *buffer, const uint64_t *ns, size_t count)
{
    size_t begin = block_begin(buffer, "nomi");
    buffer_u32(buffer, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        buffer_u64(buffer, ns[i]);
    block_end(buffer, begin);
}
