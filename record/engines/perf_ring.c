/* Reads the rings into which the kernel writes its records.
 *
 * Two CPUs may write to a ring at the same time: at the end of a thread, its CPU time on each CPU
 * is reported into the ring of that CPU, but by the CPU on which the thread ends. The kernel does
 * not expect this. It counts the records that are being written, without a lock, and announces them
 * when the count falls to zero; if the two CPUs interfere, that may take seconds or never happen.
 * However, the records are in the ring: those that are older than a millisecond are read whether or
 * not they were announced. Their times distinguish them from the previous contents of the ring,
 * which cannot be cleared. Two CPUs may even get the same place for their records, or overlapping
 * places. The ring then contains something that is not a record, or the record of one thread with
 * values of another: the reader continues with the next record that is whole.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"

enum { PARTS = 4 };

struct ring {
    struct perf_event_mmap_page *page; /* the data begins one page later */
    uint8_t *data;
    bool hidden;  /* it contains records that the kernel has not announced */
    uint64_t end; /* where hidden records ended ... */
    uint64_t looked,
        known; /* ... at this time; all records before KNOWN have been read [CLOCK_MONOTONIC] */
    uint64_t began[PARTS]; /* when reading of each part of the ring last began [CLOCK_MONOTONIC] */
};

/*  bytes:   | done | records[next].at ...      in order of arrival
 *  records: | done | next ...                  sorted by time, starting at NEXT */
struct perf_rings {
    struct ring *list;
    size_t count, size, page;
    int64_t offset; /* from the kernel's clock to ours [ns] */
    uint8_t *bytes;
    size_t byte_count, byte_capacity;
    struct perf_record *records;
    size_t next, record_count, record_capacity;
    uint64_t order, torn;
};

/* An ordinary user may lock 129 pages for each CPU, plus RLIMIT_MEMLOCK. */
static const size_t data_pages[] = {512, 128, 64, 16, 4};

static const uint64_t patience = SECOND / 1000; /* an older record is completely written */
/* [bytes] size of most records; of the largest */
static const uint64_t typical_record = 256, max_record = 8192;

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

/* Drops the records that have been delivered. */
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

/* Returns the offset of the time in a record: at its end, or in a sample, after the PC and the
 * thread. */
static size_t time_in(const struct perf_event_header *header)
{
    return header->type == PERF_RECORD_SAMPLE ? sizeof *header + 16 : header->size - 8u;
}

static uint64_t time_of(const struct perf_event_header *header)
{
    uint64_t time;
    memcpy(&time, (const uint8_t *)header + time_in(header), sizeof time);
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
    uint64_t part = rings->size / PARTS, before = tail / part, after = (tail + size) / part;
    if (before != after)
        rings->list[number].began[after % PARTS] = rings->records[rings->record_count - 1].time;
}

