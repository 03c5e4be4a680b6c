/* An energy counter in a file that contains a number, in microjoules unless --unit is given.
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"
#include "record/pmus/sysfs.h"

/* A counter with decimals is counted in millionths of its unit. */
enum { DECIMALS = 6, MILLION = 1000000 };

struct counter_file {
    struct sysfs_file file;
    bool decimals;
};

static void close_counter(void *state)
{
    struct counter_file *f = state;
    sysfs_close(&f->file);
    free(f);
}

/* Returns the digits after the point, truncated or padded to DECIMALS. *END is the first byte after
 * them. */
static uint64_t fraction(const char *digits, const char **end)
{
    uint64_t value = 0;
    int count = 0;
    for (; isdigit((unsigned char)*digits); digits++)
        if (count < DECIMALS) {
            value = value * 10 + (uint64_t)(*digits - '0');
            count++;
        }
    for (; count < DECIMALS; count++)
        value *= 10;
    *end = digits;
    return value;
}

static int read_counter(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct counter_file *f = state;
    char text[SYSFS_TEXT];
    (void)channel;
    if (!f->decimals)
        return sysfs_count(&f->file, &value->count, err);
    int got = sysfs_read(&f->file, text, err);
    if (got <= 0)
        return got;
    char *point;
    const char *end;
    uint64_t whole = strtoull(text, &point, 10);
    end = point;
    value->count = *point == '.' ? fraction(point + 1, &end) : 0;
    if (!isdigit((unsigned char)text[0]) || (*end != '\0' && !isspace((unsigned char)*end)) ||
        __builtin_mul_overflow(whole, MILLION, &whole) ||
        __builtin_add_overflow(value->count, whole, &value->count))
        return error_set(err, f->file.path, NO_OFFSET, "expected a count, found '%.*s'",
                         (int)strcspn(text, "\n"), text);
    return 1;
}

static int open_counter(const struct pmu_request *request, struct pmu_channels *channels,
                        void **state, struct error *err)
{
    struct pmu_unit unit;
    struct pmu_value value;
    char text[SYSFS_TEXT];
    if (pmu_unit_settle(request->unit != NULL ? request->unit : "uJ", -1, &unit, err) != 0)
        return -1;
    if (!unit.energy)
        return error_set(err, NULL, NO_OFFSET,
                         "--unit must be J with or without a prefix (n u m k), not '%s'",
                         request->unit);
    struct counter_file *f = mem_zalloc(1, sizeof *f);
    if (sysfs_open_filled(&f->file, request->argument, text, err) != 0) {
        close_counter(f);
        return -1;
    }
    f->decimals = text[strspn(text, "0123456789")] == '.';
    uint64_t range = request->range, factor = f->decimals ? MILLION : 1;
    if (read_counter(f, 0, &value, err) < 0) {
        close_counter(f);
        return -1;
    }
    if (__builtin_mul_overflow(range, factor, &range)) {
        close_counter(f);
        return error_set(err, NULL, NO_OFFSET, "--range: too large for a counter with decimals");
    }
    pmu_channel_counter(pmu_channel_add(channels, "energy", request->argument),
                        unit.scale / (double)factor, range);
    *state = f;
    return 0;
}

extern const struct pmu_source pmu_counter;
const struct pmu_source pmu_counter = {
    .name = "counter",
    .argument = "PATH",
    .help = "a file that holds an energy counter (--unit, --range)",
    .takes_unit = true,
    .takes_range = true,
    .open = open_counter,
    .read = read_counter,
    .close = close_counter,
};
