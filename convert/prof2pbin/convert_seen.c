/* Converts the samples of a raw profile with processes or with flags of thread samples.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/convert_seen.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/memory.h"

#define LABEL_JIT "[jit]"

enum { RECENT = 1 << 14 };

/* A location that was asked for not long ago. */
struct recent {
    uint64_t pc, caller;
    uint32_t token, location; /* token 0: free */
};

struct seen_conversion {
    const struct raw_profile *raw;
    struct cpu_weights *weights;
    struct address_spaces *spaces;
    struct jit_names *jits;
    struct pbin_writer *writer;
    struct locations *locations;
    struct tracker tracker;
    uint32_t *tokens; /* by place in the sample, of a steady batch */
    size_t token_capacity;
    struct recent recent[RECENT];
};

struct seen_conversion *seen_conversion_new(const struct raw_profile *raw,
                                            struct cpu_weights *weights,
                                            struct address_spaces *spaces,
                                            struct pbin_writer *writer, struct locations *locations)
{
    struct seen_conversion *c = mem_zalloc(1, sizeof *c);
    c->raw = raw;
    c->weights = weights;
    c->spaces = spaces;
    c->writer = writer;
    c->locations = locations;
    c->jits = jit_names_new(&raw->ext);
    tracker_init(&c->tracker, &raw->ext);
    return c;
}

void seen_conversion_delete(struct seen_conversion *c)
{
    if (c == NULL)
        return;
    jit_names_delete(c->jits);
    tracker_free(&c->tracker);
    free(c->tokens);
    free(c);
}

/* The location of PC in IMAGE, called from CALLER (a location, PBIN_NO_CALLER). */
static uint32_t place(struct seen_conversion *c, uint32_t image, uint64_t pc, uint32_t caller)
{
    struct location_place place = {.pc = pc, .map = LOCATION_FIND, .caller = caller};
    if (c->spaces != NULL) {
        uint32_t name = NO_JIT;
        place.map = UINT32_MAX;
        if (image != RAW_NO_IMAGE)
            place.map = address_spaces_find(c->spaces, image, pc);
        if (image != RAW_NO_IMAGE && address_spaces_is_anonymous(c->spaces, place.map))
            name = jit_names_find(c->jits, image, pc);
        if (name != NO_JIT) {
            place.binary = LABEL_JIT;
            place.name = jit_names_get(c->jits, name);
        }
    }
    return locations_place(c->locations, &place);
}

static uint32_t unsampled(struct seen_conversion *c)
{
    static const char label[] = LABEL_UNSAMPLED;
    const struct location_place place = {
        .map = UINT32_MAX, .caller = PBIN_NO_CALLER, .binary = label, .name = label};
    return locations_place(c->locations, &place);
}

/* A number for what T has mapped at TIME_NS. */
static inline uint32_t token_of(struct seen_conversion *c, struct tracked *t, uint64_t time_ns)
{
    if (c->spaces == NULL || t->image == RAW_NO_IMAGE)
        return UINT32_MAX;
    if (t->token == 0 || t->token_image != t->image || time_ns >= t->token_until) {
        t->token = address_spaces_at(c->spaces, t->image, time_ns, &t->token_until);
        t->token_image = t->image;
    }
    return t->token;
}

static inline struct recent *recent_of(struct seen_conversion *c, uint64_t pc, uint64_t caller,
                                       uint32_t token)
{
    return &c->recent[numbers_hash((pc ^ caller << 1) + token) & (RECENT - 1)];
}

/* The location of thread sample AT, in IMAGE when TOKEN is what that has mapped. */
static inline uint32_t locate(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                              uint32_t image, uint32_t token)
{
    uint64_t pc = s->thread_samples[at].pc,
             caller = 0; /* a caller at 0 is none: no code is there */
    if (s->callers != NULL && s->flags != NULL && (s->flags[at] & RAW_CALLER))
        caller = s->callers[at];
    struct recent *recent = recent_of(c, pc, caller, token);
    if (recent->pc == pc && recent->caller == caller && recent->token == token)
        return recent->location;
    uint32_t from = caller != 0 ? place(c, image, caller, PBIN_NO_CALLER) : PBIN_NO_CALLER;
    *recent = (struct recent){pc, caller, token, place(c, image, pc, from)};
    return recent->location;
}

/* A location of user code in place of SEEN, which was in the kernel. */
static uint32_t user_code(struct seen_conversion *c, const struct sighting *seen)
{
    struct kernel_share *kernel = c->weights->kernel;
    size_t count;
    const uint64_t *first = kernel_share_first(kernel, seen->thread, seen->image, &count);
    for (size_t i = 0; i < count; i++)
        kernel_share_seen(kernel, seen->thread, seen->image,
                          place(c, seen->image, first[i], PBIN_NO_CALLER));
    uint32_t instead = kernel_share_instead(kernel, seen->thread, seen->image);
    return instead != UINT32_MAX ? instead : place(c, seen->image, seen->pc, PBIN_NO_CALLER);
}

/* The same; some sightings in the kernel become sightings of user code, and the reverse. */
static uint32_t locate_truly(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                             const struct tracked *t, uint32_t token, uint64_t time_ns)
{
    struct kernel_share *kernel = c->weights->kernel;
    uint32_t location = locate(c, s, at, t->image, token);
    struct sighting seen;
    if (!kernel_share_sighting(&seen, t, s, at, time_ns))
        return location;
    bool moves = kernel_share_moves(kernel, &seen);
    if (moves)
        return seen.called ? user_code(c, &seen) : place(c, t->image, RAW_KERNEL_PC, location);
    if (!seen.called)
        kernel_share_seen(kernel, t->thread, t->image, location);
    return location;
}

