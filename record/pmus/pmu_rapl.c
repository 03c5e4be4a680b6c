/* RAPL: the energy counters of x86 processors, from the files of powercap if they are readable,
 * otherwise from the perf PMU `power`.
 *
 *   /sys/class/powercap/intel-rapl:0/{name,energy_uj,max_energy_range_uj}     package-0
 *   /sys/class/powercap/intel-rapl:0:1/...                                    package-0/dram
 *
 * The mmio interface (intel-rapl-mmio:0) shows the same package again and is ignored. AMD
 * processors have the same tree.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/pmus/perf_counter.h"
#include "record/pmus/pmu.h"
#include "record/pmus/sysfs.h"

static const char no_rapl[] = "this machine has no RAPL counters";

struct domain {
    struct sysfs_file file; /* of powercap */
    int fd;                 /* of perf; -1: powercap is used */
};

struct rapl {
    struct domain *domains; /* one for each channel */
    size_t count, capacity;
    struct pmu_channels *channels; /* only while opening */
};

static void close_rapl(void *state)
{
    struct rapl *r = state;
    for (size_t i = 0; i < r->count; i++) {
        sysfs_close(&r->domains[i].file);
        if (r->domains[i].fd >= 0)
            close(r->domains[i].fd);
    }
    free(r->domains);
    free(r);
}

static enum pmu_scope scope_of(const char *name)
{
    static const struct {
        const char *prefix;
        enum pmu_scope scope;
    } scopes[] = {{"package", SCOPE_PACKAGE}, {"pkg", SCOPE_PACKAGE}, {"dram", SCOPE_DRAM},
                  {"ram", SCOPE_DRAM},        {"core", SCOPE_CORE},   {"uncore", SCOPE_GPU},
                  {"gpu", SCOPE_GPU},         {"psys", SCOPE_PSYS}};
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (strncmp(name, scopes[i].prefix, strlen(scopes[i].prefix)) == 0)
            return scopes[i].scope;
    return SCOPE_OTHER;
}

static const char *help_of(enum pmu_scope scope)
{
    switch (scope) {
    case SCOPE_PACKAGE:
        return "a processor with cores, caches and built-in graphics";
    case SCOPE_DRAM:
        return "memory of a processor";
    case SCOPE_CORE:
        return "all cores of a processor";
    case SCOPE_GPU:
        return "built-in parts other than the cores, such as graphics";
    case SCOPE_PSYS:
        return "the whole platform";
    default:
        return "a RAPL domain";
    }
}

static struct domain *add_domain(struct rapl *r, const char *name, enum pmu_scope scope,
                                 double per_count, uint64_t range, size_t inside)
{
    struct pmu_channel *channel = pmu_channel_add(r->channels, name, help_of(scope));
    pmu_channel_counter(channel, per_count, range);
    channel->scope = scope;
    channel->inside = scope == SCOPE_DRAM ? 0 : inside;
    mem_reserve(&r->domains, &r->capacity, r->count + 1, sizeof *r->domains);
    r->domains[r->count] = (struct domain){.file = {.fd = -1}, .fd = -1};
    return &r->domains[r->count++];
}

/* ---- powercap ----------------------------------------------------------------------------------- */

/* Adds a zone. Its counter is opened first, so that nothing is added for a zone without a
 * counter. */
static int add_zone(struct rapl *r, const char *zone, const char *name, enum pmu_scope scope,
                    size_t inside, struct error *err)
{
    struct sysfs_file file;
    double range = 0;
    if (sysfs_open(&file, zone, "energy_uj", err) != 0)
        return -1;
    sysfs_number(zone, "max_energy_range_uj", &range);
    add_domain(r, name, scope, 1e-6, (uint64_t)range, inside)->file = file;
    return 0;
}

/* Adds the zones in ROOT (a powercap folder) called intel-rapl:N[:M]: packages and memory before
 * their parts. */
static int add_zones(struct rapl *r, const char *root, bool parts, struct error *err)
{
    struct sysfs_list list;
    int result = 0;
    sysfs_list(&list, root, "intel-rapl:");
    for (size_t i = 0; i < list.count && result == 0; i++) {
        const char *colon = strchr(list.names[i] + strlen("intel-rapl:"), ':');
        char *zone = mem_printf("%s/%s", root, list.names[i]);
        char *own = sysfs_line(zone, "name"), *full = NULL;
        size_t parent = 0;
        if (colon != NULL) {
            char *above = mem_printf("%s/%.*s", root, (int)(colon - list.names[i]), list.names[i]);
            char *name = sysfs_line(above, "name");
            full = mem_printf("%s/%s", name != NULL ? name : "?", own != NULL ? own : "?");
            parent = name != NULL ? pmu_channel_find(r->channels, name) : 0;
            free(name);
            free(above);
        }
        enum pmu_scope scope = scope_of(own != NULL ? own : "");
        bool part = scope != SCOPE_PACKAGE && scope != SCOPE_DRAM;
        if (own != NULL && part == parts)
            result = add_zone(r, zone, full != NULL ? full : own, scope, parent, err);
        free(full);
        free(own);
        free(zone);
    }
    sysfs_list_free(&list);
    return result;
}

