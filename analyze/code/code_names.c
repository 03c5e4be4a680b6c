/* The instruction and the basic block at a program counter, as names.
 *
 *   main+0x10  cmpl        functions that have samples are decoded once, from their beginning;
 *   main+0x13  jle  .      each address where a block begins is marked
 *   main+0x15  ...  <- a block begins after a branch, and at the target of a branch
 * SPDX-License-Identifier: MIT */
#include "analyze/code/code_names.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/code_files.h"
#include "base/intern.h"
#include "base/memory.h"

enum {
    MAX_FUNCTION = 1 << 24, /* bytes of a function to decode */
    MAX_INSTRUCTION = 16
};

struct instruction {
    uint32_t at;   /* from the beginning of the function [bytes] */
    uint32_t text; /* its mnemonic, as a number of the texts */
};

struct function {
    struct instruction *instructions;
    size_t count, capacity;
    uint8_t *begins; /* [size]: a block begins at this byte */
    size_t size;     /* bytes that could be read */
};

struct code_names {
    struct code_files *files;
    struct strings *texts;
    struct strings *keys; /* file and address of functions, as bytes; number - 1 = index */
    struct function *functions;
    size_t count, capacity;
    pthread_mutex_t lock;
};

struct code_names *code_names_new(const struct elf_search *search, struct reporter *reporter)
{
    struct code_names *n = mem_zalloc(1, sizeof *n);
    n->files = code_files_new(search, false, reporter);
    n->texts = strings_new();
    n->keys = strings_new();
    pthread_mutex_init(&n->lock, NULL);
    return n;
}

void code_names_delete(struct code_names *n)
{
    if (n == NULL)
        return;
    for (size_t i = 0; i < n->count; i++) {
        free(n->functions[i].instructions);
        free(n->functions[i].begins);
    }
    free(n->functions);
    code_files_delete(n->files);
    strings_delete(n->texts);
    strings_delete(n->keys);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

static const char *keep(struct code_names *n, const char *text)
{
    return strings_get(n->texts, strings_intern(n->texts, text));
}

/* ---- functions ---- */

static void decode(struct code_names *n, const struct code_file *file, struct function *f,
                   uint64_t address, const uint8_t *bytes)
{
    for (size_t at = 0; at < f->size;) {
        uint64_t target;
        size_t size =
            disassembler_decode(file->disassembler, address + at, bytes + at, f->size - at);
        mem_reserve(&f->instructions, &f->capacity, f->count + 1, sizeof *f->instructions);
        f->instructions[f->count++] = (struct instruction){
            (uint32_t)at, strings_intern(n->texts, disassembler_mnemonic(file->disassembler))};
        at += size;
        if (!disassembler_branches(file->disassembler, &target))
            continue;
        if (at < f->size)
            f->begins[at] = 1;
        if (target - address < f->size)
            f->begins[target - address] = 1;
    }
}

static const struct function *find_function(struct code_names *n, const struct code_file *file,
                                            const struct elf_symbol *symbol)
{
    const uint64_t key[] = {(uintptr_t)file, symbol->address};
    uint32_t index = strings_intern_bytes(n->keys, (const char *)key, sizeof key) - 1;
    if (index < n->count)
        return &n->functions[index];
    mem_reserve(&n->functions, &n->capacity, n->count + 1, sizeof *n->functions);
    struct function *f = &n->functions[n->count++];
    *f = (struct function){0};
    uint64_t size = machine_code_size(file->code, symbol);
    size = size < MAX_FUNCTION ? size : MAX_FUNCTION;
    uint8_t *bytes = mem_alloc(size + 1);
    f->size = elf_file_read_code(machine_code_file(file->code), symbol->address, bytes, size);
    f->begins = mem_zalloc(f->size + 1, 1);
    f->begins[0] = 1;
    decode(n, file, f, symbol->address, bytes);
    jump_targets_mark(machine_code_jump_targets(file->code), symbol->address, f->size, f->begins);
    free(bytes);
    return f;
}

/* ---- names ---- */

/* The code at a program counter. */
struct place {
    const struct code_file *file;
    const struct elf_symbol *symbol; /* NULL if there is none */
    uint64_t address;
};

/* The instruction of F that starts AT bytes after its beginning. */
static size_t find_instruction(const struct function *f, uint64_t at)
{
    size_t low = 0, high = f->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(f->instructions[middle].at <= at ? &low : &high) = middle;
    }
    return low;
}

