/* gmon.out of every dialect. The first byte of the input is the options.
 * SPDX-License-Identifier: MIT */
#include "formats/gmon/gmon.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    char path[64];
    if (size < 1)
        return 0;
    struct gmon_options options = {.dialect = (enum gmon_dialect)(data[0] % GMON_DIALECTS),
                                   .bits = (data[0] & 4) == 0   ? 0
                                           : (data[0] & 8) == 0 ? 32
                                                                : 64,
                                   .order = (char)((data[0] & 16) == 0   ? 0
                                                   : (data[0] & 32) == 0 ? 'l'
                                                                         : 'b'),
                                   .salvage = data[0] & 64};
    int fd = input_file(data + 1, size - 1, path);
    struct stream *stream = stream_open(path, &err);
    struct gmon *gmon = stream == NULL ? NULL : gmon_read(stream, &options, &err);
    for (size_t i = 0; gmon != NULL && i < gmon->histogram_count; i++)
        for (uint64_t bin = 0; bin < gmon->histograms[i].there; bin++)
            gmon_bin(gmon, &gmon->histograms[i], bin);
    if (gmon != NULL)
        input_touch(gmon->calls, gmon->call_count * sizeof *gmon->calls);
    gmon_delete(gmon);
    stream_close(stream);
    close(fd);
    return 0;
}
