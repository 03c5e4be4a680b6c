/* Moved aarch64 code behaves as before; checked with capstone, on any machine.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>

#include "base/bytes.h"
#include "record/funcmeter/machine.h"

enum { FUNCTION = 0x40000000, PLACE = 0x41000000, POOL = 0x40fff000, NUMBER = 0x12345, ENTRY = 12 };

struct reader {
    void *library;
    csh handle;
    size_t (*read)(csh handle, const uint8_t *code, size_t size, uint64_t address, size_t count,
                   cs_insn **in);
    void (*release)(cs_insn *in, size_t count);
};

static void *look_up(void *library, const char *name)
{
    return library != NULL ? dlsym(library, name) : NULL;
}

static bool reader_open(struct reader *r)
{
    cs_err (*open)(cs_arch, cs_mode, csh *);
    r->library = dlopen("libcapstone.so.4", RTLD_NOW);
    *(void **)&open = look_up(r->library, "cs_open");
    *(void **)&r->read = look_up(r->library, "cs_disasm");
    *(void **)&r->release = look_up(r->library, "cs_free");
    return open != NULL && r->read != NULL && r->release != NULL &&
           open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &r->handle) == CS_ERR_OK;
}

static void reader_close(struct reader *r)
{
    cs_err (*end)(csh *);
    *(void **)&end = look_up(r->library, "cs_close");
    if (end != NULL)
        end(&r->handle);
    if (r->library != NULL)
        dlclose(r->library);
}

/* The instructions in SIZE bytes of CODE at ADDRESS, up to the first invalid one: "ret; nop; ". */
static void read_text(const struct reader *r, const uint8_t *code, size_t size, uint64_t address,
                      char text[1000])
{
    cs_insn *in = NULL;
    size_t count = r->read(r->handle, code, size, address, 0, &in), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && used < 900; i++)
        used += (size_t)snprintf(text + used, 1000 - used, "%s%s%s; ", in[i].mnemonic,
                                 in[i].op_str[0] != '\0' ? " " : "", in[i].op_str);
    if (count > 0)
        r->release(in, count);
}

/* Moves COUNT words that begin a function and whose first KEPT bytes stay. Returns the offset of
 * the moved code. */
static size_t move(const struct machine *machine, const uint32_t *words, size_t count, size_t kept,
                   uint8_t thunk[MACHINE_MAX_THUNK])
{
    uint8_t code[16];
    for (size_t i = 0; i < count; i++)
        put_u32le(code + 4 * i, words[i]);
    memset(thunk, 0, MACHINE_MAX_THUNK); /* not instructions for capstone */
    const struct machine_hook hook = {.code = code,
                                      .kept = kept,
                                      .moved = 4 * count - kept,
                                      .address = FUNCTION,
                                      .place = PLACE,
                                      .pool = POOL,
                                      .number = NUMBER};
    return machine->thunk(&hook, thunk);
}

/* An instruction, its moved form, and the literal after that if LITERAL_AT is not 0. The bytes
 * after these are not compared, because literals may look like instructions. */
