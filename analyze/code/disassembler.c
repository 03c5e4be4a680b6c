/* Instructions of a binary as text: the only code that uses capstone.
 * SPDX-License-Identifier: MIT */
#include "analyze/code/disassembler.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define LIBRARY "libcapstone.so.4"

/* capstone, loaded where it is used: its 6 MB take a millisecond, as long as the rest of a small tool's start. */
struct capstone {
    void *library;
    __typeof__(cs_option) *option;
    __typeof__(cs_open) *open;
    __typeof__(cs_close) *close;
    __typeof__(cs_malloc) *malloc;
    __typeof__(cs_free) *free;
    __typeof__(cs_disasm_iter) *disasm_iter;
    __typeof__(cs_insn_group) *insn_group;
};

struct disassembler {
    const struct machine_code *code;
    struct capstone cs;
    csh handle;
    size_t unit;
    bool thumb; /* the mode of HANDLE */
    cs_insn *last;
};

static const struct machine {
    unsigned machine;
    cs_arch arch;
    cs_mode mode;
    size_t unit; /* [bytes] that data counts as which is not an instruction */
} machines[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64, 1},     {EM_386, CS_ARCH_X86, CS_MODE_32, 1},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, 4}, {EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, 4},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64, 4},      {EM_S390, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN, 4},
    {EM_MIPS, CS_ARCH_MIPS, CS_MODE_MIPS64, 4},
};

static void *resize(void *old, size_t size)
{
    return mem_resize(old, size, 1);
}

/* capstone does not check what it allocates: without memory, the program ends here. */
static void use_own_memory(const struct capstone *cs)
{
    const cs_opt_mem memory = {mem_alloc, mem_zalloc, resize, free, vsnprintf};
    cs->option(0, CS_OPT_MEM, (size_t)(uintptr_t)&memory);
}

static bool load(struct capstone *cs)
{
    cs->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (cs->library == NULL)
        return false;
    const struct {
        void *function;
        const char *name;
    } functions[] = {{&cs->option, "cs_option"},
                     {&cs->open, "cs_open"},
                     {&cs->close, "cs_close"},
                     {&cs->malloc, "cs_malloc"},
                     {&cs->free, "cs_free"},
                     {&cs->disasm_iter, "cs_disasm_iter"},
                     {&cs->insn_group, "cs_insn_group"}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(cs->library, functions[i].name);
        memcpy(functions[i].function, &found, sizeof found);
        if (found == NULL) {
            dlclose(cs->library);
            return false;
        }
    }
    return true;
}

struct disassembler *disassembler_new(const struct machine_code *code, bool intel,
                                      struct reporter *reporter)
{
    const struct elf_file *file = machine_code_file(code);
    struct capstone cs;
    if (!load(&cs)) {
        report_warning(reporter, "%s: instructions need " LIBRARY ", which cannot be loaded",
                       file->path);
        return NULL;
    }
    use_own_memory(&cs);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        csh handle;
        cs_mode mode = machines[i].mode | (file->big_endian ? CS_MODE_BIG_ENDIAN : 0);
        if (machines[i].machine != file->machine ||
            cs.open(machines[i].arch, mode, &handle) != CS_ERR_OK)
            continue;
        if (machines[i].arch == CS_ARCH_X86)
            cs.option(handle, CS_OPT_SYNTAX, intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
        cs.option(handle, CS_OPT_DETAIL, CS_OPT_ON); /* before malloc */
        struct disassembler *d = mem_zalloc(1, sizeof *d);
        *d = (struct disassembler){.code = code,
                                   .cs = cs,
                                   .handle = handle,
                                   .unit = machines[i].unit,
                                   .last = cs.malloc(handle)};
        return d;
    }
    dlclose(cs.library);
    report_warning(reporter, "%s: no disassembler for ELF machine %u", file->path, file->machine);
    return NULL;
}

void disassembler_delete(struct disassembler *d)
{
    if (d == NULL)
        return;
    d->cs.free(d->last, 1);
    d->cs.close(&d->handle);
    dlclose(d->cs.library);
    free(d);
}

