/* The CPU time of the machine, for groups of samples.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/machine_time.h"

enum { RUN = 128 /* samples in a group; groups end at multiples of it */ };

/* Reads up to the next reading that differs from the last point. It becomes AFTER, and the last
 * point BEFORE. Returns 0, or -1 with ERR filled. */
static int next_point(struct machine_time *m, struct error *err)
{
    struct raw_reading reading;
    m->before = m->after;
    for (;;) {
        int got = raw_reading_next(&m->walk, &reading, err);
        m->ended = got <= 0;
        if (got <= 0)
            return got;
        bool later = reading.time > m->before.time && reading.busy > m->before.cpu_ns;
        if (reading.busy == 0 || (m->known && !later))
            continue;
        m->after = (struct machine_point){reading.time, reading.busy};
        m->known = true;
        return 0;
    }
}

int machine_time_begin(struct machine_time *m, const struct raw_profile *raw,
                       struct pbin_writer *writer, struct error *err)
{
    *m = (struct machine_time){.writer = writer};
    m->walk = raw_reading_walk_begin(raw->stream, &raw->ext);
    if (!raw_has_clock(raw)) {
        m->ended = true;
        return 0;
    }
    if (next_point(m, err) != 0)
        return -1;
    m->given = m->after.cpu_ns;
    m->before = m->after;
    return 0;
}

void machine_time_end(struct machine_time *m)
{
    raw_reading_walk_end(&m->walk);
}

/* Returns the CPU time used up to TIME [ns]. */
static uint64_t time_at(const struct machine_time *m, uint64_t time)
{
    if (time >= m->after.time)
        return m->after.cpu_ns;
    if (time <= m->before.time)
        return m->before.cpu_ns;
    double part = (double)(time - m->before.time) / (double)(m->after.time - m->before.time);
    return m->before.cpu_ns + (uint64_t)(part * (double)(m->after.cpu_ns - m->before.cpu_ns));
}

int machine_time_put(struct machine_time *m, const uint64_t *time_ns, size_t count,
                     struct error *err)
{
    for (size_t i = 0, run; m->known && i < count; i += run) {
        size_t left = RUN - (size_t)(m->put % RUN);
        run = left < count - i ? left : count - i;
        while (!m->ended && m->after.time < time_ns[i + run - 1])
            if (next_point(m, err) != 0)
                return -1;
        uint64_t now = time_at(m, time_ns[i + run - 1]);
        pbin_put_busy(m->writer, (uint32_t)run, now - m->given);
        m->given = now;
        m->put += run;
    }
    return 0;
}
