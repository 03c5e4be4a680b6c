/* Records that the kernel has written to a ring without announcing them, as it happens when two
 * CPUs write to it at once.
 * SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "tests/unit/check.h"

#include "record/clock.h"
#include "record/engines/perf_ring.h"

enum { SMALL = 48 }; /* bytes in a record; a quarter of a ring contains many */
static const size_t pages = 512;
static const uint64_t later = SECOND / 500; /* longer than a record can take to be written */

/* A file that replaces an event. */
struct fake {
    int fd;
    size_t page, size;
    struct perf_event_mmap_page *shared;
    uint8_t *data;
    uint64_t written; /* bytes so far */
    uint64_t now;     /* [ns] */
    struct perf_rings *rings;
    unsigned read; /* records so far */
};

static bool begin(struct fake *f)
{
    *f = (struct fake){.fd = memfd_create("ring", MFD_CLOEXEC),
                       .page = (size_t)sysconf(_SC_PAGESIZE),
                       .now = SECOND};
    f->size = pages * f->page;
    if (f->fd < 0 || ftruncate(f->fd, (off_t)(f->page + f->size)) != 0)
        return false;
    f->shared = mmap(NULL, f->page + f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    f->data = (uint8_t *)f->shared + f->page;
    f->rings = f->shared != MAP_FAILED ? perf_rings_new(&f->fd, 1, 0) : NULL;
    return f->rings != NULL;
}

static void end(struct fake *f)
{
    perf_rings_delete(f->rings);
    munmap(f->shared, f->page + f->size);
    close(f->fd);
}

/* Writes a record of SIZE bytes, a microsecond after the last one; 8 bytes never wrap around,
 * because SIZE is a multiple of 8. */
static void put(struct fake *f, uint16_t size)
{
    struct perf_event_header header = {.type = PERF_RECORD_EXIT, .size = size};
    f->now += SECOND / 1000000;
    for (size_t i = 0; i < size; i += 8)
        memset(f->data + (f->written + i) % f->size, 0, 8);
    memcpy(f->data + f->written % f->size, &header, sizeof header);
    memcpy(f->data + (f->written + size - 8u) % f->size, &f->now, sizeof f->now);
    f->written += size;
}

static void announce(struct fake *f)
{
    __atomic_store_n(&f->shared->data_head, f->written, __ATOMIC_RELEASE);
}

static void take(struct fake *f)
{
    const struct perf_event_header *header;
    perf_rings_read(f->rings, f->now, NULL, NULL);
    while (perf_rings_next(f->rings, UINT64_MAX, &header) != NULL)
        f->read++;
}

/* Announces one more record, and thereby all before it: READ records have been read now, none of
 * them twice. */
static void announced_after_all(struct check *check, struct fake *f, unsigned read)
{
    put(f, SMALL);
    announce(f);
    take(f);
    CHECK_EQ(f->read, read);
    CHECK(perf_rings_known(f->rings) == UINT64_MAX);
}

static void announced(struct check *check)
{
    struct fake f;
    CHECK(begin(&f));
    for (int i = 0; i < 5; i++)
        put(&f, SMALL);
    announce(&f);
    take(&f);
    CHECK_EQ(f.read, 5);
    CHECK_EQ(f.shared->data_tail, f.written);
    CHECK(perf_rings_known(f.rings) == UINT64_MAX);
    end(&f);
}

/* Unannounced records are read after they have been in the ring for a while, and are not read again
 * when they are announced later. */
static void not_announced(struct check *check)
{
    struct fake f;
    CHECK(begin(&f));
    put(&f, SMALL);
    announce(&f);
    take(&f);
    uint64_t before = f.now;
    put(&f, SMALL);
    put(&f, SMALL + 16);
    take(&f);
    CHECK_EQ(f.read, 1);
    CHECK(perf_rings_known(f.rings) <= before);
    put(&f, SMALL);
    f.now += later;
    take(&f);
    CHECK_EQ(f.read, 3);
    CHECK(perf_rings_known(f.rings) < UINT64_MAX); /* the last one is still hidden */
    f.now += later;
    take(&f);
    CHECK_EQ(f.read, 4);
    announced_after_all(check, &f, 5);
    end(&f);
}

/* Wraps around the ring several times: old contents are not read again, whether or not records
 * begin at the same offsets. */
static void round_and_round(struct check *check)
{
    struct fake f;
    unsigned written = 0;
    CHECK(begin(&f));
    for (unsigned size = SMALL; size <= SMALL + 16; size += 8)
        for (size_t bytes = 0; bytes < 3 * f.size; bytes += f.size / 8) {
            for (size_t i = 0; i < f.size / 8; i += size, written++)
                put(&f, (uint16_t)size);
            announce(&f);
            take(&f);
            CHECK_EQ(f.read, written);
            CHECK(perf_rings_known(f.rings) == UINT64_MAX);
        }
    put(&f, SMALL);
    take(&f);
    f.now += later;
    take(&f);
    CHECK_EQ(f.read, written + 1);
    end(&f);
}

/* Writes SIZE bytes that contain parts of a record but are not one, as when two CPUs got the same
 * place. */
static void put_torn(struct fake *f, uint16_t size)
{
    uint64_t begin = f->written;
    put(f, size);
    memset(f->data + (begin + size - 8u) % f->size, 0xff, 8);
}

/* The records after a torn one are read, announced or not, but not before the records that are
 * being written are complete. */
static void torn(struct check *check)
{
    struct fake f;
    CHECK(begin(&f));
    put(&f, SMALL);
    put_torn(&f, SMALL);
    put(&f, SMALL + 8);
    announce(&f);
    take(&f);
    CHECK_EQ(f.read, 1);
    CHECK(perf_rings_known(f.rings) < UINT64_MAX);
    f.now += later;
    take(&f);
    CHECK_EQ(f.read, 2);
    CHECK_EQ(perf_rings_torn(f.rings), 1);
    CHECK_EQ(f.shared->data_tail, f.written);
    put_torn(&f, SMALL);
    put(&f, SMALL);
    put_torn(&f, SMALL + 16);
    put(&f, SMALL + 16);
    for (int i = 0; i < 4; i++) {
        f.now += later;
        take(&f);
    }
    CHECK_EQ(f.read, 4);
    CHECK_EQ(perf_rings_torn(f.rings), 3);
    announced_after_all(check, &f, 5);
    end(&f);
}

/* A record of the CPU time of one thread that was overwritten by that of another. */
static void mixed(struct check *check)
{
    struct fake f;
    CHECK(begin(&f));
    put(&f, SMALL);
    struct perf_event_header header = {.type = PERF_RECORD_READ, .size = SMALL};
    memcpy(f.data, &header, sizeof header);
    memset(f.data + sizeof header, 1, 8);
    put(&f, SMALL);
    announce(&f);
    f.now += later;
    take(&f);
    CHECK_EQ(f.read, 1);
    CHECK_EQ(perf_rings_torn(f.rings), 1);
    end(&f);
}

/* Nothing that is left in a ring delays what follows. */
static void noise(struct check *check)
{
    struct fake f;
    CHECK(begin(&f));
    for (int i = 0; i < 400; i++)
        put_torn(&f, SMALL);
    announce(&f);
    take(&f);
    CHECK_EQ(f.read, 0);
    CHECK_EQ(f.shared->data_tail, f.written);
    put(&f, SMALL);
    announce(&f);
    take(&f);
    CHECK_EQ(f.read, 1);
    end(&f);
}

CHECK_MAIN({"announced", announced}, {"not_announced", not_announced},
           {"round_and_round", round_and_round}, {"torn", torn}, {"mixed", mixed}, {"noise", noise})