/* Chooses the instruction set of ARM. */
static void set_thumb(struct disassembler *d, bool thumb)
{
    const unsigned order =
        machine_code_file(d->code)->big_endian ? (unsigned)CS_MODE_BIG_ENDIAN : 0;
    const cs_mode set = thumb ? CS_MODE_THUMB : CS_MODE_ARM;
    if (thumb != d->thumb)
        d->cs.option(d->handle, CS_OPT_MODE, set | order);
    d->thumb = thumb;
}

size_t disassembler_decode(struct disassembler *d, uint64_t address, const uint8_t *bytes,
                           size_t size)
{
    uint64_t until;
    const enum elf_code_kind kind = machine_code_kind(d->code, address, &until);
    size = until - address < size ? until - address : size;
    const uint8_t *code = bytes;
    size_t left = size, unit = kind == ELF_CODE_THUMB ? 2 : d->unit;
    unit = unit < size ? unit : size;
    set_thumb(d, kind == ELF_CODE_THUMB);
    if (kind != ELF_CODE_DATA && d->cs.disasm_iter(d->handle, &code, &left, &address, d->last))
        return d->last->size;
    snprintf(d->last->mnemonic, sizeof d->last->mnemonic, ".byte");
    d->last->op_str[0] = '\0';
    for (size_t i = 0, at = 0; i < unit; i++)
        at += (size_t)sprintf(d->last->op_str + at, "%s0x%02x", i > 0 ? ", " : "", bytes[i]);
    return unit;
}

const char *disassembler_mnemonic(const struct disassembler *d)
{
    return d->last->mnemonic;
}

static bool is_data(const struct disassembler *d)
{
    return strcmp(d->last->mnemonic, ".byte") == 0;
}

bool disassembler_branches(const struct disassembler *d, uint64_t *target)
{
    static const uint8_t branches[] = {CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET, CS_GRP_INT,
                                       CS_GRP_IRET};
    *target = UINT64_MAX;
    if (is_data(d))
        return true;
    bool branch = false;
    for (size_t i = 0; i < sizeof branches; i++)
        branch |= d->cs.insn_group(d->handle, d->last, branches[i]);
    if (!branch || d->cs.insn_group(d->handle, d->last, CS_GRP_CALL))
        return branch;
    const char *comma = strrchr(d->last->op_str, ','); /* the last operand is the target */
    const char *operand = comma != NULL ? comma + 1 + strspn(comma + 1, " ") : d->last->op_str;
    char *end;
    operand += operand[0] == '#';
    if (strncmp(operand, "0x", 2) != 0)
        return true;
    uint64_t value = strtoull(operand, &end, 16);
    *target = *end == '\0' ? value : UINT64_MAX;
    return true;
}

/* The symbol at the TARGET of the instruction: an operand that is just "0x..." is a target. */
static const struct elf_symbol *find_target(const struct disassembler *d, uint64_t *target)
{
    const char *operand = d->last->op_str[0] == '#' ? d->last->op_str + 1 : d->last->op_str;
    char *end;
    if (strncmp(operand, "0x", 2) != 0 || is_data(d))
        return NULL;
    *target = strtoull(operand, &end, 16);
    return *end == '\0' ? machine_code_symbol(d->code, *target) : NULL;
}

char *disassembler_text(const struct disassembler *d, uint64_t begin)
{
    uint64_t target = 0;
    const struct elf_symbol *symbol = find_target(d, &target);
    if (d->last->op_str[0] == '\0')
        return mem_strdup(d->last->mnemonic);
    if (symbol == NULL)
        return mem_printf("%-7s %s", d->last->mnemonic, d->last->op_str);
    if (symbol->address == target)
        return mem_printf("%-7s %s <%s>", d->last->mnemonic, d->last->op_str, symbol->name);
    return mem_printf("%-7s %s <%s+0x%" PRIx64 ">", d->last->mnemonic, d->last->op_str,
                      symbol->address == begin ? "" : symbol->name, target - symbol->address);
}
