/* GPUs: the energy counters of NVIDIA's NVML and AMD's SMI library. The libraries belong to the
 * drivers and are opened at run time: the few functions that are used are declared here, as
 * documented.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/library.h"
#include "base/memory.h"
#include "record/pmus/pmu.h"

enum { MAX_GPUS = 64, NAME_SIZE = 96 };

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*energy)(void *, unsigned long long *); /* [mJ] */
    const char *(*text)(int);
};

struct amdsmi {
    void *library;
    int (*init)(uint64_t);
    int (*shutdown)(void);
    int (*sockets)(uint32_t *, void **);
    int (*processors)(void *, uint32_t *, void **);
    /* count; value of one count [uJ]; time [ns] */
    int (*energy)(void *, uint64_t *, float *, uint64_t *);
};

struct gpus {
    struct nvml nvml;
    struct amdsmi amdsmi;
    void *handles[MAX_GPUS];
    size_t nvidia, count; /* the first NVIDIA GPUs are from NVML */
};

static void close_gpus(void *state)
{
    struct gpus *g = state;
    if (g->nvml.library != NULL) {
        g->nvml.shutdown();
        dlclose(g->nvml.library);
    }
    if (g->amdsmi.library != NULL) {
        g->amdsmi.shutdown();
        dlclose(g->amdsmi.library);
    }
    free(g);
}

static void add_gpu(struct gpus *g, struct pmu_channels *channels, void *handle, const char *kind,
                    const char *help, double per_count)
{
    char *name = mem_printf("%s-%zu", kind, g->count - (kind[0] == 'a' ? g->nvidia : 0));
    struct pmu_channel *channel = pmu_channel_add(channels, name, help);
    pmu_channel_counter(channel, per_count, 0);
    channel->scope = SCOPE_GPU;
    free(name);
    g->handles[g->count++] = handle;
}

/* ---- NVML --------------------------------------------------------------------------------------- */

static bool load_nvml(struct nvml *n)
{
    const struct library_function functions[] = {
        {"nvmlInit_v2", &n->init},
        {"nvmlShutdown", &n->shutdown},
        {"nvmlDeviceGetCount_v2", &n->count},
        {"nvmlDeviceGetHandleByIndex_v2", &n->handle},
        {"nvmlDeviceGetName", &n->name},
        {"nvmlDeviceGetTotalEnergyConsumption", &n->energy},
        {"nvmlErrorString", &n->text},
        {0}};
    n->library = library_load("libnvidia-ml.so.1", functions);
    if (n->library == NULL || n->init() == 0)
        return n->library != NULL;
    dlclose(n->library);
    n->library = NULL;
    return false;
}

static void add_nvidia(struct gpus *g, struct pmu_channels *channels, struct error *why)
{
    unsigned count = 0;
    unsigned long long energy;
    if (g->nvml.count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && g->count < MAX_GPUS; i++) {
        void *handle;
        char name[NAME_SIZE] = "an NVIDIA GPU";
        if (g->nvml.handle(i, &handle) != 0)
            continue;
        g->nvml.name(handle, name, sizeof name);
        name[sizeof name - 1] = '\0';
        int code = g->nvml.energy(handle, &energy);
        if (code == 0)
            add_gpu(g, channels, handle, "nvidia", name, 1e-3);
        else
            error_set(why, NULL, NO_OFFSET, "%s: NVML: %s", name, g->nvml.text(code));
    }
    g->nvidia = g->count;
}

/* ---- AMD SMI ------------------------------------------------------------------------------------ */

static bool load_amdsmi(struct amdsmi *a)
{
    const uint64_t gpus = 2; /* AMDSMI_INIT_AMD_GPUS */
    const struct library_function functions[] = {{"amdsmi_init", &a->init},
                                                 {"amdsmi_shut_down", &a->shutdown},
                                                 {"amdsmi_get_socket_handles", &a->sockets},
                                                 {"amdsmi_get_processor_handles", &a->processors},
                                                 {"amdsmi_get_energy_count", &a->energy},
                                                 {0}};
    a->library = library_load("libamd_smi.so", functions);
    if (a->library == NULL || a->init(gpus) == 0)
        return a->library != NULL;
    dlclose(a->library);
    a->library = NULL;
    return false;
}

static void add_amd_socket(struct gpus *g, void *socket, struct pmu_channels *channels,
                           struct error *why)
{
    void *handles[MAX_GPUS];
    uint32_t count = MAX_GPUS;
    if (g->amdsmi.processors(socket, &count, handles) != 0)
        return;
    for (uint32_t i = 0; i < count && i < MAX_GPUS && g->count < MAX_GPUS; i++) {
        uint64_t counts, time;
        float resolution;
        int code = g->amdsmi.energy(handles[i], &counts, &resolution, &time);
        if (code == 0 && resolution > 0)
            add_gpu(g, channels, handles[i], "amd", "an AMD GPU", (double)resolution * 1e-6);
        else
            error_set(why, NULL, NO_OFFSET, "an AMD GPU: AMD SMI: no energy counter, error %d",
                      code);
    }
}

static void add_amd(struct gpus *g, struct pmu_channels *channels, struct error *why)
{
    void *sockets[MAX_GPUS];
    uint32_t count = MAX_GPUS;
    if (g->amdsmi.sockets(&count, sockets) != 0)
        return;
    for (uint32_t i = 0; i < count && i < MAX_GPUS; i++)
        add_amd_socket(g, sockets[i], channels, why);
}

/* ---- either ------------------------------------------------------------------------------------- */

static int open_gpus(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    struct gpus *g = mem_zalloc(1, sizeof *g);
    struct error why = {0};
    if (load_nvml(&g->nvml))
        add_nvidia(g, channels, &why);
    if (load_amdsmi(&g->amdsmi))
        add_amd(g, channels, &why);
    if (g->count > 0 && pmu_channels_choose(channels, "gpu", request->argument, err) == 0) {
        *state = g;
        return 0;
    }
    if (why.text[0] != '\0')
        error_set(err, NULL, NO_OFFSET, "%s", why.text);
    else
        error_set(err, NULL, NO_OFFSET,
                  "no GPU with an energy counter (libnvidia-ml.so.1 and libamd_smi.so %s)",
                  g->nvml.library == NULL && g->amdsmi.library == NULL ? "cannot be used"
                                                                       : "find none");
    close_gpus(g);
    return -1;
}

static int read_gpu(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct gpus *g = state;
    unsigned long long energy;
    uint64_t time;
    float resolution;
    if (channel >= g->nvidia) {
        int code = g->amdsmi.energy(g->handles[channel], &value->count, &resolution, &time);
        return code == 0 ? 1
                         : error_set(err, NULL, NO_OFFSET, "AMD SMI: cannot read, error %d", code);
    }
    int code = g->nvml.energy(g->handles[channel], &energy);
    value->count = energy;
    return code == 0 ? 1
                     : error_set(err, NULL, NO_OFFSET, "NVML: cannot read: %s", g->nvml.text(code));
}

extern const struct pmu_source pmu_gpu;
const struct pmu_source pmu_gpu = {
    .name = "gpu",
    .argument = "[GPU]",
    .help = "energy counters of NVIDIA and AMD GPUs",
    .open = open_gpus,
    .read = read_gpu,
    .close = close_gpus,
};
