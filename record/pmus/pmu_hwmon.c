/* hwmon: sensors of boards and their components, from /sys/class/hwmon.
 *
 *   energy1_input [uJ]    power1_input, power1_average [uW]    curr1_input [mA] times in1_input [mV]
 *
 * For each sensor number, the first of these three is used. The scope of a sensor is known only for
 * a few chips; sensors of other chips have the scope `other` and are never added up, because a rail
 * is often part of another one.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"
#include "record/pmus/sysfs.h"

enum { MAX_SENSORS = 1024 };

struct sensor {
    struct sysfs_file file, volts; /* volts is used only if the file is a current */
    bool counter, product;
};

struct hwmon {
    struct sensor *sensors; /* one for each channel */
    size_t count, capacity;
};

/* A chip while it is examined. */
struct chip {
    char *folder, *name;
    struct hwmon *hwmon;
    struct pmu_channels *channels;
    uint64_t period; /* [ns]; 0: unknown */
};

static void close_hwmon(void *state)
{
    struct hwmon *h = state;
    for (size_t i = 0; i < h->count; i++) {
        sysfs_close(&h->sensors[i].file);
        if (h->sensors[i].product)
            sysfs_close(&h->sensors[i].volts);
    }
    free(h->sensors);
    free(h);
}

/* Chips and labels with a known scope. */
static enum pmu_scope scope_of(const char *chip, const char *label)
{
    static const struct {
        const char *chip, *label; /* the beginning of each */
        enum pmu_scope scope;
    } known[] = {
        {"power_meter", "", SCOPE_BOARD},
        {"", "VDD_IN", SCOPE_BOARD},
        {"", "POM_5V_IN", SCOPE_BOARD},
        {"i915", "", SCOPE_GPU},
        {"xe", "", SCOPE_GPU},
        {"amdgpu", "", SCOPE_GPU},
        {"amd_hsmp", "", SCOPE_PACKAGE},
        {"amd_energy", "Esocket", SCOPE_PACKAGE},
        {"amd_energy", "Ecore", SCOPE_CORE},
        {"zenergy", "Esocket", SCOPE_PACKAGE},
        {"zenergy", "Ecore", SCOPE_CORE},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(chip, known[i].chip, strlen(known[i].chip)) == 0 &&
            strncmp(label, known[i].label, strlen(known[i].label)) == 0)
            return known[i].scope;
    return SCOPE_OTHER;
}

static bool open_if_there(struct sysfs_file *file, const struct chip *chip, const char *kind,
                          long number, const char *what)
{
    struct error ignored = {0};
    char *name = mem_printf("%s%ld_%s", kind, number, what);
    bool there = sysfs_open(file, chip->folder, name, &ignored) == 0;
    free(name);
    return there;
}

/* Returns the label of a sensor, or the name of its file. Caller frees. */
static char *label_of(const struct chip *chip, const char *kind, long number)
{
    char *file = mem_printf("%s%ld_label", kind, number);
    char *label = sysfs_line(chip->folder, file);
    free(file);
    if (label != NULL && label[0] != '\0')
        return label;
    free(label);
    return mem_printf("%s%ld", kind, number);
}

static struct pmu_channel *add_sensor(struct chip *chip, const struct sensor *sensor,
                                      const char *kind, long number)
{
    struct hwmon *h = chip->hwmon;
    char *label = label_of(chip, kind, number), *name = mem_printf("%s/%s", chip->name, label);
    struct pmu_channel *channel = pmu_channel_add(chip->channels, name, sensor->file.path);
    channel->scope = scope_of(chip->name, label);
    channel->period = chip->period;
    mem_reserve(&h->sensors, &h->capacity, h->count + 1, sizeof *h->sensors);
    h->sensors[h->count++] = *sensor;
    free(name);
    free(label);
    return channel;
}

/* Adds sensor NUMBER of CHIP, using the best one of its files. */
static void look_at(struct chip *chip, long number)
{
    struct sensor sensor = {0};
    double averaged;
    char *interval = mem_printf("power%ld_average_interval", number);
    if (open_if_there(&sensor.file, chip, "energy", number, "input")) {
        sensor.counter = true;
        pmu_channel_counter(add_sensor(chip, &sensor, "energy", number), 1e-6, 0);
    } else if (open_if_there(&sensor.file, chip, "power", number, "input")) {
        add_sensor(chip, &sensor, "power", number);
    } else if (open_if_there(&sensor.file, chip, "power", number, "average")) {
        struct pmu_channel *channel = add_sensor(chip, &sensor, "power", number);
        if (sysfs_number(chip->folder, interval, &averaged) && averaged < 1e9)
            channel->period = (uint64_t)(averaged * 1e6);
    } else if (open_if_there(&sensor.volts, chip, "in", number, "input")) {
        sensor.product = open_if_there(&sensor.file, chip, "curr", number, "input");
        if (sensor.product)
            add_sensor(chip, &sensor, "in", number);
        else
            sysfs_close(&sensor.volts);
    }
    free(interval);
}

