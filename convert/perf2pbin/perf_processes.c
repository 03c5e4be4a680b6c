/* Follows processes and threads through a recording of perf.
 * SPDX-License-Identifier: MIT */
#include "convert/perf2pbin/perf_processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void perf_processes_free(struct perf_processes *p)
{
    free(p->ext.images);
    free(p->ext.mapx);
    strings_delete(p->ext.texts);
    numbers_free(&p->pids);
    numbers_free(&p->threads);
    numbers_free(&p->tasks);
    free(p->image_of);
    free(p->name_of);
    free(p->task);
}

void perf_processes_again(struct perf_processes *p)
{
    numbers_free(&p->pids);
    p->pids = (struct numbers){0};
    numbers_free(&p->threads);
    p->threads = (struct numbers){0};
    p->started = 0;
    p->is_known = true;
}

static char *keep(struct perf_processes *p, const char *text)
{
    if (p->ext.texts == NULL)
        p->ext.texts = strings_new();
    return (char *)strings_get(p->ext.texts, strings_intern(p->ext.texts, text));
}

static uint64_t since_start(const struct perf_processes *p, uint64_t time)
{
    return time > p->start ? time - p->start : 0;
}

/* ---- images ---- */

/* Begins IMAGE in its process, and returns its number. */
static uint32_t begin(struct perf_processes *p, const struct raw_image *image)
{
    uint32_t number = p->started++, process = numbers_intern(&p->pids, image->pid);
    *MEM_AT(p->image_of, process, p->image_capacity) = number;
    if (!p->is_known) {
        mem_reserve(&p->ext.images, &p->ext.image_capacity, (size_t)number + 1,
                    sizeof *p->ext.images);
        p->ext.images[number] = *image;
        p->ext.image_count = (size_t)number + 1;
    }
    return number;
}

static uint32_t image_of(struct perf_processes *p, uint32_t pid, uint64_t time)
{
    uint32_t process = numbers_find(&p->pids, pid);
    if (process != INTERN_NONE)
        return p->image_of[process];
    const struct raw_image image = {.pid = pid,
                                    .start = since_start(p, time),
                                    .parent = RAW_NO_IMAGE,
                                    .how = RAW_FIRST,
                                    .path = keep(p, ""),
                                    .comm = keep(p, "")};
    return begin(p, &image);
}

/* ---- threads and tasks ---- */

/* Returns the number of thread TID in IMAGE. Until its name is known, it has the name that perf
 * shows in this case. */
static uint32_t thread_of(struct perf_processes *p, uint32_t image, uint32_t tid)
{
    uint32_t known = p->threads.count;
    uint32_t number = numbers_intern(&p->threads, (uint64_t)image << 32 | tid);
    if (number == known) {
        char text[16] = "swapper"; /* the idle threads of all CPUs */
        if (tid != 0)
            snprintf(text, sizeof text, ":%" PRId32, (int32_t)tid);
        *MEM_AT(p->name_of, number, p->name_capacity) = strings_find(p->ext.texts, keep(p, text));
    }
    return number;
}

static void rename_thread(struct perf_processes *p, uint32_t image, uint32_t tid, const char *name)
{
    uint32_t thread = thread_of(p, image, tid);
    p->name_of[thread] = strings_find(p->ext.texts, name);
}

uint32_t perf_processes_task(struct perf_processes *p, const struct perf_record *r)
{
    uint32_t image = image_of(p, r->pid, r->time), thread = thread_of(p, image, r->tid);
    uint32_t known = p->tasks.count, name = p->name_of[thread];
    uint32_t number = numbers_intern(&p->tasks, (uint64_t)thread << 32 | name);
    if (number == known)
        *MEM_AT(p->task, number, p->task_capacity) =
            (struct perf_task){.image = image, .tid = r->tid, .name = name};
    return number;
}

static void take_exec(struct perf_processes *p, const struct perf_record *r)
{
    char *name = keep(p, r->u.name.text);
    const struct raw_image image = {.pid = r->pid,
                                    .start = since_start(p, r->time),
                                    .parent = RAW_NO_IMAGE,
                                    .how = RAW_EXEC,
                                    .path = keep(p, ""),
                                    .comm = name};
    rename_thread(p, begin(p, &image), r->tid, name);
}

static void take_name(struct perf_processes *p, const struct perf_record *r)
{
    uint32_t image = image_of(p, r->pid, r->time);
    char *name = keep(p, r->u.name.text);
    if (!p->is_known && r->pid == r->tid)
        p->ext.images[image].comm = name;
    rename_thread(p, image, r->tid, name);
}

/* Follows a fork. A thread inherits the name of its creator; a process inherits its mappings as
 * well. */
static void take_fork(struct perf_processes *p, const struct perf_record *r)
{
    const uint32_t parent = image_of(p, r->u.fork.parent, r->time);
    const uint32_t creator = thread_of(p, parent, r->u.fork.creator);
    const char *name = strings_get(p->ext.texts, p->name_of[creator]);
    uint32_t child = parent;
    if (r->pid != r->u.fork.parent) {
        struct raw_image image = p->ext.images[parent];
        image.ppid = image.pid;
        image.pid = r->pid;
        image.start = since_start(p, r->time);
        image.parent = parent;
        image.how = RAW_FORK;
        child = begin(p, &image);
    }
    rename_thread(p, child, r->tid, name);
}

/* ---- mappings ---- */

static void take_mapping(struct perf_processes *p, const struct perf_record *r)
{
    if (r->pid == UINT32_MAX) /* of the kernel */
        return;
    const uint32_t image = image_of(p, r->pid, r->time);
    if (p->is_known)
        return;
    struct raw_mapx *map = MEM_APPEND(p->ext.mapx, p->ext.mapx_count, p->ext.mapx_capacity);
    *map = (struct raw_mapx){.image = image,
                             .from = since_start(p, r->time),
                             .address = r->u.mapping.address,
                             .size = r->u.mapping.size,
                             .offset = r->u.mapping.offset,
                             .inode = r->u.mapping.inode,
                             .kind = (uint8_t)raw_mapping_of_path(r->u.mapping.path),
                             .build_id = keep(p, r->u.mapping.build_id),
                             .path = keep(p, r->u.mapping.path)};
    /* a process maps its program before everything else; it may be a file in memory (memfd) */
    struct raw_image *of = &p->ext.images[image];
    if (map->path[0] == '/' && map->path[1] != '/' && of->path[0] == '\0')
        of->path = map->path;
}

void perf_processes_follow(struct perf_processes *p, const struct perf_record *r)
{
    switch (r->kind) {
    case PERF_MAPPING:
        take_mapping(p, r);
        break;
    case PERF_NAME:
        if (r->u.name.is_exec)
            take_exec(p, r);
        else
            take_name(p, r);
        break;
    case PERF_FORK:
        take_fork(p, r);
        break;
    case PERF_SAMPLE:
    case PERF_LOST:
        break;
    }
}
