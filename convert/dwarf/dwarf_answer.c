/* Checks the answers of a worker, and combines them into one.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "formats/pbin/pbin.h"

/* Limits for all answers of one worker, because a hostile file could produce names and frames
 * forever. */
enum { MAX_STRING_BYTES = 1 << 28, MAX_ALL_FRAMES = 1 << 24 };

struct text {
    const char *at;
    size_t length;
};

/* The answer of one part of the worker. */
struct source {
    struct cursor in;
    struct dwarf_texts *texts;
    struct text *fresh; /* the texts of this answer: those after the first KNOWN */
    size_t known;
    struct dwarf_frame frames[MAX_FRAMES]; /* of its last address, with our numbers */
    unsigned count;
    bool started; /* it has answered for an address */
};

struct joining {
    struct dwarf_limits *limits;
    struct strings *strings;
    struct dwarf_answer *answer;
};

void dwarf_answer_free(struct dwarf_answer *answer)
{
    free(answer->frames);
    free(answer->first);
    free(answer->count);
    *answer = (struct dwarf_answer){0};
}

void dwarf_answer_reserve(struct dwarf_answer *answer, size_t count)
{
    size_t capacity = answer->capacity;
    mem_reserve(&answer->first, &capacity, count, sizeof *answer->first);
    mem_reserve(&answer->count, &answer->capacity, count, sizeof *answer->count);
    answer->frame_count = 0;
}

/* Reads the new strings; they get numbers when a frame refers to them. */
static void take_strings(struct source *s, struct dwarf_limits *limits)
{
    struct dwarf_texts *texts = s->texts;
    uint32_t count = cursor_u32(&s->in);
    size_t capacity = 0;
    if (texts->count == 0) {
        mem_reserve(&texts->numbers, &texts->capacity, 1, sizeof *texts->numbers);
        texts->numbers[texts->count++] = 0;
    }
    s->known = texts->count;
    for (uint32_t i = 0; i < count && !s->in.bad; i++) {
        struct text text;
        text.at = cursor_string(&s->in, &text.length);
        limits->string_bytes += text.length + sizeof *texts->numbers;
        if (s->in.bad || memchr(text.at, '\0', text.length) != NULL ||
            limits->string_bytes > MAX_STRING_BYTES) {
            s->in.bad = true;
            return;
        }
        mem_reserve(&texts->numbers, &texts->capacity, texts->count + 1, sizeof *texts->numbers);
        mem_reserve(&s->fresh, &capacity, (size_t)i + 1, sizeof *s->fresh);
        texts->numbers[texts->count++] = INTERN_NONE;
        s->fresh[i] = text;
    }
}

/* Returns the number in STRINGS of string NUMBER of S. */
static uint32_t number_of(struct source *s, struct strings *strings, uint32_t number)
{
    struct dwarf_texts *texts = s->texts;
    if (number >= texts->count || (number < s->known && texts->numbers[number] == INTERN_NONE)) {
        s->in.bad = true;
        return 0;
    }
    if (texts->numbers[number] == INTERN_NONE) {
        const struct text *text = &s->fresh[number - s->known];
        texts->numbers[number] = strings_intern_bytes(strings, text->at, text->length);
    }
    return texts->numbers[number];
}

static struct dwarf_frame take_frame(struct source *s, const struct joining *j)
{
    struct dwarf_frame frame;
    frame.function = number_of(s, j->strings, cursor_u32(&s->in));
    frame.file = number_of(s, j->strings, cursor_u32(&s->in));
    frame.line = cursor_u32(&s->in);
    frame.checksum = number_of(s, j->strings, cursor_u32(&s->in));
    frame.discriminator = cursor_u32(&s->in);
    s->in.bad |= (frame.checksum != 0 && !pbin_is_md5(strings_get(j->strings, frame.checksum))) ||
                 ++j->limits->frames > MAX_ALL_FRAMES;
    return frame;
}

/* Reads the frames of an address from S. Returns false if S does not answer for it. */
static bool take_address(struct source *s, const struct joining *j)
{
    unsigned count = cursor_u8(&s->in);
    if (count == NOT_MINE || s->in.bad)
        return false;
    if (count == SAME_FRAMES && s->started)
        return true;
    s->started = true;
    s->in.bad |= count > MAX_FRAMES;
    s->count = s->in.bad ? 0 : count;
    for (unsigned f = 0; f < s->count && !s->in.bad; f++)
        s->frames[f] = take_frame(s, j);
    return true;
}

/* Appends the frames of S for address I. Successive addresses share equal frames, whichever part
 * answered. */
static void add_frames(const struct source *s, struct dwarf_answer *answer, size_t i)
{
    const size_t size = s->count * sizeof *s->frames;
    answer->count[i] = (uint8_t)s->count;
    answer->first[i] = (uint32_t)answer->frame_count;
    if (s->count == 0)
        return;
    if (i > 0 && answer->count[i - 1] == s->count &&
        memcmp(answer->frames + answer->first[i - 1], s->frames, size) == 0) {
        answer->first[i] = answer->first[i - 1];
        return;
    }
    mem_reserve(&answer->frames, &answer->frame_capacity, answer->frame_count + s->count,
                sizeof *answer->frames);
    memcpy(answer->frames + answer->frame_count, s->frames, size);
    answer->frame_count += s->count;
}

/* Joins the answers for COUNT addresses: exactly one of the sources must have one for each
 * address. */
static bool join(struct source *sources, size_t source_count, size_t count, struct joining *j)
{
    for (size_t i = 0; i < count; i++) {
        unsigned answers = 0;
        for (size_t k = 0; k < source_count; k++)
            if (take_address(&sources[k], j)) {
                add_frames(&sources[k], j->answer, i);
                answers++;
            }
        if (answers != 1)
            return false;
    }
    for (size_t k = 0; k < source_count; k++)
        if (sources[k].in.bad || cursor_left(&sources[k].in) > 0)
            return false;
    return true;
}

bool dwarf_answer_join(const struct dwarf_reply *replies, size_t reply_count, size_t count,
                       struct dwarf_limits *limits, struct strings *strings,
                       struct dwarf_answer *answer)
{
    struct joining j = {limits, strings, answer};
    struct source *sources = mem_zalloc(reply_count, sizeof *sources);
    dwarf_answer_reserve(answer, count);
    answer->damaged = 0;
    for (size_t k = 0; k < reply_count; k++) {
        sources[k].in = (struct cursor){.data = replies[k].data, .size = replies[k].size};
        sources[k].texts = replies[k].texts;
        answer->damaged += cursor_u32(&sources[k].in);
        take_strings(&sources[k], limits);
    }
    bool ok = join(sources, reply_count, count, &j);
    for (size_t k = 0; k < reply_count; k++)
        free(sources[k].fresh);
    free(sources);
    return ok;
}
