/* Lynsyn boards, connected by USB: currents and powers that the board averages from one reading to
 * the next.
 *
 *   'i'                                          -> 62 bytes: versions; calibration
 *   {u8 7, u64 cores, u64 flags}                 -> {s64 time, u64 pc[4], s16 channel[7], u32 flags}
 *
 * Little endian, packed to 4 bytes. A 2.x board has 7 current sensors, a 3.x board has three
 * sensors of current and voltage. An average power times the interval, by the clock of the board,
 * is an energy: the sensors of 3.x boards become counters in nanojoules.
 *
 * libusb is opened at run time, so that the sampler needs it only for this board; the few functions
 * that are used are declared here (their binary interface has not changed since libusb 1.0).
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/library.h"
#include "base/memory.h"
#include "record/pmus/pmu.h"

enum {
    VENDOR = 0x10c4,
    PRODUCT = 0x8c1e,
    INTERFACE = 1,
    SENSORS = 7,
    POINTS = 4,
    TIMEOUT_MS = 1000,
    INIT_SIZE = 62,
    REQUEST_SIZE = 20,
    REPLY_SIZE = 60,
    AVERAGE = 0x10,
    GET_SAMPLE = 7,
    CLOCK_HZ = 48000000,
    PERIOD_NS = 1000000 /* each request gets a new average; an exchange takes about as long */
};

/* The position in the packet of the calibration of a quantity. */
struct table {
    size_t counts, offsets, gains, points;
};
static const struct table current_table = {0, 8, 232, 456}, voltage_table = {512, 520, 744, 968};
enum { RESISTORS = 1024, CALIBRATION_SIZE = 1080 };

struct usb {
    void *library;
    int (*init)(void **);
    void (*exit)(void *);
    void *(*open)(void *, uint16_t, uint16_t);
    void (*close)(void *);
    int (*detach)(void *, int);
    int (*claim)(void *, int);
    int (*release)(void *, int);
    int (*bulk)(void *, unsigned char, unsigned char *, int, int *, unsigned);
    int (*control)(void *, uint8_t, uint8_t, uint16_t, uint16_t, unsigned char *, uint16_t,
                   unsigned);
    const char *(*error_name)(int);
};

struct lynsyn {
    struct usb usb;
    void *context, *handle;
    bool claimed;
    unsigned char in, out; /* endpoints */
    uint8_t hardware;
    uint8_t calibration[CALIBRATION_SIZE];
    size_t sensors;
    uint8_t reply[REPLY_SIZE];
    int64_t time; /* of the last reply [1 / CLOCK_HZ s] */
    bool has_time;
    double energy[SENSORS]; /* so far [J]; may decrease slightly, because powers may be negative */
    uint64_t counted[SENSORS]; /* delivered part [nJ] */
};

/* ---- USB ---------------------------------------------------------------------------------------- */

static int load_usb(struct usb *usb, struct error *err)
{
    const struct library_function functions[] = {
        {"libusb_init", &usb->init},
        {"libusb_exit", &usb->exit},
        {"libusb_open_device_with_vid_pid", &usb->open},
        {"libusb_close", &usb->close},
        {"libusb_set_auto_detach_kernel_driver", &usb->detach},
        {"libusb_claim_interface", &usb->claim},
        {"libusb_release_interface", &usb->release},
        {"libusb_bulk_transfer", &usb->bulk},
        {"libusb_control_transfer", &usb->control},
        {"libusb_error_name", &usb->error_name},
        {0}};
    usb->library = library_load("libusb-1.0.so.0", functions);
    if (usb->library != NULL)
        return 0;
    return error_set(err, NULL, NO_OFFSET,
                     "the library libusb-1.0.so.0 cannot be used (Debian: libusb-1.0-0)");
}

static void close_lynsyn(void *state)
{
    struct lynsyn *l = state;
    if (l->claimed)
        l->usb.release(l->handle, INTERFACE);
    if (l->handle != NULL)
        l->usb.close(l->handle);
    if (l->context != NULL)
        l->usb.exit(l->context);
    if (l->usb.library != NULL)
        dlclose(l->usb.library);
    free(l);
}

/* Finds the bulk endpoints of the interface in the descriptors of the configuration: {u8 length, u8
 * type, ...} each. */
