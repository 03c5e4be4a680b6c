/* Windows, the output of the engine: sightings with their CPU times, and the time in which no
 * thread ran.
 *
 * Sightings are random, but the counters provide the exact CPU time of the program. They are read at
 * the end of windows of 10 ms or more that contain some sightings. The CPU time of a window is
 * divided among its threads in proportion to the intervals that their sightings represent, not to the
 * number of sightings: one of two busy threads may, by chance, have 1.5 times as many sightings as
 * the other. If intervals are independent of each other, the sightings of a thread get equal parts,
 * which is more precise than charging its own interval to each. A thread without a sighting in a
 * window gets its CPU time in later windows, from those that had too much instead. In a batch, a
 * short interval is followed by other short ones, so its own interval is charged to each sighting.
 * CPU time of a window that exceeds the intervals of a batch, up to two mean intervals for each CPU,
 * is carried over to the next window.
 *
 * The interval before a sample, with its energy, belongs to the sample. Therefore each sighting
 * gets the same fraction of the time in which some thread ran as of the CPU time, and idle time
 * ends with samples without threads:
 *
 *   |.........:############|####|.........:####|......|          | sighting      : sample without threads
 *
 * To achieve this, sightings are moved within their window, if possible from the middle of their
 * part of the time to its end. Their order does not change. They are not moved past an exec of
 * their process or a new name of their thread, or to a time before the latest new mapping that they
 * followed. The power of a row then never exceeds that of the machine, because CPU time is at least
 * the time in which some thread ran.
 *
 * Windows also end at new values of power, and their CPU time is recorded: it is exact in each window
 * of the power sensor, as far as the CPU time was read shortly before and after the new value. The
 * times of rows do not depend on that: CPU time is carried over as at the end of other windows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_WINDOW_H
#define RECORD_ENGINES_PERF_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engine.h"

struct engine_run;
struct perf_thread;

enum { PERF_LOOKS = 4 };

/* All zero: empty, beginning at time 0. */
struct perf_window {
    struct perf_entry {
        uint64_t time; /* [ns of the run] */
        /* its mapping and names, and those of sightings before it, do not change from FROM to before
         * UNTIL, which is at least about TIME */
        uint64_t from, until;
        bool
            total; /* the final CPU time of a thread that is not in the table: freed with the entry */
        bool alone; /* a total that must not wait for the next sighting */
        struct perf_thread *thread;
        uint64_t pc, caller, cpu; /* CPU: only of a total */
        /* the CPU time that a sighting represents; of a total, that all of its thread do [ns] */
        double span;
        uint8_t flags;
    } * entries;
    size_t count, capacity, sightings;
    struct engine_thread *threads; /* of the next sample */
    size_t thread_count, thread_capacity;
    uint64_t cpu, clock; /* at its beginning: CPU time of the program, CLOCK_MONOTONIC [ns] */
    double left;         /* earlier CPU time that has not been divided among sightings yet [ns] */
    /* CPU time divided in recent windows, and represented by their sightings [ns] */
    double given, spans;
    const struct perf_thread *latest; /* thread of the latest sighting; only to be compared */
    unsigned alternate;               /* sightings to come until threads no longer alternate */
    uint64_t length;                  /* minimum length [ns] */
    uint64_t cost;                    /* smoothed cost of ending it [ns] */
    /* time of the last reading of power, and from the previous one to it [ns of the run] */
    uint64_t read, every;
    struct perf_look {
        uint64_t clock, cpu; /* CLOCK_MONOTONIC and CPU time of the program [ns] */
    } looks[PERF_LOOKS];     /* the latest times when power was looked at, the last one last */
    struct raw_mark mark;    /* of the latest new value; time 0: none is waiting */
};

void perf_window_free(struct perf_window *window);
/* Adds an entry. Its thread is borrowed until the window ends; that of a total is taken. */
void perf_window_add(struct engine_run *run, const struct perf_entry *entry);
/* Puts the last entry added into a separate sample, if it is a total. */
void perf_window_alone(struct engine_run *run);
/* To be called when process PID begins another image at TIME [ns of the run]. */
void perf_window_exec(struct perf_window *window, uint32_t pid, uint64_t time);
/* To be called when process PID has another file, or another part of one, in the SIZE bytes at
 * ADDRESS, starting at TIME [ns of the run]. */
void perf_window_map(struct perf_window *window, uint32_t pid, uint64_t address, uint64_t size,
                     uint64_t time);
/* To be called when THREAD has another name, starting at TIME [ns of the run]. */
void perf_window_rename(struct perf_window *window, struct perf_thread *thread, uint64_t time);
/* Ends the window at UNTIL [ns of the run] if it is long enough, or in any case if AT_ONCE. */
void perf_window_end(struct engine_run *run, uint64_t until, bool at_once);
/* Power was looked at just now: notes the CPU time. READ: time of a new value [ns of the run]; 0:
 * there was none. Sets the MARK of the window if it should end at READ, see perf_window_mark. */
void perf_window_look(struct engine_run *run, uint64_t read);
/* Ends the window at the latest new value of power. To be called when all sightings before it have
 * been added. */
void perf_window_mark(struct engine_run *run);
/* Delivers the last sample of the run, at TIME [ns of the run]: all remaining totals. */
void perf_window_close(struct engine_run *run, uint64_t time);

#endif
