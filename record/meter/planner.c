/* Decides what is hooked in each ELF file that the program loads.
 * SPDX-License-Identifier: MIT */
#include "record/meter/planner.h"

#include <elf.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "formats/elf/elf_functions.h"
#include "formats/elf/elf_search.h"
#include "record/meter/code.h"

enum { THUNK_SIZE = 64, POOL_START = 16, ENTRY_JUMP = 10 };

/* A hook of an ELF file. */
struct hook {
    uint64_t address; /* in the file */
    size_t moved;     /* bytes that are */
    uint32_t function, kind;
};

/* An ELF file that was loaded; the same for all processes. */
struct module {
    char *path;
    dev_t device;
    ino_t inode;
    struct code *code; /* NULL: nothing is hooked */
    struct hook *hooks;
    size_t count, capacity;
};

struct planner {
    struct meter_patterns *patterns;
    const char *command;
    bool timing;
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
    {"Unwind_Resume_or_Raise", METER_UNWIND, false},
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
    for (size_t i = 0; i < planner->module_count; i++) {
        free(planner->modules[i].path);
        code_delete(planner->modules[i].code);
        free(planner->modules[i].hooks);
    }
    for (size_t i = 0; i < planner->function_count; i++) {
        free(planner->functions[i].library);
        free(planner->functions[i].path);
        free(planner->functions[i].name);
        free(planner->functions[i].readable);
    }
    for (size_t i = 0; i < planner->refusal_count; i++) {
        free(planner->refusals[i].library);
        free(planner->refusals[i].name);
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

const struct meter_refusal *planner_refusals(const struct planner *planner, size_t *count)
{
    *count = planner->refusal_count;
    return planner->refusals;
}

/* ---- choosing functions ---- */

/* The ELF file that is being looked at. */
struct choice {
    struct planner *planner;
    struct module *module;
    const char *path;
    const char *alias; /* what the command is called, if this is its file */
    struct elf_file *file, *debug;
    struct elf_function *functions;
    size_t count;
};

static char *readable_name(const char *name)
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
    char *plain = plain_name(name), *readable = readable_name(plain);
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
    p->refusals[p->refusal_count++] =
        (struct meter_refusal){mem_strdup(elf_base_name(c->path)), plain_name(name), why};
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
        .readable = readable_name(plain),
        .address = from->address,
        .size = from->size,
        .entries_only = entries_only,
    };
    return (uint32_t)p->function_count++;
}

/* What is to be done with the function that FROM and the following COUNT - 1 names mean. */
struct wish {
    const char *name; /* chosen; NULL: no */
    size_t special;   /* or SPECIALS */
    bool resolver;
    uint64_t size;
};