static int find_endpoints(struct lynsyn *l, struct error *err)
{
    enum { IN = 0x80, GET_DESCRIPTOR = 6, CONFIGURATION = 2, INTERFACE_TYPE = 4, ENDPOINT = 5 };
    unsigned char data[1024];
    int size = l->usb.control(l->handle, IN, GET_DESCRIPTOR, CONFIGURATION << 8, 0, data,
                              sizeof data, TIMEOUT_MS);
    bool ours = false;
    for (int at = 0; at + 2 <= size && data[at] >= 2 && at + data[at] <= size; at += data[at]) {
        if (data[at + 1] == INTERFACE_TYPE && data[at] >= 9)
            ours = data[at + 2] == INTERFACE && data[at + 3] == 0;
        if (data[at + 1] != ENDPOINT || data[at] < 7 || !ours || (data[at + 3] & 3) != 2)
            continue;
        if ((data[at + 2] & IN) != 0)
            l->in = data[at + 2];
        else
            l->out = data[at + 2];
    }
    return l->in != 0 && l->out != 0
               ? 0
               : error_set(err, NULL, NO_OFFSET,
                           "the Lynsyn board has no bulk endpoints on interface %d", INTERFACE);
}

static int transfer(struct lynsyn *l, unsigned char endpoint, uint8_t *data, int size,
                    struct error *err)
{
    int done = 0;
    int code = l->usb.bulk(l->handle, endpoint, data, size, &done, TIMEOUT_MS);
    if (code == 0 && done == size)
        return 0;
    if (code != 0)
        return error_set(err, NULL, NO_OFFSET, "the Lynsyn board does not answer: %s",
                         l->usb.error_name(code));
    return error_set(err, NULL, NO_OFFSET, "the Lynsyn board sent %d bytes, expected %d", done,
                     size);
}

/* ---- the board ---------------------------------------------------------------------------------- */

static int greet(struct lynsyn *l, struct error *err)
{
    uint8_t command = 'i', reply[INIT_SIZE];
    if (transfer(l, l->out, &command, 1, err) != 0 ||
        transfer(l, l->in, reply, INIT_SIZE, err) != 0)
        return -1;
    l->hardware = reply[0];
    if ((l->hardware < 0x20 || l->hardware > 0x22) && l->hardware != 0x30 && l->hardware != 0x31)
        return error_set(err, NULL, NO_OFFSET,
                         "Lynsyn hardware %x.%x: expected one of 2.0, 2.1, 2.2, 3.0, 3.1",
                         l->hardware >> 4, l->hardware & 15);
    if (reply[1] < 0x20 || reply[1] > 0x22)
        return error_set(err, NULL, NO_OFFSET,
                         "Lynsyn firmware %x.%x: expected one of 2.0, 2.1, 2.2", reply[1] >> 4,
                         reply[1] & 15);
    l->sensors = l->hardware < 0x30 ? SENSORS : 3;
    return transfer(l, l->in, l->calibration, CALIBRATION_SIZE, err);
}

/* Returns the volts at the converter for RAW of SENSOR according to TABLE: from the first point
 * above RAW, or the last point. */
static double calibrated(const struct lynsyn *l, const struct table *table, size_t sensor, int raw)
{
    const uint8_t *c = l->calibration;
    size_t count = c[table->counts + sensor], point = 0;
    if (count > POINTS)
        count = POINTS;
    while (point + 1 < count &&
           (int16_t)get_u16(c + table->points + (sensor * POINTS + point) * 2, false) <= raw)
        point++;
    size_t at = (sensor * POINTS + point) * sizeof(double);
    return (raw - get_f64(c + table->offsets + at, false)) * 2.5 / 32768 *
           get_f64(c + table->gains + at, false);
}

static int channel_value(const struct lynsyn *l, size_t channel)
{
    return (int16_t)get_u16(l->reply + 40 + 2 * channel, false);
}

static double current_of(const struct lynsyn *l, size_t sensor)
{
    size_t channel = l->sensors == SENSORS ? sensor : (2 - sensor) * 2;
    double gain = l->hardware == 0x30 ? 100 : 20;
    return calibrated(l, &current_table, sensor, channel_value(l, channel)) / gain /
           get_f64(l->calibration + RESISTORS + sensor * sizeof(double), false);
}

static double voltage_of(const struct lynsyn *l, size_t sensor)
{
    return calibrated(l, &voltage_table, sensor, channel_value(l, (2 - sensor) * 2 + 1)) *
           (82000 + 10000) / 10000;
}

/* Requests the averages since the last request, and adds up the energies. */
static int sample(struct lynsyn *l, struct error *err)
{
    uint8_t request[REQUEST_SIZE] = {[0] = GET_SAMPLE, [12] = AVERAGE};
    if (transfer(l, l->out, request, REQUEST_SIZE, err) != 0 ||
        transfer(l, l->in, l->reply, REPLY_SIZE, err) != 0)
        return -1;
    int64_t time = (int64_t)get_u64(l->reply, false);
    double seconds = l->has_time ? (double)(time - l->time) / CLOCK_HZ : 0;
    if (!(seconds >= 0))
        return error_set(err, NULL, NO_OFFSET, "the clock of the Lynsyn board went backwards");
    for (size_t i = 0; i < l->sensors && l->sensors < SENSORS; i++) {
        l->energy[i] += current_of(l, i) * voltage_of(l, i) * seconds;
        if (l->energy[i] * 1e9 > (double)l->counted[i])
            l->counted[i] = (uint64_t)(l->energy[i] * 1e9);
    }
    l->time = time;
    l->has_time = true;
    return 0;
}

/* ---- the source --------------------------------------------------------------------------------- */

static int connect_board(struct lynsyn *l, struct error *err)
{
    if (load_usb(&l->usb, err) != 0)
        return -1;
    if (l->usb.init(&l->context) != 0) {
        l->context = NULL;
        return error_set(err, NULL, NO_OFFSET, "USB cannot be used here");
    }
    l->handle = l->usb.open(l->context, VENDOR, PRODUCT);
    if (l->handle == NULL)
        return error_set(err, NULL, NO_OFFSET, "no accessible Lynsyn board (USB %04x:%04x)", VENDOR,
                         PRODUCT);
    l->usb.detach(l->handle, 1);
    int code = l->usb.claim(l->handle, INTERFACE);
    if (code != 0)
        return error_set(err, NULL, NO_OFFSET, "the Lynsyn board is in use: %s",
                         l->usb.error_name(code));
    l->claimed = true;
    return find_endpoints(l, err) == 0 && greet(l, err) == 0 && sample(l, err) == 0 ? 0 : -1;
}

static void add_sensors(const struct lynsyn *l, struct pmu_channels *channels)
{
    for (size_t i = 0; i < l->sensors; i++) {
        char name[] = {(char)('1' + i), '\0'};
        bool power = l->sensors < SENSORS;
        struct pmu_channel *channel = pmu_channel_add(channels, name,
                                                      power ? "current times voltage of a sensor"
                                                            : "current of a sensor; volts unknown");
        channel->period = PERIOD_NS;
        if (power) {
            pmu_channel_counter(channel, 1e-9, 0);
            continue;
        }
        pmu_channel_quantity(channel, PMU_CURRENT, "A");
    }
}

static int open_lynsyn(const struct pmu_request *request, struct pmu_channels *channels,
                       void **state, struct error *err)
{
    struct lynsyn *l = mem_zalloc(1, sizeof *l);
    if (connect_board(l, err) == 0) {
        add_sensors(l, channels);
        if (pmu_channels_choose(channels, "this Lynsyn board", request->argument, err) == 0) {
            *state = l;
            return 0;
        }
    }
    close_lynsyn(l);
    return -1;
}

static int read_lynsyn(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    struct lynsyn *l = state;
    if (channel == 0 && sample(l, err) != 0)
        return -1;
    value->count = l->counted[channel];
    value->gauge = l->sensors == SENSORS ? current_of(l, channel) : 0;
    return 1;
}

extern const struct pmu_source pmu_lynsyn;
const struct pmu_source pmu_lynsyn = {
    .name = "lynsyn",
    .argument = "[SENSOR]",
    .help = "a Lynsyn board on USB",
    .open = open_lynsyn,
    .read = read_lynsyn,
    .close = close_lynsyn,
};
