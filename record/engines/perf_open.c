/* Opens events of perf_event_open.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_open.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"

#if defined __x86_64__
static const uint64_t pc_register = UINT64_C(1) << PERF_REG_X86_IP;
#elif defined __aarch64__
static const uint64_t pc_register = UINT64_C(1) << PERF_REG_ARM64_PC;
#elif defined __arm__
static const uint64_t pc_register = UINT64_C(1) << PERF_REG_ARM_PC;
#elif defined __riscv
static const uint64_t pc_register = UINT64_C(1) << PERF_REG_RISCV_PC;
#else
#error "the PC of this processor is unknown: add its register here"
#endif

static const uint64_t sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr basic(uint32_t type, uint64_t config)
{
    return (struct perf_event_attr){.type = type,
                                    .size = sizeof(struct perf_event_attr),
                                    .config = config,
                                    .sample_type = sample_type,
                                    .sample_id_all = 1,
                                    .use_clockid = 1,
                                    .clockid = CLOCK_MONOTONIC};
}

int perf_open_counter(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint32_t watermark)
{
    struct perf_event_attr attr = basic(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    attr.disabled = attr.enable_on_exec = on_exec;
    attr.inherit = attr.inherit_stat = 1;
    attr.inherit_thread = setup->narrow;
    attr.exclude_kernel = !setup->kernel;
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    attr.watermark = 1;
    attr.wakeup_watermark = watermark;
    return open_event(&attr, tid, cpu);
}

int perf_open_clock(pid_t tid)
{
    struct perf_event_attr attr = basic(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    attr.exclude_kernel = 1; /* needs fewer rights; time in the kernel is counted anyway */
    return open_event(&attr, tid, -1);
}

int perf_open_mark(pid_t tid)
{
    struct perf_event_attr attr = basic(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.exclude_kernel = 1;
    return open_event(&attr, tid, -1);
}

static uint64_t counts(const struct perf_setup *setup, uint64_t period)
{
    uint64_t count = (uint64_t)((double)period * setup->per_ns);
    return count > 0 ? count : 1;
}

static struct perf_event_attr sampler(const struct perf_setup *setup, uint64_t period)
{
    struct perf_event_attr attr = basic(setup->type, setup->config);
    attr.exclude_kernel = !setup->kernel;
    attr.sample_period = counts(setup, period);
    attr.sample_type |= PERF_SAMPLE_PERIOD;
    attr.wakeup_events = setup->wakeup;
    if (setup->kernel) { /* only the PC is needed of the registers of the calling user code */
        attr.sample_type |= PERF_SAMPLE_REGS_USER;
        attr.sample_regs_user = pc_register;
    }
    return attr;
}

int perf_open_sampler(const struct perf_setup *setup, pid_t tid, int cpu, bool on_exec,
                      uint64_t period)
{
    struct perf_event_attr attr = sampler(setup, period);
    attr.disabled = attr.enable_on_exec = on_exec;
    attr.inherit = 1;
    attr.inherit_thread = setup->narrow;
    return open_event(&attr, tid, cpu);
}

int perf_open_wide(const struct perf_setup *setup, int cpu, uint64_t period)
{
    struct perf_event_attr attr = sampler(setup, period);
    attr.disabled = attr.exclude_idle = 1;
    return open_event(&attr, -1, cpu);
}

int perf_open_probe(const struct perf_setup *setup, uint64_t period)
{
    struct perf_event_attr attr = basic(setup->type, setup->config);
    attr.disabled = 1;
    attr.exclude_kernel = !setup->kernel;
    attr.sample_period = period > 0 ? counts(setup, period) : 0;
    return open_event(&attr, 0, -1);
}

void perf_set_period(const struct perf_setup *setup, int fd, uint64_t period)
{
    uint64_t count = counts(setup, period);
    ioctl(fd, PERF_EVENT_IOC_PERIOD, &count);
}

/* TEXT is a list like "0-3,8". */
static void parse_cpus(struct perf_setup *setup, const char *text)
{
    size_t capacity = 0;
    while (*text >= '0' && *text <= '9') {
        char *end;
        long from = strtol(text, &end, 10), to = from;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (; from <= to && from < 65536; from++) {
            mem_reserve(&setup->cpus, &capacity, setup->cpu_count + 1, sizeof *setup->cpus);
            setup->cpus[setup->cpu_count++] = (int)from;
        }
        text = *end == ',' ? end + 1 : end;
    }
}

static int find_cpus(struct perf_setup *setup, struct error *err)
{
    static const char path[] = "/sys/devices/system/cpu/online";
    char text[4096] = "";
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    parse_cpus(setup, text);
    if (setup->cpu_count > 0)
        return 0;
    return error_set(err, path, NO_OFFSET, "expected the numbers of CPUs, found '%.40s'", text);
}

/* Measures the cycles per nanosecond of CPU time. */
static double measure(struct perf_setup *setup)
{
    struct perf_event_attr attr = basic(setup->type, setup->config);
    attr.exclude_kernel = 1;
    int fd = open_event(&attr, 0, -1);
    uint64_t begin = clock_now(), now, count = 0;
    if (fd < 0)
        return 0;
    do
        now = clock_now();
    while (now - begin < 5 * SECOND / 1000);
    if (read(fd, &count, sizeof count) != sizeof count)
        count = 0;
    close(fd);
    return (double)count / (double)(now - begin);
}

static int choose_event(struct perf_setup *setup, const char *name, struct error *err)
{
    setup->type = PERF_TYPE_SOFTWARE;
    setup->config = PERF_COUNT_SW_CPU_CLOCK;
    setup->per_ns = 1;
    if (name == NULL || strcmp(name, "cpu-clock") == 0)
        return 0;
    if (strcmp(name, "cycles") != 0)
        return error_set_usage(err, NULL, "--event must be cpu-clock or cycles, not '%s'", name);
    setup->type = PERF_TYPE_HARDWARE;
    setup->config = PERF_COUNT_HW_CPU_CYCLES;
    setup->per_ns = measure(setup);
    if (setup->per_ns > 0)
        return 0;
    return error_set(err, NULL, NO_OFFSET, "this processor has no usable cycle counter");
}

/* Tries the events on this process, with fewer features each time. */
static int probe(struct perf_setup *setup, struct error *err)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        setup->kernel = attempt == 0;
        int fd = perf_open_sampler(setup, 0, setup->cpus[0], true, SECOND);
        if (fd < 0 && errno == EINVAL && setup->narrow) {
            setup->narrow = false; /* before Linux 5.13; unwanted processes are dropped later */
            fd = perf_open_sampler(setup, 0, setup->cpus[0], true, SECOND);
        }
        if (fd >= 0) {
            close(fd);
            return 0;
        }
        if (errno != EACCES && errno != EPERM)
            break;
    }
    return error_set_errno(err, NULL, errno,
                           "perf_event_open does not work here (see kernel.perf_event_paranoid)");
}

int perf_setup(struct perf_setup *setup, const struct engine_options *options, struct error *err)
{
    *setup = (struct perf_setup){.narrow = !options->follow};
    if (find_cpus(setup, err) == 0 && choose_event(setup, options->event, err) == 0 &&
        probe(setup, err) == 0)
        return 0;
    perf_setup_free(setup);
    return -1;
}

void perf_setup_free(struct perf_setup *setup)
{
    free(setup->cpus);
    setup->cpus = NULL;
    setup->cpu_count = 0;
}
