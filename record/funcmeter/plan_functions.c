/* Chooses the functions of an ELF file that are hooked.
 * SPDX-License-Identifier: MIT */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "record/funcmeter/planner_internal.h"

char *meter_readable_name(const char *name)
{
    char *text = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0
                     ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO)
                     : NULL;
    return text != NULL ? text : mem_strdup(name);
}

/* Returns NAME without the version that symbol tables may append. */
static char *plain_name(const char *name)
{
    return mem_strndup(name, strcspn(name, "@"));
}

/* Counts the patterns that match the function NAME. Returns whether one does. */
static bool is_chosen(const struct choice *c, const char *name)
{
    char *plain = plain_name(name), *readable = meter_readable_name(plain);
    bool chosen = false;
    for (size_t i = 0; i < c->planner->patterns->count; i++) {
        struct meter_pattern *pattern = &c->planner->patterns->items[i];
        if (!meter_pattern_has_file(pattern, c->path, c->alias) ||
            (!meter_pattern_has_name(pattern, plain) && !meter_pattern_has_name(pattern, readable)))
            continue;
        pattern->functions++;
        chosen = true;
    }
    free(plain);
    free(readable);
    return chosen;
}

void plan_refuse(const struct choice *c, const char *name, const char *why)
{
    struct planner *p = c->planner;
    char *plain = plain_name(name), *readable = meter_readable_name(plain);
    mem_reserve(&p->refusals, &p->refusal_capacity, p->refusal_count + 1, sizeof *p->refusals);
    p->refusals[p->refusal_count++] =
        (struct meter_refusal){mem_strdup(elf_base_name(c->path)), readable, mem_strdup(why)};
    report_verbose(p->reporter, "%s: %s: %s", elf_base_name(c->path), readable, why);
    free(plain);
}

/* Returns whether NAME is better for readers than THAN, another name of the same function: fewer
 * leading underscores, then shorter. */
static bool is_better(const char *name, const char *than)
{
    size_t a = strspn(name, "_"), b = strspn(than, "_");
    if (a != b)
        return a < b;
    return strlen(name) < strlen(than);
}

/* PROBED: the function gets a breakpoint, and its code is not changed. */
static uint32_t add_function(const struct choice *c, uint64_t address,
                             const struct candidate *candidate, bool probed)
{
    struct planner *p = c->planner;
    const char *name = candidate->name;
    char *plain = plain_name(name);
    mem_reserve(&p->functions, &p->function_capacity, p->function_count + 1, sizeof *p->functions);
    p->functions[p->function_count] = (struct meter_function){
        .library = mem_strdup(elf_base_name(c->path)),
        .path = mem_strdup(c->path),
        .name = plain,
        .readable = meter_readable_name(plain),
        .address = address,
        .size = candidate->size,
        .entries_only = candidate->entries_only,
        .probed = probed,
    };
    return (uint32_t)p->function_count++;
}

/* Returns the function that FROM and the following COUNT - 1 names denote. */
static struct candidate candidate_of(const struct choice *c, const struct elf_function *from,
                                     size_t count)
{
    struct candidate candidate = {.entries_only = special_has_v8_frame(from->name)};
    for (size_t i = 0; i < count; i++) {
        const struct special_function *found = special_find(from[i].name);
        candidate.special = found != NULL ? found : candidate.special;
        candidate.entries_only |= found != NULL;
        candidate.resolver |= from[i].resolver;
        candidate.size = from[i].size > candidate.size ? from[i].size : candidate.size;
        bool chosen = is_chosen(c, from[i].name);
        if (candidate.name == NULL || chosen > candidate.chosen ||
            (chosen == candidate.chosen && is_better(from[i].name, candidate.name)))
            candidate.name = from[i].name;
        candidate.chosen |= chosen;
    }
    return candidate;
}

/* Returns whether hooks have to know when a SPECIAL function of this file is called. The hook of
 * longjmp reads glibc's jmp_buf. */
static bool hook_needs(const struct choice *c, const struct special_function *special)
{
    if (special->kind == METER_JUMP &&
        strncmp(elf_base_name(c->path), "libc.so", strlen("libc.so")) != 0)
        return false;
    return special->kind != 0 && (c->planner->timing || special->always);
}

/* Returns whether a function is called in a special way, which a hook would disturb. */
static bool has_own_call(const struct choice *c, const char *name)
{
    const char *const *list = code_machine(c->module->code)->own_calls;
    name += strspn(name, "_");
    while (list != NULL && *list != NULL && strncmp(name, *list, strlen(*list)) != 0)
        list++;
    return list != NULL && *list != NULL;
}

static void insert_hook(const struct choice *c, struct hook hook, const struct candidate *candidate)
{
    struct module *m = c->module;
    if (candidate->chosen)
        hook.function = add_function(c, hook.address, candidate, c->planner->leave_code);
    mem_reserve(&m->hooks, &m->capacity, m->count + 1, sizeof hook);
    size_t at = module_hooks_below(m, hook.address);
    memmove(&m->hooks[at + 1], &m->hooks[at], (m->count++ - at) * sizeof hook);
    m->hooks[at] = hook;
}

/* Chooses a function that cannot be hooked, because of WHY, for a breakpoint. Returns false if this
 * is not wanted or not possible. */
static bool probe(const struct choice *c, const struct hook *hook,
                  const struct candidate *candidate, const char *why)
{
    struct candidate probed = *candidate;
    /* the kernel's list cannot contain paths with spaces */
    const bool has_space = strpbrk(c->path, " \t\n") != NULL;
    if (!c->planner->probe_rest || !candidate->chosen || has_space ||
        !module_probe(c->module, hook->address))
        return false;
    probed.entries_only = true;
    const uint32_t number = add_function(c, hook->address, &probed, true);
    report_verbose(c->planner->reporter, "%s: %s: %s, gets a breakpoint", elf_base_name(c->path),
                   c->planner->functions[number].readable, why);
    return true;
}

void plan_add_hook(struct choice *c, struct hook hook, const struct candidate *candidate,
                   uint64_t next, const char *why)
{
    struct module *m = c->module;
    if (why == NULL && c->planner->function_count == METER_MAX_FUNCTIONS)
        why = "more than 262143 functions";
    if (why == NULL && !c->planner->leave_code) {
        const size_t jump = code_machine(m->code)->jump;
        hook.kept = code_kept(m->code, hook.address);
        hook.moved = code_movable(m->code, hook.address, candidate->size, next, jump, false, &why);
        if (hook.moved > METER_MAX_CODE ||
            module_is_used(m, hook.address, hook.moved > jump ? hook.moved : jump)) {
            hook.moved = 0;
            why = why != NULL ? why : "has no room for a jump";
        }
        if (hook.moved == 0 && !c->last) {
            mem_reserve(&c->deferred, &c->deferred_capacity, c->deferred_count + 1,
                        sizeof *c->deferred);
            c->deferred[c->deferred_count++] = (struct deferred){hook, *candidate, next};
            return;
        }
        if (hook.moved == 0 && (module_use_gap(m, &hook, candidate->size, next) ||
                                module_turn_branches(m, &hook, candidate->size, next)))
            why = NULL;
        if (why != NULL && probe(c, &hook, candidate, why))
            return;
    }
    if (why != NULL)
        plan_refuse(c, candidate->name, why);
    else
        insert_hook(c, hook, candidate);
}

/* Finds the code of Go, which its linker puts between two symbols. */
static void find_go(struct choice *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->functions[i].name, "runtime.text") == 0)
            c->go_start = c->functions[i].address;
        else if (strcmp(c->functions[i].name, "runtime.etext") == 0)
            c->go_end = c->functions[i].address;
    }
}

static bool is_go(const struct choice *c, uint64_t address)
{
    return address >= c->go_start && address < c->go_end;
}

/* Returns why the function NAME at ADDRESS is not counted, regardless of its code; NULL: there is
 * no such reason. */
static const char *why_not_counted(const struct choice *c, const char *name, uint64_t address)
{
    const bool leave_code = c->planner->leave_code;
    if (strcmp(name, "_start") == 0 || special_is_fragment(name))
        return "is not called";
    if (!leave_code && special_is_copied(name))
        return "is copied by the program";
    if (has_own_call(c, name))
        return "is called with non-standard registers";
    if (!leave_code &&
        is_go(c, address)) /* Go moves stacks, and needs the true return addresses in them */
        return "is written in Go, whose stacks have no room for a hook";
    return leave_code ? code_why_no_probe(c->module->code, address) : NULL;
}

static void choose(struct choice *c, const struct elf_function *from, size_t count, uint64_t next)
{
    struct candidate candidate = candidate_of(c, from, count);
    candidate.entries_only |= is_go(c, from->address);
    bool needed = candidate.special != NULL && hook_needs(c, candidate.special);
    if (candidate.resolver) {
        resolvers_add(&c->module->resolvers, from->address, candidate.name, candidate.chosen);
        return;
    }
    if (!candidate.chosen && !needed)
        return;
    struct hook hook = {.address = from->address};
    if (needed)
        hook.kind = candidate.special->kind;
    else if (!candidate.entries_only && c->planner->timing)
        hook.kind = METER_TIMED;
    plan_add_hook(c, hook, &candidate, next, why_not_counted(c, from->name, from->address));
}

/* Returns whether a hook must be in this file. */
static bool is_needed(const struct choice *c)
{
    bool needed = false;
    for (size_t i = 0; i < c->planner->patterns->count; i++)
        if (meter_pattern_has_file(&c->planner->patterns->items[i], c->path, c->alias)) {
            c->planner->patterns->items[i].files++;
            needed = true;
        }
    for (size_t i = 0; !needed && i < c->count; i++) {
        const struct special_function *found = special_find(c->functions[i].name);
        needed = found != NULL && hook_needs(c, found);
    }
    return needed;
}

void plan_functions(struct choice *c)
{
    c->functions = elf_functions_read(c->file, c->debug, &c->count);
    if (is_needed(c)) {
        c->module->code = code_new(c->file, c->functions, c->count);
        find_go(c);
        for (size_t i = 0, end; i < c->count; i = end) {
            end = i + 1;
            while (end < c->count && c->functions[end].address == c->functions[i].address)
                end++;
            choose(c, &c->functions[i], end - i,
                   end < c->count ? c->functions[end].address : UINT64_MAX);
        }
    }
    c->last = true;
    for (size_t i = 0; i < c->deferred_count; i++) {
        const struct deferred *d = &c->deferred[i];
        plan_add_hook(c, d->hook, &d->candidate, d->next, NULL);
    }
    free(c->deferred);
    free(c->functions);
}
