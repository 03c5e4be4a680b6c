# pbin-tools: "make help" lists the targets. ASAN=1 builds with sanitizers, DEBUG=1 without optimization, V=1 shows commands.
# CROSS_COMPILE=aarch64-linux-gnu- builds the sampler and, for aarch64, funcmeter, for a board with their libraries; STATIC=1: the sampler
# alone, for one without.
PREFIX  ?= /usr/local
COMMA   := ,
DESTDIR ?=
ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifdef CROSS_COMPILE
AR := $(CROSS_COMPILE)ar
endif
VERSION := 0.1.0
IS_CLANG := $(findstring clang,$(notdir $(CC)))
BUILD   := build$(CROSS_COMPILE:%-=/%)$(if $(STATIC),/static)$(if $(ASAN),/asan)$(if $(DEBUG),/debug)$(if $(COVERAGE),/coverage)$(if $(IS_CLANG),/clang)

DEPS_BUILD := gcc libc6-dev make pkg-config libelf-dev libdwarf-dev libbz2-dev libjansson-dev libxxhash-dev \
              libiberty-dev libseccomp-dev libcapstone-dev libdeflate-dev liblapacke-dev libmd-dev libzydis-dev \
              zlib1g-dev liblzma-dev libzstd-dev
DEPS_RUN   := gnuplot-nox fonts-dejavu-core liblapacke libcapstone4
DEPS_CHECK := python3 git clang-14 clang-tidy-14 clang-format-14 shellcheck libclang-rt-14-dev llvm-14 binutils elfutils bzip2 pbzip2 gzip xz-utils zstd g++ \
              gcc-multilib g++-multilib mandoc procps sqlite3 rustc libc6-dbg libxxhash0 graphviz chromium dwz gdb qemu-user \
              libstdc++-12-dev-arm64-cross \
              $(foreach m,aarch64 arm mips powerpc64 riscv64 s390x,binutils-$m-linux-gnu$(if $(filter arm,$m),eabihf)) \
              $(foreach m,arm64 armhf mips ppc64 riscv64 s390x,libc6-dev-$m-cross libgcc-12-dev-$m-cross)

WARN  := -Wall -Wextra -Wformat=2 -Wconversion -Wno-sign-conversion -Wshadow -Wvla \
         -Wnull-dereference -Wstrict-prototypes -Wmissing-prototypes
# Nothing before `make deps` has installed the compiler.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
HARD  := -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
         $(if $(filter x86_64-%,$(MACHINE)),-fcf-protection=full) -fPIE
LINKHARD := -Wl,--as-needed -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
# -g1: reports of sanitizers name functions and lines, no variables.
CFLAGS ?= $(if $(DEBUG),-O0 -g3,$(if $(ASAN),-O1 -g1,-O3 -g))
# The same numbers on every machine (no fused multiply-add), and no paths of the build in the files.
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DPBIN_TOOLS_VERSION='"$(VERSION)"' -I. $(WARN) $(HARD) \
              -ffp-contract=off -fno-trapping-math -ffile-prefix-map=$(CURDIR)=. $(CPPFLAGS) $(CFLAGS) $(WERROR)
# _FORTIFY_SOURCE needs optimization, and hides accesses from the sanitizers.
ifneq ($(ASAN)$(DEBUG),)
ALL_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=3,$(ALL_CFLAGS))
endif
ifdef ASAN
# Without null and object-size: the address sanitizer finds what they find, and they take a sixth of the time to compile.
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize=null,object-size \
              -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# The runtime of clang is linked statically anyway. At fixed addresses, a tool starts a sixth faster, which tests do ten