static struct wish wish_of(const struct choice *c, const struct elf_function *from, size_t count)
{
    struct wish wish = {NULL, SPECIALS, false, 0};
    for (size_t i = 0; i < count; i++) {
        size_t found = find_special(from[i].name);
        wish.special = found != SPECIALS ? found : wish.special;
        wish.resolver |= from[i].resolver;
        wish.size = from[i].size > wish.size ? from[i].size : wish.size;
        if (is_chosen(c, from[i].name) && (wish.name == NULL || is_better(from[i].name, wish.name)))
            wish.name = from[i].name;
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

static void choose(const struct choice *c, const struct elf_function *from, size_t count,
                   uint64_t next)
{
    struct planner *p = c->planner;
    struct wish wish = wish_of(c, from, count);
    bool is_special = wish.special != SPECIALS;
    bool needed = is_special && hook_needs(c, wish.special);
    const char *why = NULL;
    if (wish.name == NULL && !needed)
        return;
    if (wish.resolver)
        why = "chosen among several when the program starts (ifunc)";
    else if (strcmp(from->name, "_start") == 0 || is_fragment(from->name))
        why = "is not called";
    else if (p->function_count == METER_FUNCTIONS)
        why = "more than 65535 functions";
    size_t moved = why == NULL ? code_movable(c->module->code, from->address, wish.size, next,
                                              METER_PATCH, &why)
                               : 0;
    if (moved == 0 || moved > METER_LONGEST) {
        refuse(c, wish.name != NULL ? wish.name : from->name, why);
        return;
    }
    uint32_t kind = needed ? special[wish.special].kind : 0;
    if (!is_special && p->timing)
        kind = METER_TIMED;
    struct hook hook = {.address = from->address, .moved = moved, .kind = kind};
    if (wish.name != NULL)
        hook.function =
            add_function(c, &(struct elf_function){.address = from->address, .size = wish.size},
                         wish.name, is_special);
    mem_reserve(&c->module->hooks, &c->module->capacity, c->module->count + 1, sizeof hook);
    c->module->hooks[c->module->count++] = hook;
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
        for (size_t i = 0, end; i < c->count; i = end) {
            end = i + 1;
            while (end < c->count && c->functions[end].address == c->functions[i].address)
                end++;
            choose(c, &c->functions[i], end - i,
                   end < c->count ? c->functions[end].address : UINT64_MAX);
        }
    }
    free(c->functions);
}

static void read_module(struct planner *planner, struct module *module, bool is_program)
{
    struct error err = {0}, unused = {0};
    int errnum;
    const struct elf_search search = {0};
    struct choice c = {.planner = planner, .module = module, .path = module->path};
    c.alias = is_program && planner->module_count <= 1 ? planner->command : NULL;
    c.file = elf_file_open(module->path, &errnum, &err);
    if (c.file == NULL || c.file->machine != EM_X86_64 || !c.file->is_64) {
        if (c.file != NULL)
            error_set(&err, module->path, NO_OFFSET, "not for x86-64");
        report_warning(planner->reporter, "%s: %s: none of its functions is hooked", module->path,
                       err.text);
    } else {
        c.debug = elf_search_debug(&search, c.file, &unused);
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

/* ---- changing code ---- */

/* Fills in the thunk of HOOK, at the address PLACE: number, jump to the entry, moved code. Returns false where it cannot. */
static bool make_thunk(const struct module *module, const struct hook *hook,
                       const struct meter_request *request, uint64_t place, uint32_t number,
                       uint8_t thunk[THUNK_SIZE])
{
    uint32_t back = (uint32_t)(request->pool - (place + ENTRY_JUMP));
    const uint8_t code[ENTRY_JUMP] = {0x68,
                                      (uint8_t)number,
                                      (uint8_t)(number >> 8),
                                      (uint8_t)(number >> 16),
                                      (uint8_t)(number >> 24),
                                      0xe9,
                                      (uint8_t)back,
                                      (uint8_t)(back >> 8),
                                      (uint8_t)(back >> 16),
                                      (uint8_t)(back >> 24)};
    memcpy(thunk, code, sizeof code);
    return code_move(module->code, hook->address, hook->moved, request->bias, place + ENTRY_JUMP,
                     thunk + ENTRY_JUMP) != 0;
}

/* Where a thunk cannot be made, the patch changes nothing. */
static struct meter_patch make_patch(const struct module *module, const struct hook *hook,
                                     const struct meter_request *request, uint64_t place, bool made)
{
    struct meter_patch patch = {.address = hook->address + request->bias,
                                .length = (uint8_t)hook->moved};
    if (hook->moved < METER_PATCH)
        patch.length = METER_PATCH;
    code_read(module->code, hook->address, patch.old, patch.length);
    memcpy(patch.new, patch.old, patch.length);
    uint64_t distance = place - (patch.address + METER_PATCH);
    if (made && (int64_t)distance == (int32_t)distance) {
        patch.new[0] = 0xe9;
        for (int i = 0; i < 4; i++)
            patch.new[1 + i] = (uint8_t)(distance >> (8 * i));
    }
    return patch;
}

static void add_changes(const struct module *module, const struct meter_request *request,
                        struct buffer *reply)
{
    size_t size = POOL_START + module->count * THUNK_SIZE;
    uint8_t *pool = mem_alloc(size);
    struct meter_thunk *thunks = mem_zalloc(module->count, sizeof *thunks);
    memset(pool, 0xcc, size);
    const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(pool, jump, sizeof jump);
    memcpy(pool + sizeof jump, &request->enter, sizeof request->enter);
    for (size_t i = 0; i < module->count; i++) {
        const struct hook *hook = &module->hooks[i];
        uint64_t at = POOL_START + i * THUNK_SIZE;
        bool made = make_thunk(module, hook, request, request->pool + at,
                               request->first_thunk + (uint32_t)i, pool + at);
        struct meter_patch patch = make_patch(module, hook, request, request->pool + at, made);
        buffer_bytes(reply, &patch, sizeof patch);
        thunks[i] =
            (struct meter_thunk){request->pool + at + ENTRY_JUMP, hook->function, hook->kind};
    }
    buffer_bytes(reply, thunks, module->count * sizeof *thunks);
    buffer_bytes(reply, pool, size);
    free(pool);
    free(thunks);
}

void planner_answer(struct planner *planner, const struct meter_request *request,
                    struct buffer *reply)
{
    const struct module *module = module_of(planner, request->path, request->is_program != 0);
    struct meter_plan plan = {.magic = METER_MAGIC, .patches = (uint32_t)module->count};
    if (module->count > 0) {
        plan.parts = code_parts(module->code);
        plan.low = code_low(module->code) + request->bias;
        plan.high = code_high(module->code) + request->bias;
        plan.pool_size = POOL_START + module->count * THUNK_SIZE;
    }
    buffer_bytes(reply, &plan, sizeof plan);
    if (module->count > 0 && request->pool != 0)
        add_changes(module, request, reply);
}
