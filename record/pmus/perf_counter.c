/* Energy counters of the kernel's perf events.
 * SPDX-License-Identifier: MIT */
#include "record/pmus/perf_counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/pmus/sysfs.h"

enum { MAX_CPUS = 65536 };

static char *pmu_folder(const char *pmu)
{
    return sysfs_path("/sys/bus/event_source/devices/%s", pmu);
}

static void add_range(struct perf_cpus *cpus, long first, long last)
{
    for (long cpu = first; cpu >= 0 && cpu <= last && cpus->count < MAX_CPUS; cpu++) {
        mem_reserve(&cpus->list, &cpus->capacity, cpus->count + 1, sizeof *cpus->list);
        cpus->list[cpus->count++] = (int)cpu;
    }
}

void perf_cpus_read(struct perf_cpus *cpus, const char *pmu)
{
    *cpus = (struct perf_cpus){0};
    char *folder = pmu_folder(pmu), *line = sysfs_line(folder, "cpumask"), *rest = NULL;
    for (char *word = line != NULL ? strtok_r(line, ",", &rest) : NULL; word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        char *end;
        long first = strtol(word, &end, 10), last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        if (end != word)
            add_range(cpus, first, last);
    }
    free(line);
    free(folder);
}

/* Parses "event=0x02" or "event=0x02,umask=0x01", which have the usual layout: bits 0-7 and
 * 8-15. */
static uint64_t config_of(const char *text)
{
    const char *event = strstr(text, "event="), *mask = strstr(text, "umask=");
    uint64_t config = event != NULL ? strtoull(event + strlen("event="), NULL, 0) : 0;
    return mask != NULL ? config | strtoull(mask + strlen("umask="), NULL, 0) << 8 : config;
}

static int open_event(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attr = {.size = sizeof attr, .type = type, .config = config};
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int perf_counter_open(const char *pmu, const char *event, int cpu, double *per_count, int *absent,
                      struct error *err)
{
    char *folder = pmu_folder(pmu), *name = mem_printf("events/%s", event),
         *scale = mem_printf("%s.scale", name), *text = sysfs_line(folder, name);
    double type = 0;
    int fd = -1;
    *absent = text == NULL;
    if (text == NULL || !sysfs_number(folder, "type", &type) ||
        !sysfs_number(folder, scale, per_count) || *per_count <= 0)
        error_set(err, folder, NO_OFFSET, "has no event '%s'", event);
    else if ((fd = open_event((uint32_t)type, config_of(text), cpu)) < 0)
        error_set_errno(err, folder, errno,
                        "cannot open '%s' on processor %d (this requires root, CAP_PERFMON, or "
                        "kernel.perf_event_paranoid of -1)",
                        event, cpu);
    free(text);
    free(scale);
    free(name);
    free(folder);
    return fd;
}

int perf_counter_read(int fd, const char *name, uint64_t *count, struct error *err)
{
    ssize_t got = read(fd, count, sizeof *count);
    if (got == sizeof *count)
        return 1;
    return error_set_errno(err, NULL, got < 0 ? errno : EIO, "cannot read %s", name);
}
