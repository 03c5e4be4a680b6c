/* The time between two updates of a counter.
 * SPDX-License-Identifier: MIT */
#include "record/update_period.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LATE_IN_TURN = 4 }; /* a single update may be late, or hidden by a late reading */
/* Updates are regular if their distances from a straight line have at most VARIANCE times the
 * variance that the times between readings explain, plus (period / JITTER)^2. If readings were not
 * MIN_READINGS times as frequent (root mean square), it is uncertain how many periods are between
 * two updates. */
static const double variance = 2, jitter = 16, min_readings = 2;

static int by_length(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

uint64_t update_period_usual(uint64_t *steps, unsigned count)
{
    uint64_t sum = 0, alike = 0;
    qsort(steps, count, sizeof *steps, by_length);
    uint64_t median = steps[count / 2];
    for (unsigned i = 0; i < count; i++)
        if (steps[i] >= median - median / 4 && steps[i] <= median + median / 4) {
            sum += steps[i];
            alike++;
        }
    return alike > 0 ? sum / alike : median;
}

/* Updates by number: the sums for a straight line. */
struct line {
    double n, x, y, xx, xy, yy;
};

static void add_point(struct line *line, double x, double y)
{
    line->n++;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
    line->yy += y * y;
}

/* Returns the mean time between two of the updates SEEN, without those that others may have been
 * between [ns]. */
static double mean_step(const struct update_seen *seen)
{
    uint64_t steps[UPDATES_SEEN - 1];
    double sum = 0, count = 0;
    for (unsigned i = 0; i < UPDATES_SEEN - 1; i++)
        steps[i] = seen[i + 1].upto - seen[i].upto;
    qsort(steps, UPDATES_SEEN - 1, sizeof *steps, by_length);
    uint64_t median = steps[(UPDATES_SEEN - 1) / 2];
    for (unsigned i = 0; i < UPDATES_SEEN - 1; i++)
        if (steps[i] <= median + median / 2) {
            sum += (double)steps[i];
            count++;
        }
    return sum / count;
}

/* Returns the period of the updates SEEN [ns]; 0: they are not regular. */
static uint64_t find_period(const struct update_seen *seen)
{
    struct line line = {0};
    double number = 0, unsure = 0, usual = mean_step(seen);
    for (unsigned i = 0; i < UPDATES_SEEN; i++) {
        double between = (double)(seen[i].upto - seen[i].after);
        double at = (double)(seen[i].upto - seen[0].upto) - between / 2;
        number += i > 0 ? round((double)(seen[i].upto - seen[i - 1].upto) / usual) : 0;
        unsure += between * between / 12;
        add_point(&line, number, at);
    }
    double xx = line.xx - line.x * line.x / line.n, xy = line.xy - line.x * line.y / line.n;
    double yy = line.yy - line.y * line.y / line.n;
    if (!(xx > 0) || !(xy > 0))
        return 0;
    double period = xy / xx, rest = yy - period * xy, most = period / jitter;
    bool regular = rest <= variance * unsure + line.n * most * most;
    bool certain = period * period >= min_readings * min_readings * 12 * unsure / line.n;
    return regular && certain ? (uint64_t)period : 0;
}

/* Notes an update while the period is unknown. Returns the period; 0: still unknown. */
static uint64_t learn(struct update_period *shown, uint64_t after, uint64_t upto)
{
    shown->seen[shown->count++] = (struct update_seen){after, upto};
    if (shown->count < UPDATES_SEEN)
        return 0;
    shown->count = 0;
    return find_period(shown->seen);
}

void update_period_moved(struct update_period *shown, uint64_t *period, uint64_t after,
                         uint64_t upto)
{
    uint64_t most = upto - shown->after;
    uint64_t least = after > shown->upto ? after - shown->upto : 0;
    uint64_t between = (least + most) / 2;
    bool known = shown->upto > 0 && *period > 0;
    if (*period == 0)
        *period = learn(shown, after, upto);
    shown->after = after;
    shown->upto = upto;
    if (!known)
        return;
    if (most < *period - *period / 8) {
        *period = between;
        shown->longer = 0;
    } else if (least > *period + *period / 8) {
        shown->shortest =
            shown->longer == 0 || between < shown->shortest ? between : shown->shortest;
        if (++shown->longer == LATE_IN_TURN) {
            *period = shown->shortest;
            shown->longer = 0;
        }
    } else {
        shown->longer = 0;
    }
}
