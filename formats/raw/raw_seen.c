/* Reads how threads were seen: the flags of thread samples.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "formats/pbin/block.h"
#include "formats/raw/raw_dialect.h"

void raw_seen_free(struct raw_seen *seen)
{
    buffer_free(&seen->bytes);
}

int raw_seen_open(struct raw_seen *s, struct cursor *in)
{
    uint64_t first = cursor_u64(in);
    size_t count = cursor_u32(in), size = cursor_left(in);
    if (in->bad || first != s->number)
        return -1;
    s->bytes.size = 0;
    buffer_bytes(&s->bytes, cursor_bytes(in, size), size);
    s->flags =
        (struct cursor){.data = s->bytes.data, .size = raw_seen_whole(s->bytes.data, size, count)};
    s->callers = (struct cursor){.data = s->bytes.data, .size = size, .at = count};
    return 0;
}

static int load(struct raw_seen *s, struct stream *stream, struct error *err)
{
    struct block block;
    uint64_t back = stream_offset(stream);
    if (s->at == 0 || stream_seek(stream, s->at, err) != 0)
        return -1;
    do
        if (raw_extension_next(stream, &block, err) <= 0)
            return error_set(err, stream_name(stream), s->at, "no flags for thread sample %" PRIu64,
                             s->number);
    while (strcmp(block.type, "seen") != 0);
    s->at = stream_offset(stream);
    if (raw_seen_open(s, &block.in) != 0)
        return error_set(err, stream_name(stream), block.offset,
                         "flags that do not continue at thread sample %" PRIu64, s->number);
    return stream_seek(stream, back, err);
}

/* Sets the flags of COUNT thread samples, beginning with number FROM of the batch. */
static void take(struct raw_seen *s, struct raw_batch *batch, size_t from, size_t count)
{
    uint8_t any = 0;
    memcpy(batch->flags + from, cursor_bytes(&s->flags, count), count);
    for (size_t i = from; i < from + count; i++)
        any |= batch->flags[i];
    if ((any & RAW_CALLER) == 0)
        return;
    batch->has_callers = true;
    for (size_t i = from; i < from + count; i++)
        batch->callers[i] = batch->flags[i] & RAW_CALLER ? cursor_u64(&s->callers) : 0;
}

int raw_seen_fill(struct raw_seen *s, struct stream *stream, struct raw_batch *batch,
                  struct error *err)
{
    mem_reserve(&batch->flags, &batch->flag_capacity, batch->thread_sample_count + 1, 1);
    mem_reserve(&batch->callers, &batch->caller_capacity, batch->thread_sample_count + 1,
                sizeof *batch->callers);
    batch->has_callers = false;
    for (size_t done = 0, part; done < batch->thread_sample_count; done += part) {
        if (s->number >= s->count) {
            memset(batch->flags + done, RAW_RAN | RAW_ASSUMED, batch->thread_sample_count - done);
            break;
        }
        if (cursor_left(&s->flags) == 0 && load(s, stream, err) != 0)
            return -1;
        part = batch->thread_sample_count - done;
        if (part > cursor_left(&s->flags))
            part = cursor_left(&s->flags);
        take(s, batch, done, part);
        s->number += part;
    }
    return 0;
}