/* The SIZE bytes of the instruction at ADDRESS, as text. */
static const char *opcode_at(struct code_names *n, const struct place *p, uint64_t address,
                             uint64_t size)
{
    uint8_t bytes[MAX_INSTRUCTION];
    char text[2 * MAX_INSTRUCTION + 1] = "";
    size = elf_file_read_code(machine_code_file(p->file->code), address, bytes,
                              size < sizeof bytes ? size : sizeof bytes);
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return keep(n, text);
}

/* The name of the instruction of F that starts AT bytes after its beginning. */
static const char *instruction_name(struct code_names *n, const struct place *p,
                                    const struct function *f, uint64_t at, enum code_name wanted)
{
    size_t number = find_instruction(f, at);
    const struct instruction *i = &f->instructions[number];
    uint64_t end = number + 1 < f->count ? i[1].at : f->size;
    return wanted == CODE_OPCODE ? opcode_at(n, p, p->symbol->address + i->at, end - i->at)
                                 : strings_get(n->texts, i->text);
}

/* The name of a function: the demangled one if it exists. */
static const char *function_name(const struct pbin_definitions *all, const struct pbin_location *at,
                                 const struct elf_symbol *symbol)
{
    const struct pbin_frame *outer = &all->frames[at->first_frame + at->frame_count - 1];
    bool same = strcmp(strings_get(all->strings, outer->function), symbol->name) == 0;
    return same ? strings_get(all->strings, outer->demangled) : symbol->name;
}

static const char *block_name(struct code_names *n, const struct function *f, const char *function,
                              uint64_t at)
{
    while (!f->begins[at])
        at--;
    char *text = mem_printf("%s+0x%" PRIx64, function, at);
    const char *kept = keep(n, text);
    free(text);
    return kept;
}

static const char *lone_instruction(struct code_names *n, const struct place *p,
                                    enum code_name wanted)
{
    uint8_t bytes[MAX_INSTRUCTION];
    size_t size =
        elf_file_read_code(machine_code_file(p->file->code), p->address, bytes, sizeof bytes);
    if (size == 0)
        return LABEL_NO_CODE;
    size = disassembler_decode(p->file->disassembler, p->address, bytes, size);
    return wanted == CODE_OPCODE ? opcode_at(n, p, p->address, size)
                                 : keep(n, disassembler_mnemonic(p->file->disassembler));
}

/* Finds the code of the mapped location AT. Returns false if it cannot be read. */
static bool find_place(struct code_names *n, const struct pbin_definitions *all,
                       const struct pbin_location *at, struct place *p)
{
    const struct pbin_map *map = &all->maps[at->map];
    bool has_offset = map->offset != UINT64_MAX;
    const struct code_wanted wanted = {
        .sought = {strings_get(all->strings, map->label), strings_get(all->strings, map->path)},
        .build_id = strings_get(all->strings, map->build_id),
        .has_offset = has_offset,
        .place = at->pc - map->address + (has_offset ? map->offset : 0),
        .map_size = has_offset ? 0 : map->size,
    };
    p->file = code_files_get(n->files, &wanted);
    if (p->file->disassembler == NULL)
        return false;
    p->address = machine_code_address(p->file->code, wanted.place);
    p->symbol = machine_code_symbol(p->file->code, p->address);
    return true;
}

static const char *name_of(struct code_names *n, const struct pbin_definitions *all,
                           const struct pbin_location *at, enum code_name wanted)
{
    struct place p;
    if (at->map == PBIN_NO_MAP)
        return keep(n, strings_get(all->strings, at->binary));
    if (!find_place(n, all, at, &p))
        return LABEL_NO_CODE;
    if (p.symbol == NULL)
        return wanted == CODE_BLOCK ? "_unknown" : lone_instruction(n, &p, wanted);
    const struct function *f = find_function(n, p.file, p.symbol);
    uint64_t offset = p.address - p.symbol->address;
    if (offset >= f->size)
        return LABEL_NO_CODE;
    return wanted == CODE_BLOCK ? block_name(n, f, function_name(all, at, p.symbol), offset)
                                : instruction_name(n, &p, f, offset, wanted);
}

const char *code_names_get(struct code_names *n, const struct pbin_definitions *all,
                           const struct pbin_location *at, enum code_name wanted)
{
    pthread_mutex_lock(&n->lock);
    const char *name = name_of(n, all, at, wanted);
    pthread_mutex_unlock(&n->lock);
    return name;
}
