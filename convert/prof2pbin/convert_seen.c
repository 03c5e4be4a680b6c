/* Converts the samples of a raw profile with processes or with flags of thread samples.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/convert_seen.h"

#include <stdlib.h>

#include "analyze/attribute/labels.h"
#include "base/memory.h"

#define LABEL_JIT "[jit]"

enum { RECENT = 1 << 14 };
enum { FAR = 8 * SEEN_NEARBY }; /* how many later sightings in user code are considered */
#define NONE_AHEAD SIZE_MAX

/* A location that was requested recently. */
struct recent {
    uint64_t pc, caller;
    uint32_t token, location; /* token 0: free */
};

/* A thread sample of the current samples. */
struct next_sighting {
    uint64_t time_ns;
    size_t next; /* the next sighting of its thread in user code, NONE_AHEAD */
};

struct ahead {
    size_t base; /* number of the first thread sample */
    struct next_sighting *list;
    struct numbers tids;
    size_t *latest; /* by number in tids, from the end */
    size_t capacity, latest_capacity;
};

struct seen_conversion {
    const struct raw_profile *raw;
    struct cpu_weights *weights;
    struct address_spaces *spaces;
    struct jit_names *jits;
    struct pbin_writer *writer;
    struct locations *locations;
    struct tracker tracker;
    struct ahead ahead; /* if sightings move */
    uint32_t *tokens;   /* by place in the sample, of a steady batch */
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
    numbers_free(&c->ahead.tids);
    free(c->ahead.list);
    free(c->ahead.latest);
    free(c->tokens);
    free(c);
}

enum { NOW = 0 }; /* in place of a later time */

/* Returns the location of PC in IMAGE, by the mappings NOW or at TIME_NS, called from CALLER (a
 * location or PBIN_NO_CALLER). */
static uint32_t place(struct seen_conversion *c, uint32_t image, uint64_t pc, uint64_t time_ns,
                      uint32_t caller)
{
    struct location_place place = {.pc = pc, .map = LOCATION_FIND, .caller = caller};
    if (c->spaces != NULL)
        place.map = image == RAW_NO_IMAGE ? UINT32_MAX
                    : time_ns == NOW      ? address_spaces_find(c->spaces, image, pc)
                                     : address_spaces_find_later(c->spaces, image, pc, time_ns);
    if (c->spaces != NULL && image != RAW_NO_IMAGE &&
        address_spaces_is_anonymous(c->spaces, place.map)) {
        uint32_t name = jit_names_find(c->jits, image, pc);
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

/* Returns a number for the mappings of T at TIME_NS. */
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

/* Returns the location of thread sample AT, in IMAGE, whose mappings are TOKEN. */
static inline uint32_t locate(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                              uint32_t image, uint32_t token)
{
    uint64_t pc = s->thread_samples[at].pc,
             caller = 0; /* 0: no caller, since there is no code at 0 */
    if (s->callers != NULL && s->flags != NULL && (s->flags[at] & RAW_CALLER))
        caller = s->callers[at];
    struct recent *recent = recent_of(c, pc, caller, token);
    if (recent->pc == pc && recent->caller == caller && recent->token == token)
        return recent->location;
    uint32_t from = caller != 0 ? place(c, image, caller, NOW, PBIN_NO_CALLER) : PBIN_NO_CALLER;
    *recent = (struct recent){pc, caller, token, place(c, image, pc, NOW, from)};
    return recent->location;
}

/* Finds, for each thread sample of COUNT samples, beginning with number FIRST, the next thread
 * sample of its thread in user code. */
static void look_ahead(struct seen_conversion *c, const struct raw_samples *s, size_t first,
                       size_t count, size_t thread_sample, const uint64_t *time_ns)
{
    struct ahead *ahead = &c->ahead;
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        at += s->threads[first + i];
    ahead->base = thread_sample;
    mem_reserve(&ahead->list, &ahead->capacity, at, sizeof *ahead->list);
    numbers_free(&ahead->tids);
    for (size_t i = count; i-- > 0;)
        for (size_t seat = s->threads[first + i]; seat-- > 0;) {
            const size_t from = thread_sample + --at;
            uint32_t known = ahead->tids.count;
            uint32_t tid = numbers_intern(&ahead->tids, s->thread_samples[from].tid);
            uint8_t flags = s->flags != NULL ? s->flags[from] : RAW_RAN;
            mem_reserve(&ahead->latest, &ahead->latest_capacity, known + 1, sizeof(size_t));
            if (tid == known)
                ahead->latest[tid] = NONE_AHEAD;
            ahead->list[at] = (struct next_sighting){time_ns[i], ahead->latest[tid]};
            if ((flags & (RAW_RAN | RAW_TOTAL | RAW_CALLER)) == RAW_RAN)
                ahead->latest[tid] = at;
        }
}

/* Fills LATER with the next locations of T in user code after SEEN, which is thread sample AT.
 * Returns their number. */
static size_t find_later(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                         const struct sighting *seen, const struct tracked *t, uint32_t *later)
{
    const struct ahead *ahead = &c->ahead;
    size_t count = 0, next = ahead->list[at - ahead->base].next;
    bool compared = kernel_share_compares(c->weights->kernel, seen);
    for (int i = 0; i < FAR && next != NONE_AHEAD && count < SEEN_NEARBY;
         i++, next = ahead->list[next].next) {
        uint64_t time_ns = ahead->list[next].time_ns;
        if (time_ns >= t->until)
            break;
        if (compared && (s->flags[ahead->base + next] & RAW_SAME_CPU) == 0)
            continue;
        uint64_t pc = s->thread_samples[ahead->base + next].pc;
        later[count] = place(c, t->image, pc, time_ns, PBIN_NO_CALLER);
        kernel_share_place(c->weights->kernel, seen, pc, later[count++]);
    }
    return count;
}

/* Fills LOCATIONS with places of SEEN, of thread T, that are farther away. Returns their number. */
static size_t find_own(struct seen_conversion *c, const struct sighting *seen,
                       const struct tracked *t, uint32_t *locations)
{
    struct own_place own[OWN_PLACES];
    size_t count = kernel_share_own(c->weights->kernel, seen, own);
    for (size_t i = 0; i < count; i++)
        locations[i] = place(c, t->image, own[i].pc,
                             own[i].time_ns > seen->time_ns ? own[i].time_ns : NOW, PBIN_NO_CALLER);
    return count;
}

static bool some_move(const struct seen_conversion *c)
{
    return c->weights->misplaced > 0 || c->weights->switched;
}

/* As locate; some sightings in user code become sightings of the kernel, in profiles of the engine
 * perf. If the kernel was not sampled, they do not show which code called it. */
static uint32_t locate_in_either(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                                 const struct tracked *t, uint32_t token, uint64_t time_ns)
{
    uint32_t location = locate(c, s, at, t->image, token);
    struct sighting seen;
    struct cpu_weights *w = c->weights;
    if (!kernel_share_sighting(&seen, t, s, at, time_ns) || seen.called)
        return location;
    bool moves =
        w->user != NULL && w->misplaced > 0 && user_share_moves(w->user, t->thread, time_ns);
    if (!moves && !switch_share_moves(&w->switches, t->thread))
        return location;
    uint32_t caller = w->user != NULL ? PBIN_NO_CALLER : location;
    return place(c, t->image, RAW_KERNEL_PC, NOW, caller);
}

/* As locate; some sightings in the kernel become sightings of user code, and the reverse. */
static uint32_t locate_truly(struct seen_conversion *c, const struct raw_samples *s, size_t at,
                             const struct tracked *t, uint32_t token, uint64_t time_ns)
{
    if (c->weights->kernel == NULL)
        return locate_in_either(c, s, at, t, token, time_ns);
    struct kernel_share *kernel = c->weights->kernel;
    uint32_t location = locate(c, s, at, t->image, token);
    struct sighting seen;
    if (!kernel_share_sighting(&seen, t, s, at, time_ns))
        return location;
    bool moves = kernel_share_moves(kernel, &seen);
    if (moves && !seen.called)
        return place(c, t->image, RAW_KERNEL_PC, NOW, location);
    if (!seen.called)
        kernel_share_seen(kernel, &seen, location);
    if (!moves)
        return location;
    uint32_t others[SEEN_NEARBY];
    size_t count = find_later(c, s, at, &seen, t, others);
    if (count == 0 && !seen.faulted)
        count = find_own(c, &seen, t, others);
    uint32_t instead = kernel_share_instead(kernel, &seen, others, count);
    return instead != UINT32_MAX ? instead : place(c, t->image, seen.pc, NOW, PBIN_NO_CALLER);
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

/* Converts one record. Returns whether it became a thread sample. */
static inline bool put_thread_sample(struct seen_conversion *c, const struct raw_samples *s,
                                     size_t from, size_t seat, uint64_t time_ns,
                                     const struct pbin_room *room, size_t to)
{
    uint8_t flags = s->flags != NULL ? s->flags[from] : RAW_RAN;
    uint64_t used_ns;
    struct tracked *t =
        tracker_follow(&c->tracker, &s->thread_samples[from], flags, time_ns, seat, &used_ns);
    struct cpu_share share = {used_ns, used_ns, 0};
    if (s->flags != NULL)
        share = cpu_weights_take(c->weights, t->thread, flags, used_ns);
    if (t->renewed)
        define(c, t);
    room->thread[to] = t->number;
    room->cpu_ns[to] = share.cpu_ns + share.unsampled_ns;
    if (room->equal_ns != NULL)
        room->equal_ns[to] = share.equal_ns + share.unsampled_ns;
    if ((flags & RAW_TOTAL) && share.unsampled_ns == 0)
        return false;
    if (share.unsampled_ns > 0) {
        room->location[to] = unsampled(c);
        return true;
    }
    uint32_t token = token_of(c, t, time_ns);
    room->location[to] = some_move(c) ? locate_truly(c, s, from, t, token, time_ns)
                                      : locate(c, s, from, t->image, token);
    return true;
}

/* Returns whether STEADY can be put at once, because the mappings of its threads do not change from
 * TIME_NS to LAST_NS. Sets their tokens. */
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

/* Sets LOCATION to the locations of STEADY, which starts at thread sample THREAD_SAMPLE of S. */
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
        cpu_weights_take_steady(c->weights, t->thread, steady, seat, t->cpu_ns, room->cpu_ns,
                                room->equal_ns);
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
    if (s->flags != NULL && !some_move(c) &&
        tracker_is_steady(&c->tracker, s, first, count, thread_sample, last_ns, &steady) &&
        has_tokens(c, &steady, time_ns[0], last_ns)) {
        put_steady(c, s, thread_sample, &steady, room);
        return steady.count;
    }
    if (c->weights->misplaced > 0 && c->weights->kernel != NULL)
        look_ahead(c, s, first, count, thread_sample, time_ns);
    for (size_t i = 0; i < count; i++) {
        size_t begin = to;
        for (size_t seat = 0; seat < s->threads[first + i]; seat++)
            to += put_thread_sample(c, s, thread_sample++, seat, time_ns[i], room, to);
        room->threads[i] = to - begin;
    }
    return to;
}