static int by_time(const void *left, const void *right)
{
    const struct perf_record *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Sorts records by time. Most are in order already. */
static void sort(struct perf_rings *rings)
{
    for (size_t i = 1; i < rings->record_count; i++)
        if (by_time(&rings->records[i - 1], &rings->records[i]) > 0) {
            qsort(rings->records, rings->record_count, sizeof *rings->records, by_time);
            return;
        }
}

/* Returns the size of the smallest record of TYPE that contains all values that are used. */
static size_t least_size(uint32_t type)
{
    const size_t header = sizeof(struct perf_event_header), end = 16; /* END: thread and time */
    switch (type) {
    case PERF_RECORD_SAMPLE:
        return header + 32;
    case PERF_RECORD_COMM:
        return header + 16 + end;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        return header + 24 + end;
    case PERF_RECORD_MMAP2:
        return header + 72 + end;
    default:
        return header + 16 + end;
    }
}

static uint64_t word_at(const struct perf_rings *rings, const struct ring *ring, uint64_t at)
{
    uint64_t word; /* offsets are multiples of 8, so a word does not wrap around */
    memcpy(&word, ring->data + (size_t)(at % rings->size), sizeof word);
    return word;
}

/* Returns whether the values of a record at offset AT of RING belong together: a text ends in its
 * last byte or before, and a thread reports its CPU time itself. */
static bool is_whole(const struct perf_rings *rings, const struct ring *ring, uint64_t at,
                     const struct perf_event_header *header)
{
    uint64_t end = at + header->size - 16;
    if (header->type == PERF_RECORD_READ)
        return word_at(rings, ring, at + sizeof *header) == word_at(rings, ring, end);
    if (header->type == PERF_RECORD_COMM || header->type == PERF_RECORD_MMAP2)
        return ring->data[(size_t)((end - 1) % rings->size)] == 0;
    return true;
}

/* Returns the size of the record at offset AT of RING, where LEFT bytes may be read; 0: there is no
 * record written by NOW [CLOCK_MONOTONIC]. A record there may also be left from the previous time
 * that this part of the ring was used; it is then older than the beginning of the next part. */
static size_t record_at(const struct perf_rings *rings, const struct ring *ring, uint64_t at,
                        uint64_t left, uint64_t now)
{
    struct perf_event_header header;
    if (left < sizeof header)
        return 0;
    uint64_t word = word_at(rings, ring, at), next = at / (rings->size / PARTS) + 1;
    memcpy(&header, &word, sizeof header);
    if (header.type == 0 || header.type >= PERF_RECORD_MAX || header.size % 8 != 0 ||
        header.size < least_size(header.type) || header.size > left)
        return 0;
    uint64_t time = word_at(rings, ring, at + time_in(&header)) + (uint64_t)rings->offset;
    return time > ring->began[next % PARTS] && time <= now && is_whole(rings, ring, at, &header)
               ? header.size
               : 0;
}

/* Moves *AT over at most TORN bytes of RING that are not a record, to a record that is old enough
 * at NOW [CLOCK_MONOTONIC], so that everything before it must be complete as well. Returns the size
 * of this record; 0: there is none before UNTIL. */
static size_t skip_torn(const struct perf_rings *rings, const struct ring *ring, uint64_t *at,
                        uint64_t until, uint64_t now, uint64_t torn)
{
    size_t size = 0;
    uint64_t last = until - *at < torn ? until : *at + torn;
    for (uint64_t place = *at + 8; size == 0 && place < last; place += 8) {
        size = record_at(rings, ring, place, until - place, now - patience);
        if (size > 0)
            *at = place;
    }
    return size;
}

/* Returns where those records end that follow TAIL but have not been announced. */
static uint64_t end_of_hidden(const struct perf_rings *rings, const struct ring *ring,
                              uint64_t tail, uint64_t now)
{
    uint64_t end = tail, last = tail + rings->size;
    size_t size;
    do {
        size = record_at(rings, ring, end, last - end, now);
        size = size > 0 ? size : skip_torn(rings, ring, &end, last, now, max_record);
        end += size;
    } while (size > 0);
    return end;
}

/* Returns the offset up to which RING may be read at NOW [CLOCK_MONOTONIC]. It has been read up to
 * TAIL. */
static uint64_t readable(const struct perf_rings *rings, struct ring *ring, uint64_t tail,
                         uint64_t now)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t until = head > tail ? head : tail, at = until, last = tail + rings->size;
    ring->hidden = record_at(rings, ring, at, last - at, now) > 0 ||
                   skip_torn(rings, ring, &at, last, now, typical_record) > 0;
    if (!ring->hidden || head > tail) {
        ring->end = until;
        return until;
    }
    if (ring->end > tail) {
        if (now - ring->looked < patience)
            return tail;
        until = ring->end;
        ring->known = ring->looked;
    }
    ring->end = end_of_hidden(rings, ring, until, now);
    ring->looked = now;
    return until;
}

/* Moves *AT to the next record of RING before UNTIL. Returns the size of this record; 0: there is
 * none, or it is not written yet. */
static size_t next_record(struct perf_rings *rings, const struct ring *ring, uint64_t *at,
                          uint64_t until, uint64_t now)
{
    /* NOW may be in the past */
    size_t size = record_at(rings, ring, *at, until - *at, now + SECOND);
    if (size > 0 || *at == until)
        return size;
    size = skip_torn(rings, ring, at, until, now, max_record);
    if (size == 0 && until - *at > max_record)
        *at = until;
    rings->torn += size > 0 || *at == until;
    return size;
}

static const struct perf_event_header *header_of(const struct perf_rings *rings,
                                                 const struct perf_record *record)
{
    return (const struct perf_event_header *)(rings->bytes + record->at);
}

/* Calls LOOK for RECORD, if it is of one of the types that LOOK expects. */
static void show(const struct perf_rings *rings, struct perf_record *record,
                 void (*look)(void *context, struct perf_record *record,
                              const struct perf_event_header *header),
                 void *context)
{
    const struct perf_event_header *header = header_of(rings, record);
    if (header->type == PERF_RECORD_SAMPLE || header->type == PERF_RECORD_EXIT ||
        header->type == PERF_RECORD_COMM)
        look(context, record, header);
}

void perf_rings_read(struct perf_rings *rings, uint64_t now,
                     void (*look)(void *context, struct perf_record *record,
                                  const struct perf_event_header *header),
                     void *context)
{
    uint64_t first = rings->order;
    compact(rings);
    for (uint32_t i = 0; i < rings->count; i++) {
        struct ring *ring = &rings->list[i];
        uint64_t at = ring->page->data_tail, until = readable(rings, ring, at, now);
        for (size_t size; (size = next_record(rings, ring, &at, until, now)) > 0; at += size)
            take(rings, i, at, size);
        ring->hidden |= at < until;
        if (!ring->hidden)
            ring->known = now;
        __atomic_store_n(&ring->page->data_tail, at, __ATOMIC_RELEASE);
    }
    sort(rings);
    for (size_t i = 0; look != NULL && i < rings->record_count; i++)
        if (rings->records[i].order >= first)
            show(rings, &rings->records[i], look, context);
}

uint64_t perf_rings_torn(const struct perf_rings *rings)
{
    return rings->torn;
}

uint64_t perf_rings_known(const struct perf_rings *rings)
{
    uint64_t known = UINT64_MAX;
    for (size_t i = 0; i < rings->count; i++)
        if (rings->list[i].hidden && rings->list[i].known < known)
            known = rings->list[i].known;
    return known;
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
    *header = header_of(rings, record);
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
