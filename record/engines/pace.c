/* Determines when the next sample is due.
 * SPDX-License-Identifier: MIT */
#include "record/engines/pace.h"

#include <math.h>

#include "record/clock.h"

/* The program runs for at least this part of an interval; otherwise samples would show the effects of sampling. */
static const double floor_part = 0.1;
static const double backlog = 2; /* number of intervals that may be made up for */
/* [ns] The rate must not follow the phases of the program: samples of waiting threads cost little,
 * and if the rate rose during a wait, the first thing that threads do after it would be sampled too
 * often. */
static const double memory = 1e9;
static const double min_left = 0.25; /* of the limit, for samples */
static const double max_cost = 4; /* times the usual cost: above this, the sampler was preempted */

static double interval(struct pace *pace)
{
    if (!pace->random)
        return pace->mean;
    return pace->mean * (floor_part - (1 - floor_part) * log(random_uniform(&pace->numbers)));
}

void pace_start(struct pace *pace, double frequency, bool random, double most, uint64_t now)
{
    *pace = (struct pace){.random = random, .most = most, .start = now, .last = now};
    random_start(&pace->numbers, now);
    pace->wanted = pace->mean = (double)SECOND / frequency;
    pace->next = now + (uint64_t)interval(pace);
}

static void count_cost(struct pace *pace, uint64_t end, uint64_t cost)
{
    double usual = (double)cost, share = 1 / (double)(pace->taken + 1);
    double passed = (double)(end - pace->last) / memory;
    if (pace->taken > 0 && usual > max_cost * pace->cost)
        usual = max_cost * pace->cost;
    pace->cost += (usual - pace->cost) * fmin(fmax(share, passed), 1);
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
    if (late > (pace->random ? backlog : 1)) {
        uint64_t skipped = (uint64_t)late;
        pace->missed += skipped;
        pace->next += (uint64_t)((double)skipped * pace->mean);
    }
    pace->next += (uint64_t)interval(pace);
    uint64_t soonest = end + (uint64_t)(pace->mean * floor_part);
    if (pace->random && pace->next < soonest)
        pace->next = soonest;
}

uint64_t pace_late(const struct pace *pace, uint64_t woken, uint64_t now, uint64_t waited)
{
    uint64_t passed = now > pace->next ? now - pace->next : 0;
    if (woken >= pace->next)
        return woken - pace->next;
    return waited < passed ? waited : passed;
}
