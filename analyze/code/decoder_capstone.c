/* Instructions of machines other than x86. This is the only code that uses capstone.
 * SPDX-License-Identifier: MIT */
#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/decoder.h"
#include "base/library.h"
#include "base/memory.h"

#define LIBRARY "libcapstone.so.4"

/* capstone is loaded only when it is needed: its 6 MB take a millisecond, as long as the rest of
 * the start of a small tool. */
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

struct decoder_capstone {
    struct decoder base;
    struct capstone cs;
    csh handle;
    cs_mode order; /* order of bytes */
    bool thumb;    /* mode of HANDLE */
    cs_insn *last;
};

static const struct machine {
    unsigned machine;
    cs_arch arch;
    cs_mode mode;
    size_t unit;
} machines[] = {
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, 4}, {EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, 4},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64, 4},      {EM_S390, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN, 4},
    {EM_MIPS, CS_ARCH_MIPS, CS_MODE_MIPS64, 4},
};

static void *resize(void *old, size_t size)
{
    return mem_resize(old, size, 1);
}

/* capstone does not check its allocations, so the program ends here if there is no memory. */
static void use_own_memory(const struct capstone *cs)
{
    const cs_opt_mem memory = {mem_alloc, mem_zalloc, resize, free, vsnprintf};
    cs->option(0, CS_OPT_MEM, (size_t)(uintptr_t)&memory);
}

static bool load(struct capstone *cs)
{
    const struct library_function functions[] = {{"cs_option", &cs->option},
                                                 {"cs_open", &cs->open},
                                                 {"cs_close", &cs->close},
                                                 {"cs_malloc", &cs->malloc},
                                                 {"cs_free", &cs->free},
                                                 {"cs_disasm_iter", &cs->disasm_iter},
                                                 {"cs_insn_group", &cs->insn_group},
                                                 {0}};
    cs->library = library_load(LIBRARY, functions);
    return cs->library != NULL;
}

/* Chooses the instruction set of ARM. */
static void set_thumb(struct decoder_capstone *d, bool thumb)
{
    if (thumb != d->thumb)
        d->cs.option(d->handle, CS_OPT_MODE,
                     (thumb ? CS_MODE_THUMB : CS_MODE_ARM) | (size_t)(unsigned)d->order);
    d->thumb = thumb;
}

static enum branch branch_of(const struct decoder_capstone *d)
{
    static const struct {
        uint8_t group;
        enum branch branch;
    } branches[] = {{CS_GRP_CALL, BRANCH_CALL},
                    {CS_GRP_JUMP, BRANCH_JUMP},
                    {CS_GRP_RET, BRANCH_OTHER},
                    {CS_GRP_INT, BRANCH_OTHER},
                    {CS_GRP_IRET, BRANCH_OTHER}};
    for (size_t i = 0; i < sizeof branches / sizeof branches[0]; i++)
        if (d->cs.insn_group(d->handle, d->last, branches[i].group))
            return branches[i].branch;
    return BRANCH_NONE;
}

/* The last operand if it is a number. */
static uint64_t target_of(const cs_insn *insn)
{
    const char *comma = strrchr(insn->op_str, ',');
    const char *operand = comma != NULL ? comma + 1 + strspn(comma + 1, " ") : insn->op_str;
    char *end;
    operand += operand[0] == '#';
    if (strncmp(operand, "0x", 2) != 0)
        return UINT64_MAX;
    uint64_t value = strtoull(operand, &end, 16);
    return *end == '\0' ? value : UINT64_MAX;
}

static bool decode(struct decoder *decoder, bool thumb, uint64_t address, const uint8_t *bytes,
                   size_t size, struct decoded *found)
{
    struct decoder_capstone *d = (struct decoder_capstone *)decoder;
    set_thumb(d, thumb);
    found->size = thumb ? 2 : decoder->unit;
    if (!d->cs.disasm_iter(d->handle, &bytes, &size, &address, d->last))
        return false;
    found->size = d->last->size;
    found->branch = branch_of(d);
    found->target = found->branch == BRANCH_JUMP || found->branch == BRANCH_CALL
                        ? target_of(d->last)
                        : UINT64_MAX;
    snprintf(found->mnemonic, sizeof found->mnemonic, "%s", d->last->mnemonic);
    return true;
}

static void operands(const struct decoder *decoder, char text[MAX_OPERANDS])
{
    const struct decoder_capstone *d = (const struct decoder_capstone *)decoder;
    snprintf(text, MAX_OPERANDS, "%s", d->last->op_str);
}

static void delete (struct decoder *decoder)
{
    struct decoder_capstone *d = (struct decoder_capstone *)decoder;
    d->cs.free(d->last, 1);
    d->cs.close(&d->handle);
    dlclose(d->cs.library);
    free(d);
}

struct decoder *decoder_capstone_new(const struct elf_file *file, struct reporter *reporter)
{
    struct capstone cs;
    if (!load(&cs)) {
        report_warning(reporter, "%s: instructions need " LIBRARY ", which cannot be loaded",
                       file->path);
        return NULL;
    }
    use_own_memory(&cs);
    const cs_mode order = file->big_endian ? CS_MODE_BIG_ENDIAN : CS_MODE_LITTLE_ENDIAN;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        csh handle;
        if (machines[i].machine != file->machine ||
            cs.open(machines[i].arch, machines[i].mode | order, &handle) != CS_ERR_OK)
            continue;
        cs.option(handle, CS_OPT_DETAIL, CS_OPT_ON); /* must precede cs.malloc */
        struct decoder_capstone *d = mem_zalloc(1, sizeof *d);
        *d = (struct decoder_capstone){.base = {machines[i].unit, decode, operands, delete},
                                       .cs = cs,
                                       .handle = handle,
                                       .order = order,
                                       .last = cs.malloc(handle)};
        return &d->base;
    }
    dlclose(cs.library);
    report_warning(reporter, "%s: no disassembler for ELF machine %u", file->path, file->machine);
    return NULL;
}
