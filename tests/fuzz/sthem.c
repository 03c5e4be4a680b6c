/* CSV exports of sthem and Lynsyn. The first byte of the input is the options.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem.h"
#include "tests/fuzz/input.h"

static void touch_row(const struct sthem_reader *reader, const struct sthem_row *row)
{
    input_touch(row->watts, sthem_sensor_count(reader) * sizeof *row->watts);
    for (size_t i = 0; i < sthem_core_count(reader); i++) {
        if (row->places[i] == STHEM_IDLE)
            continue;
        struct sthem_place place = sthem_place(reader, row->places[i]);
        if (sthem_variant(reader) == STHEM_SYMBOLS)
            input_touch(place.function, strlen(place.function));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t numbers[] = {0, 1, 2, 3};
    struct error err = {0};
    struct sthem_row row;
    char path[64];
    if (size < 1)
        return 0;
    struct sthem_options options = {.sensors = numbers,
                                    .sensor_count = data[0] % 4,
                                    .cores = numbers,
                                    .core_count = data[0] / 4 % 4,
                                    .volts = (data[0] & 16) != 0 ? 12.0 : 0.0,
                                    .flat = (data[0] & 32) != 0,
                                    .from_zero = (data[0] & 64) != 0};
    int fd = input_file(data + 1, size - 1, path);
    struct stream *stream = stream_open_plain(path, &err);
    struct sthem_reader *reader = stream == NULL ? NULL : sthem_open(stream, &options, &err);
    while (reader != NULL && sthem_next(reader, &row, &err) > 0)
        touch_row(reader, &row);
    if (reader != NULL) {
        double least;
        input_touch(sthem_ignored(reader), strlen(sthem_ignored(reader)));
        for (size_t i = 0; i < sthem_sensor_count(reader); i++)
            sthem_negative(reader, i, &least);
        sthem_open_end(reader);
    }
    sthem_close(reader);
    stream_close(stream);
    close(fd);
    return 0;
}