# thousands of times.
LINKHARD := -fsanitize=address,undefined $(if $(IS_CLANG),,-static-libasan -static-libubsan) -Wl,--as-needed,-z,now -no-pie
FUZZ_LINK := -fsanitize=fuzzer -fsanitize=address,undefined -pie
endif
# COVERAGE=1: to see which lines the corpora of the fuzz targets reach.
ifdef COVERAGE
COVERAGE_FLAGS := -fprofile-instr-generate -fcoverage-mapping
ALL_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=3 -O3 -g,$(ALL_CFLAGS)) -O1 -g1 $(COVERAGE_FLAGS)
FUZZ_LINK  := -fsanitize=fuzzer $(COVERAGE_FLAGS) -pie
endif
ifdef STATIC
ALL_CFLAGS := $(filter-out -fPIE,$(ALL_CFLAGS))
LINKHARD := -static -Wl,--gc-sections
endif
LIBS := -lelf -ldwarf -ldeflate -lbz2 -lz -llzma -lzstd -lmd -ljansson -lseccomp -lZydis -liberty -lm -lpthread -ldl
Q := $(if $(V),,@)
# Of a make that this one starts: all CPUs, unless the user says how many.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
SAY = $(if $(V),@:,@echo "  $(1)")

# A file with a main is a tool; every other .c file goes into the library of its layer.
LAYERS  := plot convert analyze record formats base
C_FILES := $(foreach f,$(LAYERS),$(wildcard $(f)/*.c $(f)/*/*.c))
TOOLS   := $(patsubst %.c,%,$(shell grep -lE '^int main\b' $(C_FILES)))
# The preload library of funcmeter is for x86-64 and aarch64, and uses no other library.
PRELOAD_FILES := $(wildcard record/funcmeter/preload*.c)
PRELOAD := $(if $(filter x86_64-% aarch64-%,$(MACHINE)),$(BUILD)/funcmeter-preload.so)
LIB_FILES := $(filter-out $(TOOLS:=.c) $(PRELOAD_FILES),$(C_FILES))
# With sanitizers, what takes little of the time of tests and fuzz targets compiles without optimization, in a third of the time.
ifeq ($(if $(ASAN),$(origin CFLAGS)),file)
COLD := $(filter-out analyze/attribute/% convert/dwarf/% convert/prof2pbin/% convert/symbolize/%,$(filter analyze/% convert/%,$(C_FILES))) \
        $(wildcard tests/unit/*.c) tests/symbols/symbolize.c
$(foreach o,.o .main.o,$(COLD:%.c=$(BUILD)/%$(o))): ALL_CFLAGS += -O0
endif
# Boards: the sampler and what it is made of, so with no libraries but its own, and no 128-bit integers. Headers that the
# cross compiler lacks are the host's: those of libraries are the same.
ifneq ($(CROSS_COMPILE)$(STATIC),)
# On aarch64 also funcmeter, with what it is made of in an archive of its own.
METER_FILES := $(if $(STATIC),,$(if $(filter aarch64-%,$(MACHINE)),$(filter-out record/funcmeter/machine_x86_64.c,$(filter base/% formats/% record/%,$(LIB_FILES)))))
METER     := $(if $(METER_FILES),$(BUILD)/funcmeter)
METER_LIBS := -lelf -ldwarf -ldeflate -lbz2 -lz -llzma -lzstd -ljansson -liberty -lm -lpthread -ldl
# A board may have only the libraries of the sampler.
HAS_METER := $(if $(METER),$(shell echo 'int main(void) { return 0; }' | $(CC) $(LDFLAGS) -x c -o /dev/null - $(METER_LIBS) 2>/dev/null && echo yes))
TOOLS     := record/sampler
LIB_FILES := $(filter-out base/exact.c base/stream_open.c base/unpack_formats.c,$(filter-out record/funcmeter/%,$(filter base/% record/%,$(LIB_FILES)))) \
             $(addprefix formats/,pbin/block.c pbin/block_sum.c pbin/block_sum_avx2.c pbin/block_sum_avx512.c pbin/pmu_kind.c raw/raw_extension.c raw/raw_fault_places.c raw/raw_readings.c raw/raw_ticks.c elf/elf_file.c elf/elf_content.c)
PRELOAD   := $(if $(HAS_METER),$(PRELOAD))
LIBS      := -lelf -lbz2 $(if $(STATIC),-lz) -lm -lpthread -ldl
ALL_CFLAGS += $(if $(CROSS_COMPILE),-idirafter /usr/include)
endif
OBJECTS := $(C_FILES:%.c=$(BUILD)/%.o)
BIN     := $(addprefix $(BUILD)/,$(notdir $(TOOLS))) $(if $(HAS_METER),$(METER))
MAN     := $(foreach f,$(LAYERS),$(wildcard $(f)/*.[157] $(f)/*/*.[157]))

# Programs with known behaviour, to be measured: always built with the same flags, never with sanitizers. Under sanitizers,
# tests measure the same ones as without, whatever compiles the tools.
SAMPLE_CC := $(if $(ASAN),gcc,$(CC))
SAMPLES := $(if $(CROSS_COMPILE)$(STATIC),,$(patsubst %.c,$(BUILD)/%,$(filter-out %_work.c,$(wildcard samples/*.c))) \
           $(patsubst %.c,$(BUILD)/%.so,$(wildcard samples/*_work.c)))
SAMPLE_FLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -ffile-prefix-map=$(CURDIR)=. $(WERROR) -pthread

all: $(BIN) $(PRELOAD) $(SAMPLES) ## build the tools and the samples into build/ (the default)
	$(if $(METER),$(if $(HAS_METER),,$(call SAY,funcmeter is not built: a library is missing ($(METER_LIBS)))))

# $(1) = layer, $(2) = layers below it
define layer
$(BUILD)/lib$(1).a: $(patsubst %.c,$(BUILD)/%.o,$(filter $(1)/%,$(LIB_FILES)))
	$$(call SAY,AR $$@)
	@rm -f $$@
	$(Q)$(AR) rcs $$@ $$^
$(foreach t,$(filter $(1)/%,$(TOOLS)),$(call tool,$(t),$(1) $(2)))
endef
define tool
$(BUILD)/$(notdir $(1)): $(BUILD)/$(1).o $(2:%=$(BUILD)/lib%.a)
	$$(call SAY,LINK $$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINKHARD) $(LDFLAGS) -o $$@ $$^ $(LIBS)

endef
$(BUILD)/libmeter.a: $(METER_FILES:%.c=$(BUILD)/%.o)
	$(call SAY,AR $@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
ifdef METER
$(METER): $(BUILD)/record/funcmeter/funcmeter.o $(BUILD)/libmeter.a
	$(call SAY,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINKHARD) $(LDFLAGS) -o $@ $^ $(METER_LIBS)
endif
$(eval $(call layer,base,))
$(eval $(call layer,formats,base))
$(foreach f,record analyze,$(eval $(call layer,$(f),formats base)))
$(foreach f,convert plot,$(eval $(call layer,$(f),analyze formats base)))

# Interactive pages: their script and style, and the library that draws, as arrays.
PAGE_SCRIPT := plot/vendor/uplot/LICENSE plot/vendor/uplot/uPlot.iife.min.js plot/page/page.js
PAGE_STYLE  := plot/vendor/uplot/uPlot.min.css plot/page/page.css
$(BUILD)/libplot.a: $(BUILD)/plot/page_files.o
$(BUILD)/plot/page_files.o: plot/page/embed $(PAGE_SCRIPT) $(PAGE_STYLE)
	@mkdir -p $(@D)
	$(call SAY,EMBED $@)
	$(Q)plot/page/embed $(PAGE_SCRIPT) -- $(PAGE_STYLE) >$(@:.o=.c)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $(@:.o=.c)

$(BUILD)/samples/%: samples/%.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(SAMPLE_CC) $(SAMPLE_FLAGS) -fPIE -pie -o $@ $<

$(BUILD)/samples/%.so: samples/%.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(SAMPLE_CC) $(SAMPLE_FLAGS) -fPIC -shared -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# No sanitizers, no stack protector, no vector registers: it runs between a call and the function. It initializes first.
PRELOAD_FLAGS := -std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -g -ffile-prefix-map=$(CURDIR)=. $(WERROR) -fPIC -ffreestanding -fno-builtin \
                 -fno-stack-protector -mgeneral-regs-only -fvisibility=hidden -fno-strict-aliasing -fasynchronous-unwind-tables \
                 $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=none -mno-outline-atomics -ffixed-x18,-fcf-protection=none)
$(BUILD)/funcmeter-preload.so: $(PRELOAD_FILES) $(wildcard record/funcmeter/*.h) base/log_buckets.h
	@mkdir -p $(@D)
	$(call SAY,LINK $@)
	$(Q)$(CC) $(PRELOAD_FLAGS) -shared -nostdlib -Wl,-z,initfirst,-z,relro,-z,now,-z,noexecstack -o $@ $(filter %.c,$^)

# Unit tests, and a driver for the tests of the symbolizer: linked with the libraries of all layers.
UNIT   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))
DRIVER := $(BUILD)/tests/symbols/symbolize
$(UNIT) $(DRIVER): %: %.o $(LAYERS:%=$(BUILD)/lib%.a)
	$(call SAY,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINKHARD) $(LDFLAGS) -o $@ $^ $(LIBS)

# Fuzz targets, with the code that they read files with (clang, and ASAN=1 or COVERAGE=1).
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZED  := $(filter base/% formats/% analyze/% plot/% convert/dwarf/% convert/symbolize/% convert/gmon2pbin/% convert/pbin2gmon/% convert/igprof2pbin/% convert/perf2pbin/% convert/prof2pbin/jit_names.c,\
           $(LIB_FILES))
FUZZED_TOOLS := $(filter analyze/% plot/% %/pbin2gmon,$(TOOLS))
FUZZED_OBJECTS := $(FUZZED:%.c=$(BUILD)/%.o)
FUZZED_MAINS := $(FUZZED_TOOLS:%=$(BUILD)/%.main.o)
ifneq ($(and $(IS_CLANG),$(ASAN)$(COVERAGE)),)
# The sanitized tools use these objects, too.
$(FUZZED_OBJECTS) $(FUZZED_MAINS): ALL_CFLAGS += -fsanitize=fuzzer-no-link
endif
$(BUILD)/libfuzzed.a: $(FUZZED_OBJECTS) $(BUILD)/plot/page_files.o
	$(call SAY,AR $@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
# Tools in one program: main of pbin-dump is main_pbin_dump.
$(FUZZED_MAINS): $(BUILD)/%.main.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes $(foreach n,main argp_program_version,-D$(n)=$(n)_$(subst -,_,$(*F))) -MMD -MP -c -o $@ $<
$(BUILD)/tests/fuzz/tools: $(FUZZED_MAINS)
$(FUZZERS:%=$(BUILD)/tests/fuzz/%): %: %.o $(BUILD)/libfuzzed.a
	$(call SAY,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(FUZZ_LINK) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group $(LIBS)
fuzzers: $(patsubst %,$(BUILD)/tests/fuzz/%,$(FUZZERS)) ## build the fuzz targets (give CC and ASAN, too: tests/README.md)

-include $(OBJECTS:.o=.d) $(UNIT:=.d) $(DRIVER:=.d) $(FUZZERS:%=$(BUILD)/tests/fuzz/%.d) $(FUZZED_TOOLS:%=$(BUILD)/%.main.d)

# ---- targets for users; "make help" prints the texts after ## ----

help: ## list the targets
	@sed -nE 's/^([a-z][a-z_.-]*):[^#=]*## (.*)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '%-22s %s\n' "$$name" "$$text"; done

# All warnings of clang come before it writes code, those of gcc do not.
# Assembly in the preload library is checked later: it is built.
WARNED := $(filter-out $(PRELOAD_FILES),$(C_FILES)) $(UNIT:$(BUILD)/%=%.c) $(DRIVER:$(BUILD)/%=%.c)
warnings: $(if $(ASAN),programs,$(PRELOAD)) ## check for warnings only; use it with CC=clang-14
	$(if $(ASAN),,$(Q)echo $(WARNED) | xargs -n 16 -P $(shell nproc) $(CC) $(ALL_CFLAGS) -fsyntax-only)
	$(Q)$(CC) $(SAMPLE_FLAGS) -fsyntax-only $(wildcard samples/*.c)

debug: ## build with -O0 -g3 into build/debug, for a debugger
	@$(MAKE) --no-print-directory $(JOBS) DEBUG=1 all

check: ## install missing packages, build, run all tests; TEST=NAME: only tests with NAME in their name
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_CHECK)
	@$(MAKE) --no-print-directory $(JOBS) check-only

programs: all $(UNIT) $(DRIVER) $(if $(ASAN),$(if $(IS_CLANG),fuzzers)) ## build all that check runs

check-only: all $(UNIT) $(DRIVER) ## like check, without installing packages
	$(if $(ASAN)$(DEBUG)$(filter-out fuzz%,$(TEST)),,@$(MAKE) --no-print-directory $(JOBS) CC=clang-14 ASAN=1 fuzzers)
	BUILD=$(BUILD) tests/run -j $(if $(ASAN),4 --built,3) $(if $(TEST),-k '$(TEST)')

fuzz: all ## fuzz every parser for 10^8 executions or FUZZ_SECONDS (default 7200) each; TARGET="raw ...": only these
	BUILD=$(BUILD) tests/fuzz/fuzz $(TARGET)

fuzz-coverage: ## measure how many lines of each parser the fuzz corpora reach
	tests/fuzz/fuzz --coverage $(TARGET)

torture: all ## measure which loads and faults the tools withstand, for docs/robustness.md (hours; TORTURE_SCALE=0.01: minutes)
	BUILD=$(BUILD) tests/torture/torture > docs/robustness.new && mv docs/robustness.new docs/robustness.md

bench: all ## measure speed, as ratios
	BUILD=$(BUILD) tests/bench/bench

check-large: all ## compare names and lines of large programs with llvm-symbolizer's; downloads a gigabyte of packages into LARGE
	BUILD=$(BUILD) tests/symbols/large $(TARGET)

bench-truth: all ## measure how far attributed energy is from the truth, in simulations (intervals in RUNS=100 runs)
	BUILD=$(BUILD) python3 tests/bench/truth.py $(if $(RUNS),--runs $(RUNS))

demo: ## install missing packages, build, record and plot a bundled program
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN)
	@$(MAKE) --no-print-directory $(JOBS) all
	@BUILD=$(BUILD) sh samples/demo

pictures: all ## draw the pictures of the README
	BUILD=$(BUILD) sh samples/pictures

deps: ## install missing packages
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_CHECK)

install: all ## copy tools and man pages to PREFIX (default /usr/local) below DESTDIR (default none)
	install -d $(DESTDIR)$(PREFIX)/bin $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1 man5 man7)
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin
	$(if $(PRELOAD),install -d $(DESTDIR)$(PREFIX)/lib/pbin-tools)
	$(if $(PRELOAD),install -m 644 $(PRELOAD) $(DESTDIR)$(PREFIX)/lib/pbin-tools)
	install -m 644 $(filter %.1,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(filter %.5,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 $(filter %.7,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man7

uninstall: ## remove the files copied by install
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/pbin-tools/,$(notdir $(PRELOAD)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(notdir $(TOOLS)))
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))

format: ## apply clang-format to all C files
	git ls-files '*.[ch]' '*.cpp' | xargs clang-format-14 -i

define NEWLINE


endef
entry = {"directory": "$(CURDIR)", "file": "$(1)", "command": "$(subst ",\",$(CC) $(ALL_CFLAGS) -c -o $(BUILD)/$(1:.c=.o) $(1))"}
compile_commands.json: Makefile $(C_FILES) ## write the compile commands for editors and clang tools
	$(call SAY,WRITE $@)
	$(file >$@,[$(subst } {,}$(COMMA)$(NEWLINE) {,$(foreach f,$(C_FILES) $(patsubst $(BUILD)/%,%.c,$(UNIT) $(DRIVER)),$(call entry,$(f))))])

clean: ## remove everything that was built
	rm -rf build demo-out compile_commands.json

.PHONY: all help warnings debug programs check check-only fuzz fuzz-coverage fuzzers torture bench check-large bench-truth demo pictures deps install uninstall format clean
.DELETE_ON_ERROR:
