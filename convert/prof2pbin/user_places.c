/* Finds user code that replaces sightings in the kernel.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/user_places.h"

#include <stdlib.h>

#include "base/memory.h"

/* Locations where user code was last seen, and which of them is used next. */
struct nearby {
    uint32_t image; /* of a thread */
    uint32_t locations[SEEN_BEFORE];
    uint32_t count, next, turn;
};

/* How often a thread was seen: if OFTEN, its own places suffice. */
enum manner { SHORT, RARE, OFTEN };

enum { OF_NAME, OF_PROGRAM, SCOPES };

/* a thread waits rarely if at most one of so many records shows it waiting */
enum { RARELY = 8 };

struct thread_places {
    uint64_t records, sightings;
    bool known;           /* the following are set */
    uint32_t image, task; /* now */
    uint32_t names[SCOPES];
    struct nearby nearby;
};

static struct thread_places *thread_at(struct user_places *places, uint32_t number)
{
    mem_extend(&places->threads, &places->thread_count, &places->thread_capacity,
               (size_t)number + 1, sizeof *places->threads);
    return &places->threads[number];
}

/* Texts of the extension are interned: equal ones are one pointer. */
static uint64_t text_number(struct user_places *places, const char *text)
{
    return numbers_intern(&places->texts, (uint64_t)(uintptr_t)text);
}

/* Returns the index in named of threads of PROGRAM, begun in the same way, with NAME. */
static uint32_t name_number(struct user_places *places, uint64_t program, uint64_t name)
{
    uint32_t number = numbers_intern(&places->names, program << 32 | name);
    mem_extend(&places->named, &places->named_count, &places->named_capacity, (size_t)number + 1,
               sizeof *places->named);
    return number;
}

/* Returns the thread of OWNER, updated to its image and task. *IS_NEW: these differ from its
 * previous record. */
static struct thread_places *thread_of(struct user_places *places, const struct place_owner *owner,
                                       bool *is_new)
{
    const struct raw_extension *ext = places->ext;
    struct thread_places *t = thread_at(places, owner->thread);
    *is_new = !t->known || t->image != owner->image || t->task != owner->task;
    if (!*is_new)
        return t;
    bool has_image = owner->image < ext->image_count, has_task = owner->task < ext->task_count;
    uint64_t program =
        text_number(places, has_image ? ext->images[owner->image].path : NULL) * RAW_HOWS +
        (has_image ? ext->images[owner->image].how : RAW_FIRST);
    uint64_t name = text_number(places, has_task ? ext->tasks[owner->task].name : NULL);
    t->known = true;
    t->image = owner->image;
    t->task = owner->task;
    t->names[OF_NAME] = name_number(places, program, name);
    t->names[OF_PROGRAM] = name_number(places, program, UINT32_MAX);
    return t;
}

void user_places_count(struct user_places *places, const struct place_owner *owner, bool ran)
{
    bool is_new;
    struct thread_places *t = thread_of(places, owner, &is_new);
    t->records++;
    t->sightings += ran;
    places->named[t->names[OF_NAME]] += is_new;
}

static enum manner manner_of(const struct thread_places *t)
{
    return t->records <= MAX_RARE_SIGHTINGS     ? SHORT
           : t->sightings <= MAX_RARE_SIGHTINGS ? RARE
                                                : OFTEN;
}

bool user_places_is_busy(struct user_places *places, const struct place_owner *owner)
{
    bool is_new;
    const struct thread_places *t = thread_of(places, owner, &is_new);
    return manner_of(t) == OFTEN && t->records - t->sightings <= t->records / RARELY;
}

/* Returns the places of T in its present image. */
static struct nearby *own_places(struct thread_places *t)
{
    if (t->nearby.image != t->image)
        t->nearby = (struct nearby){.image = t->image};
    return &t->nearby;
}

/* Returns the places of threads similar to T. */
static struct nearby *nearby_of(struct user_places *places, const struct thread_places *t,
                                int scope)
{
    uint32_t number =
        numbers_intern(&places->kinds, (uint64_t)t->names[scope] * OFTEN + manner_of(t));
    mem_extend(&places->seen, &places->seen_count, &places->seen_capacity, (size_t)number + 1,
               sizeof *places->seen);
    return &places->seen[number];
}

static void put(struct nearby *nearby, uint32_t location)
{
    nearby->locations[nearby->next++ % SEEN_BEFORE] = location;
    nearby->count += nearby->count < SEEN_BEFORE;
}

void user_places_put(struct user_places *places, const struct place_owner *owner, uint32_t location)
{
    bool is_new;
    struct thread_places *t = thread_of(places, owner, &is_new);
    put(own_places(t), location);
    for (int scope = 0; scope < SCOPES && manner_of(t) != OFTEN; scope++)
        put(nearby_of(places, t, scope), location);
}

void user_places_note(struct user_places *places, const struct place_owner *owner,
                      enum own_kind kind, uint64_t pc, uint64_t time_ns)
{
    own_places_add(&places->own, owner->thread, owner->image, kind, pc, time_ns);
}

size_t user_places_own(struct user_places *places, const struct place_owner *owner,
                       uint64_t time_ns, struct own_place *own)
{
    bool is_new;
    struct thread_places *t = thread_of(places, owner, &is_new);
    if (own_places(t)->count > 0 || manner_of(t) == OFTEN)
        return 0;
    size_t all = own_places_get(&places->own, owner->thread, owner->image, OWN_RAN, own), count = 0;
    for (size_t i = 0; i < all; i++)
        if (own[i].time_ns > time_ns)
            own[count++] = own[i];
    return count > 0
               ? count
               : own_places_get(&places->own, owner->thread, owner->image, OWN_PREEMPTED, own);
}

uint32_t user_places_get(struct user_places *places, const struct place_owner *owner,
                         const uint32_t *later, size_t count)
{
    bool is_new;
    struct thread_places *t = thread_of(places, owner, &is_new);
    struct nearby *nearby = own_places(t);
    if (nearby->count + count == 0 && manner_of(t) != OFTEN)
        nearby = nearby_of(places, t, places->named[t->names[OF_NAME]] > 1 ? OF_NAME : OF_PROGRAM);
    size_t before = nearby->count;
    if (count > SEEN_NEARBY - before)
        count = SEEN_NEARBY - before;
    if (before + count == 0)
        return UINT32_MAX;
    size_t turn = nearby->turn++ % (before + count);
    return turn < before ? nearby->locations[turn] : later[turn - before];
}

void user_places_free(struct user_places *places)
{
    own_places_free(&places->own);
    free(places->threads);
    numbers_free(&places->texts);
    numbers_free(&places->names);
    numbers_free(&places->kinds);
    free(places->named);
    free(places->seen);
}