static const struct {
    uint32_t word;
    const char *before, *near, *far;
    unsigned near_at, far_at; /* bytes after the beginning of the moved code */
    uint64_t near_literal, far_literal;
} forms[] = {
    {0xa9bf7bfd, "stp x29, x30, [sp, #-0x10]!; ", "stp x29, x30, [sp, #-0x10]!; b #0x40000004; ",
     "stp x29, x30, [sp, #-0x10]!; ldr x16, #0x41000018; ret x16; ", 0, 12, 0, 0x40000004},
    {0xd503245f, "hint #0x22; ", "hint #0x22; b #0x40000004; ",
     "hint #0x22; ldr x16, #0x41000018; ret x16; ", 0, 12, 0, 0x40000004},
    {0x14000040, "b #0x40000100; ", "b #0x40000100; ", "ldr x16, #0x41000014; ret x16; ", 0, 8, 0,
     0x40000100},
    {0x17ffffff, "b #0x3ffffffc; ", "b #0x3ffffffc; ", "ldr x16, #0x41000014; ret x16; ", 0, 8, 0,
     0x3ffffffc},
    {0x94000040, "bl #0x40000100; ", "ldr x30, #0x41000014; b #0x40000100; ",
     "ldr x30, #0x41000018; ldr x16, #0x41000020; ret x16; ", 8, 20, 0x40000004, 0x40000100},
    {0xd63f00a0, "blr x5; ", "ldr x30, #0x41000014; br x5; ", "ldr x30, #0x41000014; br x5; ", 8, 8,
     0x40000004, 0x40000004},
    {0x54000080, "b.eq #0x40000010; ", "b.ne #0x41000014; b #0x40000010; b #0x40000004; ",
     "b.ne #0x41000018; ldr x16, #0x41000020; ret x16; ldr x16, #0x41000028; ret x16; ", 0, 20, 0,
     0x40000010},
    {0x5400008d, "b.le #0x40000010; ", "b.gt #0x41000014; b #0x40000010; b #0x40000004; ",
     "b.gt #0x41000018; ldr x16, #0x41000020; ret x16; ldr x16, #0x41000028; ret x16; ", 0, 28, 0,
     0x40000004},
    {0x5400008e, "b.al #0x40000010; ", "b #0x40000010; b #0x40000004; ",
     "ldr x16, #0x4100001c; ret x16; ldr x16, #0x41000024; ret x16; ", 0, 16, 0, 0x40000010},
    {0x34000083, "cbz w3, #0x40000010; ", "cbnz w3, #0x41000014; b #0x40000010; b #0x40000004; ",
     "cbnz w3, #0x41000018; ldr x16, #0x41000020; ret x16; ldr x16, #0x41000028; ret x16; ", 0, 20,
     0, 0x40000010},
    {0xb5000090, "cbnz x16, #0x40000010; ", "cbz x16, #0x41000014; b #0x40000010; b #0x40000004; ",
     "cbz x16, #0x41000018; ldr x17, #0x41000020; ret x17; ldr x17, #0x41000028; ret x17; ", 0, 20,
     0, 0x40000010},
    {0x36180085, "tbz w5, #3, #0x40000010; ",
     "tbnz w5, #3, #0x41000014; b #0x40000010; b #0x40000004; ",
     "tbnz w5, #3, #0x41000018; ldr x16, #0x41000020; ret x16; ldr x16, #0x41000028; ret x16; ", 0,
     20, 0, 0x40000010},
    {0xb70fffe5, "tbnz x5, #0x21, #0x3ffffffc; ",
     "tbz x5, #0x21, #0x41000014; b #0x3ffffffc; b #0x40000004; ",
     "tbz x5, #0x21, #0x41000018; ldr x16, #0x41000020; ret x16; ldr x16, #0x41000028; ret x16; ",
     0, 20, 0, 0x3ffffffc},
    {0x30000081, "adr x1, #0x40000011; ", "ldr x1, #0x41000014; b #0x40000004; ",
     "ldr x1, #0x41000018; ldr x16, #0x41000020; ret x16; ", 8, 12, 0x40000011, 0x40000011},
    {0xb0000002, "adrp x2, #0x40001000; ", "ldr x2, #0x41000014; b #0x40000004; ",
     "ldr x2, #0x41000018; ldr x16, #0x41000020; ret x16; ", 8, 12, 0x40001000, 0x40001000},
    {0x90fffff1, "adrp x17, #0x3fffc000; ", "ldr x17, #0x41000014; b #0x40000004; ",
     "ldr x17, #0x41000018; ldr x16, #0x41000020; ret x16; ", 8, 12, 0x3fffc000, 0x3fffc000},
    {0x18000084, "ldr w4, #0x40000010; ", "ldr x4, #0x41000018; ldr w4, [x4]; b #0x40000004; ",
     "ldr x4, #0x4100001c; ldr w4, [x4]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0x58ffffe4, "ldr x4, #0x3ffffffc; ", "ldr x4, #0x41000018; ldr x4, [x4]; b #0x40000004; ",
     "ldr x4, #0x4100001c; ldr x4, [x4]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x3ffffffc,
     0x3ffffffc},
    {0x98000084, "ldrsw x4, #0x40000010; ", "ldr x4, #0x41000018; ldrsw x4, [x4]; b #0x40000004; ",
     "ldr x4, #0x4100001c; ldrsw x4, [x4]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0xd8000080, "prfm pldl1keep, #0x40000010; ",
     "ldr x16, #0x41000018; prfm pldl1keep, [x16]; b #0x40000004; ",
     "ldr x16, #0x4100001c; prfm pldl1keep, [x16]; ldr x16, #0x41000024; ret x16; ", 12, 16,
     0x40000010, 0x40000010},
    {0x5800009f, "ldr xzr, #0x40000010; ", "ldr x16, #0x41000018; ldr xzr, [x16]; b #0x40000004; ",
     "ldr x16, #0x4100001c; ldr xzr, [x16]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0x1c000084, "ldr s4, #0x40000010; ", "ldr x16, #0x41000018; ldr s4, [x16]; b #0x40000004; ",
     "ldr x16, #0x4100001c; ldr s4, [x16]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0x5c000084, "ldr d4, #0x40000010; ", "ldr x16, #0x41000018; ldr d4, [x16]; b #0x40000004; ",
     "ldr x16, #0x4100001c; ldr d4, [x16]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0x9c000084, "ldr q4, #0x40000010; ", "ldr x16, #0x41000018; ldr q4, [x16]; b #0x40000004; ",
     "ldr x16, #0x4100001c; ldr q4, [x16]; ldr x16, #0x41000024; ret x16; ", 12, 16, 0x40000010,
     0x40000010},
    {0xd65f03c0, "ret ; ", "ret ; ", "ret ; ", 0, 0, 0, 0},
    {0xd61f0200, "br x16; ", "br x16; ", "br x16; ", 0, 0, 0, 0},
};

static void compare_form(struct check *check, const struct reader *r, size_t i, bool far)
{
    uint8_t thunk[MACHINE_MAX_THUNK];
    char text[1000], want[1000];
    const struct machine *machine = far ? &machine_aarch64_far : &machine_aarch64;
    size_t at = move(machine, &forms[i].word, 1, 0, thunk);
    unsigned literal = far ? forms[i].far_at : forms[i].near_at;
    CHECK_EQ(at, ENTRY);
    read_text(r, thunk + at, sizeof thunk - at, PLACE + at, text);
    snprintf(want, sizeof want, "%s", far ? forms[i].far : forms[i].near);
    for (char *c = want; (c = strstr(c, "ret ; ")) != NULL;)
        memmove(c + 3, c + 4, strlen(c + 4) + 1);
    text[strlen(want)] = '\0'; /* literals may be instructions, too */
    CHECK_STR(text, want);
    if (literal != 0)
        CHECK_EQ(get_u64(thunk + at + literal, false),
                 far ? forms[i].far_literal : forms[i].near_literal);
}

static void moves_each_form(struct check *check)
{
    struct reader r = {0};
    CHECK(reader_open(&r));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && check->why[0] == '\0'; i++) {
        compare_form(check, &r, i, false);
        if (check->why[0] == '\0')
            compare_form(check, &r, i, true);
    }
    reader_close(&r);
}

/* The number after the last "#" in TEXT. */
static uint64_t last_number(const char *text)
{
    const char *hash = strrchr(text, '#');
    return hash != NULL ? strtoull(hash + 1, NULL, 0) : 0;
}

/* Whether the moved code contains TARGET, as the target of a branch or in a literal. */
static bool leads_to(const uint8_t *thunk, char *text, uint64_t target)
{
    for (char *end, *at = text; (end = strstr(at, "; ")) != NULL; at = end + 2) {
        *end = '\0';
        if (at[0] == 'b' && last_number(at) == target)
            return true;
    }
    for (size_t i = ENTRY; i + 8 <= MACHINE_MAX_THUNK; i += 4)
        if (get_u64(thunk + i, false) == target)
            return true;
    return false;
}

/* Random displacements and registers in each form: the target is the one that capstone shows for
 * the instruction before it was moved. */
static void keeps_all_targets(struct check *check)
{
    static const struct {
        uint32_t word, random;
    } kinds[] = {
        {0x14000000, 0x03ffffff}, {0x94000000, 0x03ffffff}, {0x54000000, 0x00ffffed},
        {0x34000000, 0x81ffffff}, {0x36000000, 0x81ffffff}, {0x10000000, 0x60ffffff},
        {0x90000000, 0x60ffffff}, {0x18000000, 0x40ffffff}, {0x98000000, 0x40ffffff},
        {0x1c000000, 0x40ffffff}, {0x9c000000, 0x00ffffff},
    };
    struct reader r = {0};
    uint64_t state = 1;
    CHECK(reader_open(&r));
    for (unsigned i = 0; i < 4000 && check->why[0] == '\0'; i++) {
        uint8_t thunk[MACHINE_MAX_THUNK], code[4];
        char before[1000], after[1000];
        const unsigned kind = i % (sizeof kinds / sizeof kinds[0]);
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint32_t word = kinds[kind].word | ((uint32_t)(state >> 32) & kinds[kind].random);
        put_u32le(code, word);
        read_text(&r, code, sizeof code, FUNCTION, before);
        size_t at = move(i % 2 ? &machine_aarch64 : &machine_aarch64_far, &word, 1, 0, thunk);
        read_text(&r, thunk + at, sizeof thunk - at, PLACE + at, after);
        if (!leads_to(thunk, after, last_number(before)))
            check_failed(check, __FILE__, __LINE__, "%s is not in the thunk", before);
    }
    reader_close(&r);
}

static void keeps_landing_pads(struct check *check)
{
    static const struct {
        uint32_t word;
        const char *entry;
        unsigned moved; /* where the moved code begins */
    } pads[] = {
        {0xd503245f,
         "movz w17, #0x2345; movk w17, #0x1, lsl #16; b #0x40fff000; mov x0, x1; b #0x40000008; ",
         12},
        {0xd503233f,
         "hint #0x1d; movz w17, #0x2345; movk w17, #0x1, lsl #16; b #0x40fff000; hint #0x19; mov "
         "x0, "
         "x1; b #0x40000008; ",
         16},
        {0xd503237f,
         "hint #0x1f; movz w17, #0x2345; movk w17, #0x1, lsl #16; b #0x40fff000; hint #0x1b; mov "
         "x0, "
         "x1; b #0x40000008; ",
         16},
    };
    struct reader r = {0};
    CHECK(reader_open(&r));
    for (size_t i = 0; i < sizeof pads / sizeof pads[0]; i++) {
        uint8_t thunk[MACHINE_MAX_THUNK], code[4];
        char text[1000];
        const uint32_t words[2] = {pads[i].word, 0xaa0103e0};
        put_u32le(code, pads[i].word);
        CHECK_EQ(machine_aarch64.landing(code, sizeof code), 4);
        CHECK_EQ(move(&machine_aarch64, words, 2, 4, thunk), pads[i].moved);
        read_text(&r, thunk, sizeof thunk, PLACE, text);
        CHECK_STR(text, pads[i].entry);
    }
    reader_close(&r);
}

static void refuses(struct check *check)
{
    static const struct {
        uint32_t word;
        size_t length;
        const char *why;
    } words[] = {
        {0xd4200000, 4, "begins with a breakpoint"},                        /* brk #0 */
        {0xd73f0a31, 4, "begins with an instruction that cannot be moved"}, /* blraa x17, x17 */
        {0xd63f03c0, 4, "begins with an instruction that cannot be moved"}, /* blr x30 */
        {0x5500001f, 4, "begins with an instruction that cannot be moved"}, /* retaasppc */
        {0xdac1a3fe, 4, "begins with an instruction that cannot be moved"}, /* paciasppc */
        {0xdc000000, 0, NULL},                                              /* not allocated */
        {0x02000000, 0, NULL},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint8_t code[4];
        put_u32le(code, words[i].word);
        struct machine_instruction in = machine_aarch64.decode(code, sizeof code);
        CHECK_EQ(in.length, words[i].length);
        CHECK(in.fixed == words[i].why || strcmp(in.fixed, words[i].why) == 0);
    }
    uint8_t code[8];
    put_u32le(code, 0xaa1103f0); /* mov x16, x17 */
    CHECK_STR(machine_aarch64_far.why_together(code, 4), "needs all registers from its beginning");
    put_u32le(code, 0xaa0103f0); /* mov x16, x1 */
    CHECK(machine_aarch64_far.why_together(code, 4) == NULL);
}

static void jumps_far_enough(struct check *check)
{
    struct reader r = {0};
    uint8_t code[12];
    char text[1000];
    CHECK(reader_open(&r));
    CHECK(machine_aarch64.write_jump(0x40000000, 0x47fffffc, code, 4));
    read_text(&r, code, 4, 0x40000000, text);
    CHECK_STR(text, "b #0x47fffffc; ");
    CHECK(machine_aarch64.write_jump(0x48000000, 0x40000000, code, 4));
    read_text(&r, code, 4, 0x48000000, text);
    CHECK_STR(text, "b #0x40000000; ");
    CHECK(!machine_aarch64.write_jump(0x40000000, 0x48000000, code, 4));
    CHECK(!machine_aarch64.write_jump(0x48000004, 0x40000000, code, 4));
    CHECK(machine_aarch64_far.write_jump(0x400ff8, 0x7ffff123, code, 12));
    read_text(&r, code, 12, 0x400ff8, text);
    CHECK_STR(text, "adrp x16, #0x7ffff000; add x16, x16, #0x123; br x16; ");
    CHECK(machine_aarch64_far.write_jump(0x7ffff000, 0x1230, code, 12));
    read_text(&r, code, 12, 0x7ffff000, text);
    CHECK_STR(text, "adrp x16, #0x1000; add x16, x16, #0x230; br x16; ");
    CHECK(!machine_aarch64_far.write_jump(0, UINT64_C(0x100000000), code, 12));
    reader_close(&r);
    CHECK(machine_find(EM_AARCH64, 0x6000000) == &machine_aarch64);
    CHECK(machine_find(EM_AARCH64, 0x6000001) == &machine_aarch64_far);
    CHECK(machine_find(EM_ARM, 0) == NULL);
}

CHECK_MAIN({"moves_each_form", moves_each_form}, {"keeps_all_targets", keeps_all_targets},
           {"keeps_landing_pads", keeps_landing_pads}, {"refuses", refuses},
           {"jumps_far_enough", jumps_far_enough})
