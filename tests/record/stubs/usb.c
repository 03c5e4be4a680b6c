/* Replaces libusb with a simulated Lynsyn board. The environment describes the board: LYNSYN_FILE is the packet
 * of versions (62 bytes), the calibration (1080 bytes) and seven channels (s16) one after the other, all made by the
 * test. LYNSYN_FAIL: "short" sends a byte less of each sample, "gone" fails them from the 200th on. The board's clock
 * is the machine's, at 48 MHz.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint8_t board[62 + 1080 + 14];
static uint8_t answer[1080 + 62];
static int size, at, samples, claimed;

int libusb_init(void **context)
{
    *context = board;
    return 0;
}

void libusb_exit(void *context)
{
    (void)context;
}

void *libusb_open_device_with_vid_pid(void *context, uint16_t vendor, uint16_t product)
{
    const char *path = getenv("LYNSYN_FILE");
    (void)context;
    if (vendor != 0x10c4 || product != 0x8c1e || path == NULL)
        return NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    size_t got = fread(board, 1, sizeof board, file);
    fclose(file);
    return got == sizeof board ? board : NULL;
}

void libusb_close(void *handle)
{
    (void)handle;
}

int libusb_set_auto_detach_kernel_driver(void *handle, int enable)
{
    (void)handle;
    return enable == 1 ? 0 : -2;
}

int libusb_claim_interface(void *handle, int interface)
{
    (void)handle;
    claimed = interface == 1;
    return claimed ? 0 : -5;
}

int libusb_release_interface(void *handle, int interface)
{
    (void)handle;
    (void)interface;
    claimed = 0;
    return 0;
}

/* The first interface is not the board's; its endpoints must not be used. */
int libusb_control_transfer(void *handle, uint8_t type, uint8_t request, uint16_t value,
                            uint16_t index, unsigned char *data, uint16_t room, unsigned timeout)
{
    static const unsigned char descriptor[] = {
        9, 2, 55, 0, 2, 1, 0,   0x80, 250, 9, 4, 0, 0,    1, 3,  0, 0, 0, 7, 5,    0x81, 3,  64, 0,
        1, 9, 4,  1, 0, 2, 255, 0,    0,   0, 7, 5, 0x82, 2, 64, 0, 0, 7, 5, 0x03, 2,    64, 0,  0};
    (void)handle;
    (void)timeout;
    if (type != 0x80 || request != 6 || value != 0x200 || index != 0 || room < sizeof descriptor)
        return -9;
    memcpy(data, descriptor, sizeof descriptor);
    return sizeof descriptor;
}

static void answer_sample(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t cycles = now.tv_sec * 48000000LL + now.tv_nsec * 48 / 1000;
    memset(answer, 0, 60);
    memcpy(answer, &cycles, 8); /* these tests run only on little-endian machines */
    memcpy(answer + 40, board + 62 + 1080, 14);
    size = 60;
    at = 0;
}

static int take(const unsigned char *data, int length)
{
    if (length == 1 && data[0] == 'i') {
        memcpy(answer, board, sizeof answer);
        size = (int)sizeof answer;
        at = 0;
        return 0;
    }
    if (length != 20 || data[0] != 7 || data[12] != 0x10)
        return -9;
    answer_sample();
    return 0;
}

int libusb_bulk_transfer(void *handle, unsigned char endpoint, unsigned char *data, int length,
                         int *done, unsigned timeout)
{
    const char *failure = getenv("LYNSYN_FAIL");
    (void)handle;
    (void)timeout;
    *done = 0;
    if (!claimed || (endpoint != 0x82 && endpoint != 0x03))
        return -5;
    if (endpoint == 0x03) {
        *done = length;
        return take(data, length);
    }
    if (size == 60 && failure != NULL && strcmp(failure, "gone") == 0 && ++samples >= 200)
        return -4;
    int part = size - at < length ? size - at : length;
    part -= size == 60 && failure != NULL && strcmp(failure, "short") == 0;
    memcpy(data, answer + at, (size_t)part);
    at += part;
    *done = part;
    return 0;
}

const char *libusb_error_name(int code)
{
    return code == -4 ? "LIBUSB_ERROR_NO_DEVICE" : "LIBUSB_ERROR_OTHER";
}
