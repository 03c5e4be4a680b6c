/* The rings into which the kernel writes what it sees.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

struct ring {
    struct perf_event_mmap_page *page; /* the bytes follow one page later */
    uint8_t *data;
};

/*  bytes:   | done | records[next].at ...      in order of arrival
 *  records: | done | next ...                  sorted by time from NEXT on */
struct perf_rings {
    struct ring *list;
    size_t count, size, page;
    int64_t offset; /* of our clock to that of the kernel [ns] */
    uint8_t *bytes;
    size_t byte_count, byte_capacity;
    struct perf_record *records;
    size_t next, record_count, record_capacity;
    uint64_t order;
};

/* An ordinary user may lock 129 pages for each CPU, and more by RLIMIT_MEMLOCK. */
static const size_t data_pages[] = {512, 128, 64, 16, 4};

static int map(struct perf_rings *rings, const int *fds)
{
    for (size_t i = 0; i < rings->count; i++) {
        void *page =
            mmap(NULL, rings->page + rings->size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
        if (page == MAP_FAILED) {
            int errnum = errno;
            while (i-- > 0)
                munmap(rings->list[i].page, rings->page + rings->size);
            errno = errnum;
            return -1;
        }
        rings->list[i].page = page;
        rings->list[i].data = (uint8_t *)page + rings->page;
    }
    return 0;
}

struct perf_rings *perf_rings_new(const int *fds, size_t count, int64_t offset)
{
    struct perf_rings *rings = mem_zalloc(1, sizeof *rings);
    rings->list = mem_zalloc(count, sizeof *rings->list);
    rings->count = count;
    rings->offset = offset;
    rings->page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < sizeof data_pages / sizeof data_pages[0]; i++) {
        rings->size = data_pages[i] * rings->page;
        if (map(rings, fds) == 0)
            return rings;
    }
    free(rings->list);
    free(rings);
    return NULL;
}

void perf_rings_delete(struct perf_rings *rings)
{
    if (rings == NULL)
        return;
    for (size_t i = 0; i < rings->count; i++)
        munmap(rings->list[i].page, rings->page + rings->size);
    free(rings->list);
    free(rings->bytes);
    free(rings->records);
    free(rings);
}

/* Drops the records that were delivered. */
static void compact(struct perf_rings *rings)
{
    size_t left = rings->record_count - rings->next, keep = rings->byte_count;
    for (size_t i = rings->next; i < rings->record_count; i++)
        if (rings->records[i].at < keep)
            keep = rings->records[i].at;
    if (left > 0)
        memmove(rings->records, rings->records + rings->next, left * sizeof *rings->records);
    if (rings->byte_count > keep)
        memmove(rings->bytes, rings->bytes + keep, rings->byte_count - keep);
    for (size_t i = 0; i < left; i++)
        rings->records[i].at -= keep;
    rings->byte_count -= keep;
    rings->record_count = left;
    rings->next = 0;
}

/* Every record ends with its time, except a sample, where it follows the PC and the thread. */
static uint64_t time_of(const struct perf_event_header *header)
{
    uint64_t time;
    const uint8_t *bytes = (const uint8_t *)header;
    size_t at = header->type == PERF_RECORD_SAMPLE ? sizeof *header + 16 : header->size - 8u;
    memcpy(&time, bytes + at, sizeof time);
    return time;
}

static void take(struct perf_rings *rings, uint32_t number, uint64_t tail, size_t size)
{
    const uint8_t *data = rings->list[number].data;
    size_t from = (size_t)(tail % rings->size), first = rings->size - from;
    mem_reserve(&rings->bytes, &rings->byte_capacity, rings->byte_count + size, 1);
    uint8_t *to = rings->bytes + rings->byte_count;
    memcpy(to, data + from, size < first ? size : first);
    if (size > first)
        memcpy(to + first, data, size - first);
    mem_reserve(&rings->records, &rings->record_capacity, rings->record_count + 1,
                sizeof *rings->records);
    rings->records[rings->record_count++] = (struct perf_record){
        .time = time_of((const struct perf_event_header *)to) + (uint64_t)rings->offset,
        .order = rings->order++,
        .at = rings->byte_count,
        .ring = number};
    rings->byte_count += size;
}

static int by_time(const void *left, const void *right)
{
    const struct perf_record *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Most are in order already. */
static void sort(struct perf_rings *rings)
{
    for (size_t i = 1; i < rings->record_count; i++)
        if (by_time(&rings->records[i - 1], &rings->records[i]) > 0) {
            qsort(rings->records, rings->record_count, sizeof *rings->records, by_time);
            return;
        }
}

void perf_rings_read(struct perf_rings *rings,
                     void (*look)(void *context, struct perf_record *record,
                                  const struct perf_event_header *header),
                     void *context)
{
    compact(rings);
    for (uint32_t i = 0; i < rings->count; i++) {
        struct ring *ring = &rings->list[i];
        uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = ring->page->data_tail;
        while (tail < head) {
            struct perf_event_header header;
            size_t from =
                (size_t)(tail % rings->size); /* multiples of 8: the header does not wrap */
            memcpy(&header, ring->data + from, sizeof header);
            if (header.size < sizeof header + 8 || header.size > head - tail) {
                tail = head; /* the boundaries of the following records are unknown */
                break;
            }
            take(rings, i, tail, header.size);
            if (look != NULL &&
                (header.type == PERF_RECORD_SAMPLE || header.type == PERF_RECORD_EXIT ||
                 header.type == PERF_RECORD_COMM)) {
                struct perf_record *record = &rings->records[rings->record_count - 1];
                look(context, record,
                     (const struct perf_event_header *)(rings->bytes + record->at));
            }
            tail += header.size;
        }
        __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    }
    sort(rings);
}

bool perf_rings_left(const struct perf_rings *rings)
{
    return rings->next < rings->record_count;
}

const struct perf_record *perf_rings_peek(struct perf_rings *rings,
                                          const struct perf_event_header **header)
{
    if (rings->next == rings->record_count)
        return NULL;
    const struct perf_record *record = &rings->records[rings->next];
    *header = (const struct perf_event_header *)(rings->bytes + record->at);
    return record;
}

const struct perf_record *perf_rings_next(struct perf_rings *rings, uint64_t until,
                                          const struct perf_event_header **header)
{
    const struct perf_record *record = perf_rings_peek(rings, header);
    if (record == NULL || record->time > until)
        return NULL;
    rings->next++;
    return record;
}