static int open_powercap(struct rapl *r, struct error *err)
{
    char *root = sysfs_path("/sys/class/powercap");
    int result = add_zones(r, root, false, err);
    if (result == 0)
        result = add_zones(r, root, true, err);
    free(root);
    return result;
}

/* ---- perf --------------------------------------------------------------------------------------- */

static const struct {
    const char *event, *name;
} events[] = {{"energy-pkg", "package"},
              {"energy-ram", "dram"},
              {"energy-cores", "core"},
              {"energy-gpu", "uncore"},
              {"energy-psys", "psys"}};
enum { EVENTS = sizeof events / sizeof events[0] };

/* Returns the package of processor CPU. */
static int package_of(int cpu)
{
    double number = 0;
    char *folder = sysfs_path("/sys/devices/system/cpu/cpu%d/topology", cpu);
    sysfs_number(folder, "physical_package_id", &number);
    free(folder);
    return (int)number;
}

static char *perf_name(size_t event, int package)
{
    enum pmu_scope scope = scope_of(events[event].name);
    if (scope == SCOPE_PSYS)
        return mem_strdup(events[event].name);
    return scope == SCOPE_PACKAGE ? mem_printf("package-%d", package)
                                  : mem_printf("package-%d/%s", package, events[event].name);
}

static int add_event(struct rapl *r, size_t event, int cpu, struct error *err)
{
    double per_count;
    int absent, package = package_of(cpu);
    struct error why = {0};
    int fd = perf_counter_open("power", events[event].event, cpu, &per_count, &absent, &why);
    if (fd < 0 && absent)
        return 0;
    if (fd < 0)
        return error_set(err, why.file, NO_OFFSET, "%s", why.text);
    char *above = mem_printf("package-%d", package), *name = perf_name(event, package);
    add_domain(r, name, scope_of(events[event].name), per_count, 0,
               event > 0 ? pmu_channel_find(r->channels, above) : 0)
        ->fd = fd;
    free(name);
    free(above);
    return 0;
}

static int open_perf(struct rapl *r, struct error *err)
{
    struct perf_cpus cpus;
    int result = 0;
    perf_cpus_read(&cpus, "power");
    for (size_t event = 0; event < EVENTS; event++)
        for (size_t i = 0; i < cpus.count && result == 0; i++)
            if (i == 0 || strcmp(events[event].name, "psys") != 0)
                result = add_event(r, event, cpus.list[i], err);
    free(cpus.list);
    return result;
}

/* ---- either ------------------------------------------------------------------------------------- */

static int open_rapl(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    struct rapl *r = mem_zalloc(1, sizeof *r);
    struct error powercap = {0}, perf = {0};
    r->channels = channels;
    if (open_powercap(r, &powercap) != 0 || r->count == 0) {
        close_rapl(r);
        pmu_channels_free(channels);
        r = mem_zalloc(1, sizeof *r);
        r->channels = channels;
        open_perf(r, &perf);
    }
    if (r->count == 0 || perf.text[0] != '\0') {
        const struct error *why = powercap.text[0] != '\0' ? &powercap : &perf;
        if (why->text[0] == '\0')
            error_set(err, NULL, NO_OFFSET, "%s", no_rapl);
        else
            error_set(err, why->file, NO_OFFSET, "%s%s", why->text,
                      why == &powercap ? " (usually, only root may read it)" : "");
    } else if (pmu_channels_choose(channels, "rapl", request->argument, err) == 0) {
        r->channels = NULL;
        *state = r;
        return 0;
    }
    close_rapl(r);
    return -1;
}

static int read_rapl(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct rapl *r = state;
    const struct domain *domain = &r->domains[channel];
    return domain->fd >= 0 ? perf_counter_read(domain->fd, "the perf event", &value->count, err)
                           : sysfs_count(&domain->file, &value->count, err);
}

extern const struct pmu_source pmu_rapl;
const struct pmu_source pmu_rapl = {
    .name = "rapl",
    .argument = "[DOMAIN]",
    .help = "energy counters of Intel and AMD processors",
    .open = open_rapl,
    .read = read_rapl,
    .close = close_rapl,
};
