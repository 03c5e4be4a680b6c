/* Plans the hooks in each ELF file that the program loads.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "record/funcmeter/changes.h"
#include "record/funcmeter/planner_internal.h"

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
        plan_functions(&c);
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

void planner_leave_code(struct planner *planner)
{
    planner->leave_code = true;
}

void planner_probe_rest(struct planner *planner, bool wanted)
{
    planner->probe_rest = wanted;
}

uint32_t planner_probed(const struct planner *planner)
{
    uint32_t count = 0;
    for (size_t i = 0; i < planner->function_count; i++)
        count += planner->functions[i].probed;
    return count;
}

void planner_add_file(struct planner *planner, const char *path, bool is_program)
{
    plan_refuse_resolvers(planner, module_of(planner, path, is_program));
}

void planner_answer(struct planner *planner, const struct meter_request *request,
                    const uint64_t *returned, struct buffer *reply)
{
    struct module *module = module_of(planner, request->path, request->is_program != 0);
    struct meter_plan plan = {.magic = METER_MAGIC};
    if (plan_resolvers(planner, module, request, &plan, reply))
        return;
    if (request->resolved != 0 && request->resolved == module->resolvers.count)
        plan_resolved(planner, module, request, returned);
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
