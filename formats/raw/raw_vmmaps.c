/* VMMaps in raw profiles.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <string.h>

#include "base/bytes.h"

/* A label ends at its first NUL, and usually only NULs follow. The newest pperf leaves other bytes
 * there. *ODD is set for such bytes, or if the label has control characters. Both at once, or an
 * empty label before such bytes, are not a VMMap but samples misread as one. */
static bool is_label(const uint8_t *text, bool *odd)
{
    bool control = false, more = false;
    size_t length = 0;
    for (; length < RAW_LABEL_SIZE && text[length] != '\0'; length++)
        control |= text[length] < 0x20 || text[length] == 0x7f;
    for (size_t i = length; i < RAW_LABEL_SIZE; i++)
        more |= text[i] != '\0';
    *odd |= control || more;
    return !more || (length > 0 && !control);
}

static bool decode(const uint8_t *from, bool big, struct raw_vmmap *map, bool *odd)
{
    map->address = get_u64(from, big);
    map->size = get_u64(from + 8, big);
    memcpy(map->label, from + 16, RAW_LABEL_SIZE);
    map->label[RAW_LABEL_SIZE] = '\0';
    /* may end at exactly 2^64, but not wrap around */
    return is_label(from + 16, odd) &&
           (map->size == 0 || map->address + (map->size - 1) >= map->address);
}

int raw_vmmaps_read(struct stream *stream, uint64_t offset, size_t count, bool big,
                    struct raw_vmmap *maps, bool *odd, struct error *err)
{
    if (offset > stream_size(stream) || stream_seek(stream, offset, err) != 0)
        return offset > stream_size(stream) ? 2 : -1;
    for (size_t i = 0; i < count; i++) {
        bool ignored = false;
        struct raw_vmmap map;
        const uint8_t *data;
        int64_t have = stream_peek(stream, RAW_VMMAP_SIZE, &data, err);
        if (have < 0)
            return -1;
        if (have < RAW_VMMAP_SIZE)
            return 2;
        if (!decode(data, big, &map, odd != NULL ? odd : &ignored))
            return 0;
        if (maps != NULL)
            maps[i] = map;
        stream_advance(stream, RAW_VMMAP_SIZE);
    }
    return 1;
}
