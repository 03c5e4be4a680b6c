/* Determines when the next sample is due.
 * SPDX-License-Identifier: MIT */
#include "record/engines/pace.h"

#include <math.h>

#include "record/clock.h"

/* The program runs for at least this part of an interval; otherwise samples would show the effects of
 * sampling. A thread that was to begin during a sample often begins right after it, so that for
 * this long, it is never seen. */
static const double floor_part = 0.02;
static const double min_rest = 0.25; /* of an interval, the rest of which the sampler is busy */
/* [ns] The rate must not follow the phases of the program: samples of waiting threads cost little,
 * and if the rate rose during a wait, the first thing that threads do after it would be sampled too
 * often. */
static const double memory = 1e9;
static const double min_left = 0.25; /* of the limit, for samples */
static const double max_cost = 4; /* times the usual cost: above this, the sampler was preempted */

/* Returns a random interval, of which a sample takes BUSY [ns]. */
static double random_interval(struct pace *pace, double busy)
{
    double least = pace->mean * floor_part, rest = pace->mean - least - busy;
    return least - fmax(rest, pace->mean * min_rest) * log(random_uniform(&pace->numbers));
}

void pace_start(struct pace *pace, double frequency, bool random, double most, uint64_t now)
{
    *pace = (struct pace){.random = random, .most = most, .start = now, .last = now};
    random_start(&pace->numbers, now);
    pace->wanted = pace->mean = (double)SECOND / frequency;
    pace->next = now + (uint64_t)(random ? random_interval(pace, 0) : pace->mean);
}

/* Updates the mean USUAL of about the last second with VALUE; SHARE: of VALUE in the mean. */
static void average(const struct pace *pace, double *usual, double value, double share)
{
    if (pace->taken > 0 && value > max_cost * *usual)
        value = max_cost * *usual;
    *usual += (value - *usual) * share;
}

static void count_cost(struct pace *pace, uint64_t end, uint64_t cost)
{
    double passed = (double)(end - pace->last) / memory;
    double share = fmin(fmax(1 / (double)(pace->taken + 1), passed), 1);
    average(pace, &pace->cost, (double)cost, share);
    average(pace, &pace->busy, end > pace->next ? (double)(end - pace->next) : 0, share);
    pace->last = end;
    pace->taken++;
}

void pace_spend(struct pace *pace, uint64_t cost)
{
    pace->other += (double)cost;
}

/* The part of the time that samples may take until NOW. */
static double most_of_samples(const struct pace *pace, uint64_t now)
{
    double passed = now > pace->start ? (double)(now - pace->start) : 0;
    return fmax(pace->most - (passed > 0 ? pace->other / passed : 0), min_left * pace->most);
}

void pace_taken(struct pace *pace, uint64_t end, uint64_t cost)
{
    count_cost(pace, end, cost);
    double bearable = pace->most > 0 ? pace->cost / most_of_samples(pace, end) : 0;
    pace->mean = bearable > pace->wanted ? bearable : pace->wanted;
    pace->slowed += bearable > pace->wanted;
    double late = end > pace->next ? (double)(end - pace->next) / pace->mean : 0;
    uint64_t skipped = late > (pace->random ? 2 : 1) ? (uint64_t)late : 0;
    pace->missed += skipped;
    /* Threads on the CPU of the sampler do not advance while it is busy: a random interval begins at
     * END, so that each moment of their CPU time is equally likely. */
    if (pace->random)
        pace->next = end + (uint64_t)random_interval(pace, pace->busy);
    else
        pace->next += (uint64_t)((double)(skipped + 1) * pace->mean);
}

uint64_t pace_late(const struct pace *pace, uint64_t woken, uint64_t now, uint64_t waited)
{
    uint64_t passed = now > pace->next ? now - pace->next : 0;
    if (woken >= pace->next)
        return woken - pace->next;
    return waited < passed ? waited : passed;
}