/* Returns the highest number of a sensor among the files of a chip. */
static long highest(const char *folder)
{
    static const char *const kinds[] = {"energy", "power", "curr"};
    long most = 0;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        struct sysfs_list list;
        sysfs_list(&list, folder, kinds[kind]);
        for (size_t i = 0; i < list.count; i++) {
            long number = strtol(list.names[i] + strlen(kinds[kind]), NULL, 10);
            if (number > most && number < MAX_SENSORS)
                most = number;
        }
        sysfs_list_free(&list);
    }
    return most;
}

/* Adds the sensors of the chip in ENTRY if it is WANTED: "CHIP", "hwmonN" or, for all chips, of
 * LENGTH 0. */
static void look_at_chip(struct hwmon *h, const char *root, const char *entry, const char *wanted,
                         size_t length, struct pmu_channels *channels)
{
    struct chip chip = {
        .folder = mem_printf("%s/%s", root, entry), .hwmon = h, .channels = channels};
    double interval;
    chip.name = sysfs_line(chip.folder, "name");
    if (chip.name == NULL)
        chip.name = mem_strdup(entry);
    bool named = strlen(chip.name) == length && strncmp(chip.name, wanted, length) == 0;
    bool numbered = strlen(entry) == length && strncmp(entry, wanted, length) == 0;
    if (sysfs_number(chip.folder, "update_interval", &interval) && interval < 1e9)
        chip.period = (uint64_t)(interval * 1e6);
    if (length == 0 || named || numbered)
        for (long number = 0, last = highest(chip.folder); number <= last; number++)
            look_at(&chip, number);
    free(chip.name);
    free(chip.folder);
}

/* The argument is CHIP or CHIP/SENSOR; the chip may also be hwmonN. */
static int choose(struct pmu_channels *channels, const char *argument, struct error *err)
{
    const char *sensor = argument != NULL ? strchr(argument, '/') : NULL;
    for (size_t i = 0; i < channels->count && sensor != NULL && channels->chosen == 0; i++)
        if (strcmp(strchr(channels->list[i].name, '/'), sensor) == 0)
            channels->chosen = i + 1;
    if (channels->count == 0 && argument != NULL)
        return error_set(err, NULL, NO_OFFSET,
                         "no chip '%.*s' measures power: see --list-pmus for those that do",
                         (int)strcspn(argument, "/"), argument);
    if (channels->count == 0)
        return error_set(err, NULL, NO_OFFSET, "no hwmon chip here measures power");
    if (sensor != NULL && channels->chosen == 0)
        return error_set(err, NULL, NO_OFFSET,
                         "hwmon has no '%s': see --list-pmus for what it can measure", argument);
    return 0;
}

static int open_hwmon(const struct pmu_request *request, struct pmu_channels *channels,
                      void **state, struct error *err)
{
    struct hwmon *h = mem_zalloc(1, sizeof *h);
    struct sysfs_list list;
    const char *wanted = request->argument != NULL ? request->argument : "";
    char *root = sysfs_path("/sys/class/hwmon");
    sysfs_list(&list, root, "hwmon");
    for (size_t i = 0; i < list.count; i++)
        look_at_chip(h, root, list.names[i], wanted, strcspn(wanted, "/"), channels);
    sysfs_list_free(&list);
    free(root);
    if (choose(channels, request->argument, err) != 0) {
        close_hwmon(h);
        return -1;
    }
    *state = h;
    return 0;
}

static int read_hwmon(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct hwmon *h = state;
    const struct sensor *sensor = &h->sensors[channel];
    double first, volts = 1; /* power files are in uW, as is the product of mA and mV */
    if (sensor->counter)
        return sysfs_count(&sensor->file, &value->count, err);
    int got = sysfs_gauge(&sensor->file, &first, err);
    if (got > 0 && sensor->product)
        got = sysfs_gauge(&sensor->volts, &volts, err);
    if (got > 0)
        value->gauge = first * volts * 1e-6;
    return got;
}

extern const struct pmu_source pmu_hwmon;
const struct pmu_source pmu_hwmon = {
    .name = "hwmon",
    .argument = "[CHIP[/SENSOR]]",
    .help = "power, energy, or current times voltage of chips",
    .open = open_hwmon,
    .read = read_hwmon,
    .close = close_hwmon,
};