static void define(struct seen_conversion *c, struct tracked *t)
{
    const struct raw_extension *ext = &c->raw->ext;
    if (t->task == NO_TASK && ext->task_count == 0) {
        t->number = locations_define_thread(c->locations, t->tid);
        return;
    }
    t->number =
        locations_define_task(c->locations, t->tid, t->pid, tracker_name(&c->tracker, t->task),
                              t->image == RAW_NO_IMAGE ? NULL : ext->images[t->image].path);
}

/* One record. Returns whether it became a thread sample. */
static inline bool put_thread_sample(struct seen_conversion *c, const struct raw_samples *s,
                                     size_t from, size_t seat, uint64_t time_ns,
                                     const struct pbin_room *room, size_t to)
{
    uint8_t flags = s->flags != NULL ? s->flags[from] : RAW_RAN;
    uint64_t used_ns, unsampled_ns = 0;
    struct tracked *t =
        tracker_follow(&c->tracker, &s->thread_samples[from], flags, time_ns, seat, &used_ns);
    uint64_t cpu_ns = used_ns;
    if (s->flags != NULL)
        cpu_ns = cpu_weights_take(c->weights, t->thread, flags, used_ns, &unsampled_ns);
    if (t->renewed)
        define(c, t);
    room->thread[to] = t->number;
    room->cpu_ns[to] = cpu_ns + unsampled_ns;
    if ((flags & RAW_TOTAL) && unsampled_ns == 0)
        return false;
    if (unsampled_ns > 0) {
        room->location[to] = unsampled(c);
        return true;
    }
    uint32_t token = token_of(c, t, time_ns);
    room->location[to] = c->weights->misplaced > 0 ? locate_truly(c, s, from, t, token, time_ns)
                                                   : locate(c, s, from, t->image, token);
    return true;
}

/* Can STEADY be put at once, with what its threads have mapped at TIME_NS until LAST_NS? Sets their tokens. */
static bool has_tokens(struct seen_conversion *c, const struct steady *steady, uint64_t time_ns,
                       uint64_t last_ns)
{
    mem_reserve(&c->tokens, &c->token_capacity, steady->each, sizeof *c->tokens);
    for (size_t seat = 0; seat < steady->each; seat++) {
        struct tracked *t = tracker_seat(&c->tracker, seat);
        if (cpu_weights_may_end(c->weights, t->thread, steady->count / steady->each))
            return false;
        c->tokens[seat] = token_of(c, t, time_ns);
        if (c->tokens[seat] != UINT32_MAX && last_ns >= t->token_until)
            return false;
    }
    return true;
}

/* The locations of STEADY, which starts at thread sample THREAD_SAMPLE of S. */
static void put_places(struct seen_conversion *c, const struct raw_samples *s, size_t thread_sample,
                       const struct steady *steady, uint64_t *location)
{
    const uint32_t *tokens = c->tokens;
    size_t each = steady->each, seat = 0;
    for (size_t k = 0; k < steady->count; k++, seat = seat + 1 < each ? seat + 1 : 0) {
        uint64_t pc = steady->thread_samples[k].pc;
        const struct recent *recent = recent_of(c, pc, 0, tokens[seat]);
        bool known = recent->pc == pc && recent->token == tokens[seat] && recent->caller == 0 &&
                     (steady->flags[k] & RAW_CALLER) == 0;
        location[k] = known ? recent->location
                            : locate(c, s, thread_sample + k,
                                     tracker_seat(&c->tracker, seat)->image, tokens[seat]);
    }
}

static void put_steady(struct seen_conversion *c, const struct raw_samples *s, size_t thread_sample,
                       const struct steady *steady, const struct pbin_room *room)
{
    size_t each = steady->each;
    for (size_t seat = 0; seat < each; seat++) {
        const struct tracked *t = tracker_seat(&c->tracker, seat);
        cpu_weights_take_steady(c->weights, t->thread, steady, seat, t->cpu_ns, room->cpu_ns);
        for (size_t k = seat; k < steady->count; k += each)
            room->thread[k] = t->number;
    }
    put_places(c, s, thread_sample, steady, room->location);
    tracker_pass(&c->tracker, steady);
}

size_t seen_conversion_put(struct seen_conversion *c, const struct raw_samples *s, size_t first,
                           size_t count, size_t thread_sample, const uint64_t *time_ns,
                           const struct pbin_room *room)
{
    size_t to = 0;
    struct steady steady;
    uint64_t last_ns = time_ns[count - 1];
    if (s->flags != NULL && c->weights->misplaced == 0 &&
        tracker_is_steady(&c->tracker, s, first, count, thread_sample, last_ns, &steady) &&
        has_tokens(c, &steady, time_ns[0], last_ns)) {
        put_steady(c, s, thread_sample, &steady, room);
        return steady.count;
    }
    for (size_t i = 0; i < count; i++) {
        size_t begin = to;
        for (size_t seat = 0; seat < s->threads[first + i]; seat++)
            to += put_thread_sample(c, s, thread_sample++, seat, time_ns[i], room, to);
        room->threads[i] = to - begin;
    }
    return to;
}
