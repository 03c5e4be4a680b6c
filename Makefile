# pbin-tools: "make help" lists the targets. ASAN=1 builds with sanitizers, DEBUG=1 without optimization, V=1 shows commands.
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
VERSION := 0.1.0
BUILD   := build$(if $(ASAN),/asan)$(if $(DEBUG),/debug)$(if $(findstring clang,$(notdir $(CC))),/clang)

DEPS_BUILD := gcc libc6-dev make pkg-config libelf-dev libdwarf-dev libbz2-dev libjansson-dev libxxhash-dev \
              libiberty-dev libseccomp-dev libcapstone-dev libdeflate-dev liblapacke-dev
DEPS_RUN   := gnuplot-nox fonts-dejavu-core liblapacke
DEPS_CHECK := python3 git clang-14 clang-tidy-14 clang-format-14 shellcheck libclang-rt-14-dev llvm-14 binutils elfutils bzip2 pbzip2 g++ \
              gcc-multilib g++-multilib mandoc procps sqlite3 rustc libc6-dbg libxxhash0 graphviz chromium

WARN  := -Wall -Wextra -Wformat=2 -Wconversion -Wno-sign-conversion -Wshadow -Wvla \
         -Wnull-dereference -Wstrict-prototypes -Wmissing-prototypes
HARD  := -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
         $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-fcf-protection=full) -fPIE
LINKHARD := -Wl,--as-needed -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
CFLAGS ?= $(if $(DEBUG),-O0 -g3,-O3 -g)
# The same numbers on every machine (no fused multiply-add), and no paths of the build in the files.
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DPBIN_TOOLS_VERSION='"$(VERSION)"' -I. $(WARN) $(HARD) \
              -ffp-contract=off -ffile-prefix-map=$(CURDIR)=. $(CFLAGS) $(WERROR)
# _FORTIFY_SOURCE needs optimization, and hides accesses from the sanitizers.
ifneq ($(ASAN)$(DEBUG),)
ALL_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=3,$(ALL_CFLAGS))
endif
ifdef ASAN
ALL_CFLAGS += -fsanitize=address,undefined \
              -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LINKHARD := -fsanitize=address,undefined -pie
endif
LIBS := -lelf -ldwarf -ldeflate -lbz2 -ljansson -lseccomp -lcapstone -liberty -lm -lpthread -ldl
Q := $(if $(V),,@)
SAY = $(if $(V),@:,@echo "  $(1)")

# A file with a main is a tool; every other .c file goes into the library of its floor.
FLOORS  := plot convert analyze record formats base
C_FILES := $(foreach f,$(FLOORS),$(wildcard $(f)/*.c $(f)/*/*.c))
TOOLS   := $(patsubst %.c,%,$(shell grep -lE '^int main\b' $(C_FILES)))
LIB_FILES := $(filter-out $(TOOLS:=.c),$(C_FILES))
OBJECTS := $(C_FILES:%.c=$(BUILD)/%.o)
BIN     := $(addprefix $(BUILD)/,$(notdir $(TOOLS)))
MAN     := $(foreach f,$(FLOORS),$(wildcard $(f)/*.[157] $(f)/*/*.[157]))

