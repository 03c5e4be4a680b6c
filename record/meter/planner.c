/* Decides what is hooked in each ELF file that the program loads.
 * SPDX-License-Identifier: MIT */
#include "record/meter/planner.h"

#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "formats/elf/elf_functions.h"
#include "formats/elf/elf_search.h"
#include "record/meter/changes.h"
#include "record/meter/inlined.h"
#include "record/meter/module.h"

struct planner {
    struct meter_patterns *patterns;
    const char *command;
    bool timing;
    bool leave_code; /* it is not changed */
    struct reporter *reporter;
    struct module *modules;
    size_t module_count, module_capacity;
    struct meter_function *functions;
    size_t function_count, function_capacity;
    struct meter_refusal *refusals;
    size_t refusal_count, refusal_capacity;
};

/* Functions that hooks have to know, and those whose return address means something, which therefore stays as it is. */
static const struct {
    const char *name; /* without leading underscores */
    uint32_t kind;    /* 0: entries only */
    bool always;      /* also where only entries are counted */
} special[] = {
    {"Unwind_RaiseException", METER_UNWIND, false},
    {"Unwind_Resume", METER_UNWIND, false},
    {"Unwind_Resume_or_Rethrow", METER_UNWIND, false},
    {"Unwind_ForcedUnwind", METER_UNWIND | METER_FORCED, false},
    {"Unwind_Backtrace", METER_UNWIND | METER_BACKTRACE, false},
    {"cxa_begin_catch", METER_CATCH, false},
    {"longjmp", METER_JUMP, false},
    {"siglongjmp", METER_JUMP, false},
    {"longjmp_chk", METER_JUMP, false},
    {"libc_longjmp", METER_JUMP, false},
    {"libc_siglongjmp", METER_JUMP, false},
    {"dl_debug_state", METER_LOADED, true},
    {"setjmp", 0, false},
    {"sigsetjmp", 0, false},
    {"vfork", 0, false},
    {"libc_vfork", 0, false},
    {"clone", 0, false},
    {"clone3", 0, false},
    {"clone_internal", 0, false},
    {"getcontext", 0, false},
    {"setcontext", 0, false},
    {"swapcontext", 0, false},
    {"start_context", 0, false},
    {"makecontext", 0, false},
    {"morestack", 0, false},
    {"dlopen", 0, false},
    {"dlmopen", 0, false},
    {"dlsym", 0, false},
    {"dlvsym", 0, false},
    {"mcount", 0, false},
    {"fentry__", 0, false},
    {"dl_runtime_resolve", 0, false},
    {"dl_runtime_resolve_fxsave", 0, false},
    {"dl_runtime_resolve_xsave", 0, false},
    {"dl_runtime_resolve_xsavec", 0, false},
    {"dl_runtime_profile_sse", 0, false},
    {"dl_runtime_profile_avx", 0, false},
    {"dl_runtime_profile_avx512", 0, false},
};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Index in SPECIAL, or SPECIALS. */
static size_t find_special(const char *name)
{
    name += strspn(name, "_");
    size_t length = strcspn(name, "@");
    size_t i = 0;
    while (i < SPECIALS &&
           (strncmp(special[i].name, name, length) != 0 || special[i].name[length] != '\0'))
        i++;
    return i;
}

struct planner *planner_new(struct meter_patterns *patterns, const char *command, bool timing,
                            struct reporter *reporter)
{
    struct planner *planner = mem_zalloc(1, sizeof *planner);
    planner->patterns = patterns;
    planner->command = command;
    planner->timing = timing;
    planner->reporter = reporter;
    mem_reserve(&planner->functions, &planner->function_capacity, 1, sizeof *planner->functions);
    planner->functions[planner->function_count++] = (struct meter_function){0};
    return planner;
}

void planner_delete(struct planner *planner)
{
    for (size_t i = 0; i < planner->module_count; i++)
        module_free(&planner->modules[i]);
    for (size_t i = 0; i < planner->function_count; i++) {
        free(planner->functions[i].library);
        free(planner->functions[i].path);
        free(planner->functions[i].name);
        free(planner->functions[i].readable);
    }
    for (size_t i = 0; i < planner->refusal_count; i++) {
        free(planner->refusals[i].library);
        free(planner->refusals[i].name);
        free(planner->refusals[i].why);
    }
    free(planner->modules);
    free(planner->functions);
    free(planner->refusals);
    free(planner);
}

const struct meter_function *planner_functions(const struct planner *planner, uint32_t *count)
{
    *count = (uint32_t)planner->function_count;
    return planner->functions;
}

const char *planner_module(const struct planner *planner, uint32_t number)
{
    return number < planner->module_count ? planner->modules[number].path : NULL;
}

const struct meter_refusal *planner_refusals(const struct planner *planner, size_t *count)
{
    *count = planner->refusal_count;
    return planner->refusals;
}

/* ---- choosing functions ---- */

/* What is to be done with a function. */
struct wish {
    const char *name;
    bool chosen;    /* by a pattern: one of its names; NAME is the best of those, else of all */
    size_t special; /* or SPECIALS */
    bool resolver;
    bool entries_only; /* its return address is not to be changed */
    uint64_t size;
};

/* A hook that needs padding, of a function that is followed by another at NEXT. */
struct waiting {
    struct hook hook;
    struct wish wish;
    uint64_t next;
};

/* The ELF file that is being looked at. */
struct choice {
    struct planner *planner;
    struct module *module;
    const char *path;
    const char *alias; /* what the command is called, if this is its file */
    struct elf_file *file, *debug;
    struct elf_function *functions;
    size_t count;
    struct waiting *waiting;
    size_t waiting_count, waiting_capacity;
    bool last;                 /* nothing waits any more */
    uint64_t go_start, go_end; /* of the code of Go in it */
};

char *meter_readable_name(const char *name)
{
    char *text = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0
                     ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO)
                     : NULL;
    return text != NULL ? text : mem_strdup(name);
}

/* The name without the version that symbol tables may append. */
static char *plain_name(const char *name)
{
    return mem_strndup(name, strcspn(name, "@"));
}

/* Counts matches of the function NAME. */
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

static void refuse(const struct choice *c, const char *name, const char *why)
{
    struct planner *p = c->planner;
    mem_reserve(&p->refusals, &p->refusal_capacity, p->refusal_count + 1, sizeof *p->refusals);
    p->refusals[p->refusal_count++] = (struct meter_refusal){mem_strdup(elf_base_name(c->path)),
                                                             plain_name(name), mem_strdup(why)};
    report_verbose(p->reporter, "%s: %s: %s", elf_base_name(c->path), name, why);
}

/* Of the names of a function, that for people: few leading underscores, then short. */
static bool is_better(const char *name, const char *than)
{
    size_t a = strspn(name, "_"), b = strspn(than, "_");
    if (a != b)
        return a < b;
    return strlen(name) < strlen(than);
}

static uint32_t add_function(const struct choice *c, const struct elf_function *from,
                             const char *name, bool entries_only)
{
    struct planner *p = c->planner;
    char *plain = plain_name(name);
    mem_reserve(&p->functions, &p->function_capacity, p->function_count + 1, sizeof *p->functions);
    p->functions[p->function_count] = (struct meter_function){
        .library = mem_strdup(elf_base_name(c->path)),
        .path = mem_strdup(c->path),
        .name = plain,
        .readable = meter_readable_name(plain),
        .address = from->address,
        .size = from->size,
        .entries_only = entries_only,
    };
    return (uint32_t)p->function_count++;
}

/* What V8's code calls: it looks for return addresses on the stack to find its own frames. */
static bool is_called_by_v8(const char *name)
{
    return strncmp(name, "_ZN2v8", strlen("_ZN2v8")) == 0 &&
           (strstr(name, "Builtin_") != NULL || strstr(name, "Runtime_") != NULL);
}

static bool is_callback_of_v8(const char *name)
{
    return strstr(name, "v820FunctionCallbackInfo") != NULL ||
           strstr(name, "v820PropertyCallbackInfo") != NULL;
}

/* What is to be done with the function that FROM and the following COUNT - 1 names mean. */
static struct wish wish_of(const struct choice *c, const struct elf_function *from, size_t count)
{
    struct wish wish = {.special = SPECIALS,
                        .entries_only =
                            is_called_by_v8(from->name) || is_callback_of_v8(from->name)};
    for (size_t i = 0; i < count; i++) {
        size_t found = find_special(from[i].name);
        wish.special = found != SPECIALS ? found : wish.special;
        wish.entries_only |= found != SPECIALS;
        wish.resolver |= from[i].resolver;
        wish.size = from[i].size > wish.size ? from[i].size : wish.size;
        bool chosen = is_chosen(c, from[i].name);
        if (wish.name == NULL || chosen > wish.chosen ||
            (chosen == wish.chosen && is_better(from[i].name, wish.name)))
            wish.name = from[i].name;
        wish.chosen |= chosen;
    }
    return wish;
}

/* Do hooks have to know when special function NUMBER of this file is called? The hook of longjmp reads glibc's jmp_buf. */
static bool hook_needs(const struct choice *c, size_t number)
{
    if (special[number].kind == METER_JUMP &&
        strncmp(elf_base_name(c->path), "libc.so", strlen("libc.so")) != 0)
        return false;
    return special[number].kind != 0 && (c->planner->timing || special[number].always);
}

/* Compilers move code that is rarely executed out of a function, into a symbol of its own: "work.cold". It is entered by a
 * branch, with the frame of that function. */
static bool is_fragment(const char *name)
{
    static const char suffix[] = ".cold";
    for (const char *at = name; (at = strstr(at, suffix)) != NULL; at++)
        if (at[sizeof suffix - 1] == '\0' || at[sizeof suffix - 1] == '.')
            return true;
    return false;
}

/* Is it called in a way of its own, which a hook would disturb? */
static bool has_own_call(const struct choice *c, const char *name)
{
    const char *const *list = code_machine(c->module->code)->own_calls;
    name += strspn(name, "_");
    while (list != NULL && *list != NULL && strncmp(name, *list, strlen(*list)) != 0)
        list++;
    return list != NULL && *list != NULL;
}

static void insert_hook(const struct choice *c, struct hook hook, const struct wish *wish)
{
    struct module *m = c->module;
    if (wish->chosen)
        hook.function =
            add_function(c, &(struct elf_function){.address = hook.address, .size = wish->size},
                         wish->name, wish->entries_only);
    mem_reserve(&m->hooks, &m->capacity, m->count + 1, sizeof hook);
    size_t at = module_hooks_below(m, hook.address);
    memmove(&m->hooks[at + 1], &m->hooks[at], (m->count++ - at) * sizeof hook);
    m->hooks[at] = hook;
}

/* Adds HOOK, of a function that is followed by another at NEXT, or refuses it, because of WHY if that is not NULL. Those
 * that need padding have to wait for all others, which may use it, too. */
static void add_hook(struct choice *c, struct hook hook, const struct wish *wish, uint64_t next,
                     const char *why)
{
    struct module *m = c->module;
    if (why == NULL && c->planner->function_count == METER_FUNCTIONS)
        why = "more than 262143 functions";
    if (why == NULL && !c->planner->leave_code) {
        const size_t jump = code_machine(m->code)->jump;
        hook.kept = code_kept(m->code, hook.address);
        hook.moved = code_movable(m->code, hook.address, wish->size, next, jump, false, &why);
        if (hook.moved > METER_MAX_CODE ||
            module_is_used(m, hook.address, hook.moved > jump ? hook.moved : jump)) {
            hook.moved = 0;
            why = why != NULL ? why : "has no room for a jump";
        }
        if (hook.moved == 0 && !c->last) {
            mem_reserve(&c->waiting, &c->waiting_capacity, c->waiting_count + 1,
                        sizeof *c->waiting);
            c->waiting[c->waiting_count++] = (struct waiting){hook, *wish, next};
            return;
        }
        if (hook.moved == 0 && (module_use_gap(m, &hook, wish->size, next) ||
                                module_turn_branches(m, &hook, wish->size, next)))
            why = NULL;
    }
    if (why != NULL)
        refuse(c, wish->name, why);
    else
        insert_hook(c, hook, wish);
}

/* V8 copies its own functions to where its compiler writes code. */
static const char copied[] = "Builtins_";

/* The linker of Go puts its code between two symbols. */
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

/* Why the function NAME at ADDRESS is not counted, whatever its code allows; NULL: there is no such reason. */
static const char *why_not_counted(const struct choice *c, const char *name, uint64_t address)
{
    const bool leave_code = c->planner->leave_code;
    if (strcmp(name, "_start") == 0 || is_fragment(name))
        return "is not called";
    if (!leave_code && strncmp(name, copied, sizeof copied - 1) == 0)
        return "is copied by the program";
    if (has_own_call(c, name))
        return "is called with other registers than functions are";
    if (!leave_code &&
        is_go(c, address)) /* which also move: return addresses in them must be true */
        return "is written in Go, whose stacks have no room for a hook";
    if (leave_code && code_begins_loop(c->module->code, address))
        return "has a loop back to its first instruction"; /* would count as a call */
    return NULL;
}

static void choose(struct choice *c, const struct elf_function *from, size_t count, uint64_t next)
{
    struct wish wish = wish_of(c, from, count);
    wish.entries_only |= is_go(c, from->address);
    bool needed = wish.special != SPECIALS && hook_needs(c, wish.special);
    if (wish.resolver) {
        resolvers_add(&c->module->resolvers, from->address, wish.name, wish.chosen);
        return;
    }
    if (!wish.chosen && !needed)
        return;
    struct hook hook = {.address = from->address};
    if (needed)
        hook.kind = special[wish.special].kind;
    else if (!wish.entries_only && c->planner->timing)
        hook.kind = METER_TIMED;
    add_hook(c, hook, &wish, next, why_not_counted(c, from->name, from->address));
}

/* Does a hook have to be in this file? */
static bool is_needed(const struct choice *c)
{
    bool needed = false;
    for (size_t i = 0; i < c->planner->patterns->count; i++)
        if (meter_pattern_has_file(&c->planner->patterns->items[i], c->path, c->alias)) {
            c->planner->patterns->items[i].files++;
            needed = true;
        }
    for (size_t i = 0; !needed && i < c->count; i++) {
        size_t found = find_special(c->functions[i].name);
        needed = found != SPECIALS && hook_needs(c, found);
    }
    return needed;
}

static void choose_all(struct choice *c)
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
    for (size_t i = 0; i < c->waiting_count; i++) {
        const struct waiting *w = &c->waiting[i];
        add_hook(c, w->hook, &w->wish, w->next, NULL);
    }
    free(c->waiting);
    free(c->functions);
}

static void find_code(struct module *module, const struct elf_file *file)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (!s->executable || s->address + s->file_size < s->address)
            continue;
        if (module->high == 0 || s->address < module->low)
            module->low = s->address;
        if (s->address + s->file_size > module->high)
            module->high = s->address + s->file_size;
    }
}

static void read_module(struct planner *planner, struct module *module, bool is_program)
{
    struct error err = {0}, unused = {0};
    int errnum;
    const struct elf_search search = {0};
    struct choice c = {.planner = planner, .module = module, .path = module->path};
    c.alias = is_program && planner->module_count <= 1 ? planner->command : NULL;
    c.file = elf_file_open(module->path, &errnum, &err);
    if (c.file == NULL || machine_find(c.file->machine, 0) == NULL || !c.file->is_64) {
        if (c.file != NULL)
            error_set(&err, module->path, NO_OFFSET, "not for x86-64 or aarch64");
        report_warning(planner->reporter, "%s: %s: none of its functions is hooked", module->path,
                       err.text);
    } else {
        c.debug = elf_search_debug(&search, c.file, &unused);
        find_code(module, c.file);
        choose_all(&c);
    }
    elf_file_close(c.debug);
    elf_file_close(c.file);
}

static struct module *module_of(struct planner *planner, const char *path, bool is_program)
{
    struct stat status = {0};
    stat(path, &status);
    for (size_t i = 0; i < planner->module_count; i++) {
        struct module *module = &planner->modules[i];
        if (strcmp(module->path, path) == 0 && module->device == status.st_dev &&
            module->inode == status.st_ino)
            return module;
    }
    mem_reserve(&planner->modules, &planner->module_capacity, planner->module_count + 1,
                sizeof *planner->modules);
    struct module *module = &planner->modules[planner->module_count++];
    *module =
        (struct module){.path = mem_strdup(path), .device = status.st_dev, .inode = status.st_ino};
    read_module(planner, module, is_program);
    return module;
}

/* ---- functions without code of their own ---- */

/* The search for them in a file. */
struct search {
    struct choice choice;
    bool all;
    unsigned warnings;
};

/* Does a pattern mean the function NAME, which had no other functions before unless ALL are sought? */
static bool is_sought(const struct search *s, const char *name, const char *readable)
{
    const struct meter_patterns *patterns = s->choice.planner->patterns;
    for (size_t i = 0; i < patterns->count; i++) {
        const struct meter_pattern *p = &patterns->items[i];
        if ((s->all || p->functions == 0) &&
            meter_pattern_has_file(p, s->choice.path, s->choice.alias) &&
            (meter_pattern_has_name(p, name) || meter_pattern_has_name(p, readable)))
            return true;
    }
    return false;
}

static void refuse_inlined(void *opaque, const char *name, uint64_t places)
{
    enum { WARNINGS = 10 };
    struct search *s = opaque;
    struct reporter *reporter = s->choice.planner->reporter;
    char *readable = meter_readable_name(name);
    if (is_sought(s, name, readable)) {
        char *why = mem_printf("only inlined (%" PRIu64 " place%s), cannot be hooked", places,
                               places == 1 ? "" : "s");
        refuse(&s->choice, readable, why);
        if (!s->all && s->warnings++ < WARNINGS)
            report_warning(reporter, "%s: %s: %s", elf_base_name(s->choice.path), readable, why);
        free(why);
    }
    free(readable);
}

void planner_find_inlined(struct planner *planner, bool all)
{
    struct search s = {.choice = {.planner = planner}, .all = all};
    for (size_t i = 0; i < planner->module_count; i++) {
        bool needed = false;
        s.choice.path = planner->modules[i].path;
        s.choice.alias = i == 0 ? planner->command : NULL;
        for (size_t k = 0; k < planner->patterns->count; k++) {
            const struct meter_pattern *p = &planner->patterns->items[k];
            needed = needed || ((all || p->functions == 0) &&
                                meter_pattern_has_file(p, s.choice.path, s.choice.alias));
        }
        if (needed)
            inlined_read(s.choice.path, refuse_inlined, &s);
    }
}

/* ---- functions that resolvers return ---- */

/* Hooks the function at ADDRESS of the file, which is chosen under the name of its resolvers. */
static void add_resolved(struct choice *c, uint64_t address, const char *name)
{
    struct module *m = c->module;
    size_t i = module_hooks_below(m, address);
    if (i < m->count && m->hooks[i].address == address) {
        struct meter_function *function = &c->planner->functions[m->hooks[i].function];
        free(function->readable);
        function->readable = mem_strdup(name);
        return;
    }
    uint8_t byte;
    const struct wish wish = {.name = name, .chosen = true, .special = SPECIALS};
    const struct hook hook = {.address = address, .kind = c->planner->timing ? METER_TIMED : 0};
    add_hook(c, hook, &wish, code_next(m->code, address),
             code_read(m->code, address, &byte, 1) ? NULL : "is not in its file (ifunc)");
}

static void add_all_resolved(struct planner *planner, struct module *module,
                             const struct meter_request *request, const uint64_t *returned)
{
    struct choice c = {.planner = planner, .module = module, .path = module->path, .last = true};
    const struct resolvers *r = &module->resolvers;
    for (size_t i = 0; i < r->count; i++) {
        struct resolver *resolver = &r->items[i];
        uint64_t address = returned[i] - request->bias;
        if (!resolver->chosen || resolver->last == address || returned[i] == 0)
            continue;
        resolver->last = address;
        char *name = resolvers_name(r, returned, returned[i]);
        add_resolved(&c, address, name);
        free(name);
    }
}

/* A library that is loaded by a running program is not ready when its functions are hooked. */
static void refuse_late(struct planner *planner, struct module *module)
{
    const struct choice c = {.planner = planner, .module = module, .path = module->path};
    for (size_t i = 0; i < module->resolvers.count; i++) {
        struct resolver *resolver = &module->resolvers.items[i];
        if (resolver->chosen && resolver->last == 0)
            refuse(&c, resolver->name,
                   planner->leave_code
                       ? "chosen among several (ifunc) when the program starts"
                       : "chosen among several (ifunc) after the program has started");
        resolver->last = UINT64_MAX;
    }
}

/* Appends to REPLY the resolvers that the program has to call, with PLAN. Returns false if there are none. */
static bool add_resolvers(struct planner *planner, struct module *module,
                          const struct meter_request *request, struct meter_plan *plan,
                          struct buffer *reply)
{
    const struct resolvers *r = &module->resolvers;
    if (r->chosen == 0 || request->pool != 0 || request->resolved != 0)
        return false;
    if (!request->linked || r->count > METER_RESOLVERS) {
        refuse_late(planner, module);
        return false;
    }
    plan->resolvers = (uint32_t)r->count;
    buffer_bytes(reply, plan, sizeof *plan);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t address = r->items[i].address + request->bias;
        buffer_bytes(reply, &address, sizeof address);
    }
    return true;
}

void planner_leave_code(struct planner *planner)
{
    planner->leave_code = true;
}

void planner_add_file(struct planner *planner, const char *path, bool is_program)
{
    refuse_late(planner, module_of(planner, path, is_program));
}

void planner_answer(struct planner *planner, const struct meter_request *request,
                    const uint64_t *returned, struct buffer *reply)
{
    struct module *module = module_of(planner, request->path, request->is_program != 0);
    struct meter_plan plan = {.magic = METER_MAGIC};
    if (add_resolvers(planner, module, request, &plan, reply))
        return;
    if (request->resolved != 0 && request->resolved == module->resolvers.count)
        add_all_resolved(planner, module, request, returned);
    plan.thunks = (uint32_t)module->count;
    plan.patches = (uint32_t)changes_count(module);
    plan.module = (uint32_t)(module - planner->modules);
    plan.low = module->low + request->bias;
    plan.high = module->high + request->bias;
    if (module->count > 0) {
        plan.parts = code_parts(module->code);
        plan.reach = code_machine(module->code)->reach;
        plan.pool_size = changes_pool_size(module);
    }
    buffer_bytes(reply, &plan, sizeof plan);
    if (module->count > 0 && request->pool != 0)
        changes_add(module, request, reply);
}