# Programs with known behaviour, to be measured: always built with the same flags, never with sanitizers.
SAMPLES := $(patsubst %.c,$(BUILD)/%,$(filter-out %_work.c,$(wildcard samples/*.c))) \
           $(patsubst %.c,$(BUILD)/%.so,$(wildcard samples/*_work.c))
SAMPLE_FLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -ffile-prefix-map=$(CURDIR)=. $(WERROR) -pthread

all: $(BIN) $(SAMPLES) ## build the tools and the samples into build/ (the default)

# $(1) = floor, $(2) = floors below it
define floor
$(BUILD)/lib$(1).a: $(patsubst %.c,$(BUILD)/%.o,$(filter $(1)/%,$(LIB_FILES)))
	$$(call SAY,AR $$@)
	@rm -f $$@
	$(Q)$(AR) rcs $$@ $$^
$(foreach t,$(filter $(1)/%,$(TOOLS)),$(call tool,$(t),$(1) $(2)))
endef
define tool
$(BUILD)/$(notdir $(1)): $(BUILD)/$(1).o $(2:%=$(BUILD)/lib%.a)
	$$(call SAY,LINK $$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINKHARD) -o $$@ $$^ $(LIBS)

endef
$(eval $(call floor,base,))
$(eval $(call floor,formats,base))
$(foreach f,record analyze,$(eval $(call floor,$(f),formats base)))
$(foreach f,convert plot,$(eval $(call floor,$(f),analyze formats base)))

$(BUILD)/samples/%: samples/%.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(CC) $(SAMPLE_FLAGS) -fPIE -pie -o $@ $<

$(BUILD)/samples/%.so: samples/%.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(CC) $(SAMPLE_FLAGS) -fPIC -shared -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC $<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Unit tests, and a driver for the tests of the symbolizer: linked with the libraries of all floors.
UNIT   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))
DRIVER := $(BUILD)/tests/symbols/symbolize
$(UNIT) $(DRIVER): %: %.o $(FLOORS:%=$(BUILD)/lib%.a)
	$(call SAY,LINK $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINKHARD) -o $@ $^ $(LIBS)

-include $(OBJECTS:.o=.d) $(UNIT:=.d) $(DRIVER:=.d)

# ---- targets for users; "make help" prints the texts after ## ----

help: ## list the targets
	@sed -nE 's/^([a-z][a-z_.-]*):[^#=]*## (.*)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '%-22s %s\n' "$$name" "$$text"; done

debug: ## build with -O0 -g3 into build/debug, for a debugger
	@$(MAKE) --no-print-directory DEBUG=1 all

check: ## install missing packages, build, run all tests; TEST=NAME: only tests with NAME in their name
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_CHECK)
	@$(MAKE) --no-print-directory check-only

check-only: all $(UNIT) $(DRIVER) ## as check, without looking for packages
	BUILD=$(BUILD) tests/run -j 2 $(if $(TEST),-k '$(TEST)')

bench: all ## measure speed, as ratios
	BUILD=$(BUILD) tests/bench/bench

bench-truth: all ## measure how far attributed energy is from the truth, in simulations
	BUILD=$(BUILD) python3 tests/bench/truth.py

demo: ## install missing packages, build, record and plot a bundled program
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN)
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) sh samples/demo

pictures: all ## draw the pictures of the README
	BUILD=$(BUILD) sh samples/pictures

deps: ## install missing packages
	@sh tests/deps $(DEPS_BUILD) $(DEPS_RUN) $(DEPS_CHECK)

install: all ## copy tools and man pages to PREFIX (default /usr/local) below DESTDIR (default none)
	install -d $(DESTDIR)$(PREFIX)/bin $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1 man5 man7)
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(filter %.1,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(filter %.5,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 $(filter %.7,$(MAN)) $(DESTDIR)$(PREFIX)/share/man/man7

uninstall: ## remove the files copied by install
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(notdir $(TOOLS)))
	rm -f $(foreach m,$(MAN),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))

format: ## apply clang-format to all C files
	git ls-files '*.[ch]' '*.cpp' | xargs clang-format-14 -i

define NEWLINE


endef
COMMA := ,
entry = {"directory": "$(CURDIR)", "file": "$(1)", "command": "$(subst ",\",$(CC) $(ALL_CFLAGS) -c -o $(BUILD)/$(1:.c=.o) $(1))"}
compile_commands.json: Makefile $(C_FILES) ## write the compile commands for editors and clang tools
	$(call SAY,WRITE $@)
	$(file >$@,[$(subst } {,}$(COMMA)$(NEWLINE) {,$(foreach f,$(C_FILES) $(patsubst $(BUILD)/%,%.c,$(UNIT) $(DRIVER)),$(call entry,$(f))))])

clean: ## remove everything that was built
	rm -rf build demo-out compile_commands.json

.PHONY: all help debug check check-only bench bench-truth demo pictures deps install uninstall format clean
.DELETE_ON_ERROR:
