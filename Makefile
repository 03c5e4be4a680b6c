# pbin-tools: make | check | bench | demo | install | deps | clean        (ASAN=1 for sanitizers)
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= gcc
VERSION := 0.1.0
BUILD   := build$(if $(ASAN),/asan)$(if $(filter clang%,$(notdir $(CC))),/clang)

DEPS_BUILD := gcc make pkg-config libelf-dev libdwarf-dev libbz2-dev libjansson-dev libxxhash-dev \
              libiberty-dev libseccomp-dev zlib1g-dev
DEPS_RUN   := gnuplot-nox fonts-dejavu-core
DEPS_CHECK := python3 clang-14 libclang-rt-14-dev llvm-14 binutils elfutils bzip2 pbzip2 g++ \
              gcc-multilib g++-multilib mandoc procps sqlite3

WARN  := -Wall -Wextra -Wformat=2 -Wconversion -Wno-sign-conversion -Wshadow -Wvla -Wnull-dereference \
         -Wstrict-prototypes -Wmissing-prototypes
HARD  := -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
         -fPIE
LINKHARD := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
# one answer on every machine: no fused multiply-add, no build paths
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DPBIN_TOOLS_VERSION='"$(VERSION)"' -I. $(WARN) $(HARD) \
              -ffp-contract=off -ffile-prefix-map=$(CURDIR)=. $(CFLAGS) $(WERROR)
ifdef ASAN
ALL_CFLAGS := $(filter-out -D_FORTIFY_SOURCE=3,$(ALL_CFLAGS)) -fsanitize=address,undefined \
              -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LINKHARD := -fsanitize=address,undefined -pie
endif
LIBS := -lelf -ldwarf -lz -lbz2 -ljansson -lseccomp -liberty -lm -lpthread

# A file with a main is a tool and a leaf; every other .c file belongs to the library of its floor.
TOOLS := $(patsubst %.c,%,$(shell grep -lE '^int main\b' record/*.c convert/*.c analyze/*.c plot/*.c 2>/dev/null))
LIB_base    := $(wildcard base/*.c)
LIB_formats := $(wildcard formats/*.c)
LIB_record  := $(filter-out $(TOOLS:=.c),$(wildcard record/*.c))
LIB_convert := $(filter-out $(TOOLS:=.c),$(wildcard convert/*.c))
LIB_analyze := $(filter-out $(TOOLS:=.c),$(wildcard analyze/*.c))
LIB_plot    := $(filter-out $(TOOLS:=.c),$(wildcard plot/*.c))
SOURCES := $(LIB_base) $(LIB_formats) $(LIB_record) $(LIB_convert) $(LIB_analyze) $(LIB_plot) $(TOOLS:=.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
ARCHIVE = $(BUILD)/lib$(1).a
BIN := $(addprefix $(BUILD)/,$(notdir $(TOOLS)))

all: $(BIN)

# $(1) = floor, $(2) = libraries below it
define floor
$(BUILD)/lib$(1).a: $(LIB_$(1):%.c=$(BUILD)/%.o)
	@rm -f $$@
	$(AR) rcs $$@ $$^
$(patsubst $(1)/%,$(BUILD)/%,$(filter $(1)/%,$(TOOLS))): $(BUILD)/%: $(BUILD)/$(1)/%.o $(foreach l,$(1) $(2),$(BUILD)/lib$(l).a)
	$(CC) $(ALL_CFLAGS) $(LINKHARD) -o $$@ $$^ $(LIBS)
endef
$(foreach f,base,$(eval $(call floor,$(f),)))
$(foreach f,formats,$(eval $(call floor,$(f),base)))
$(foreach f,record convert analyze,$(eval $(call floor,$(f),formats base)))
$(eval $(call floor,plot,analyze formats base))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# unit tests: one program per file, against all floors that have code
UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))
$(UNIT): %: %.o $(foreach f,plot analyze convert record formats base,$(if $(LIB_$(f)),$(BUILD)/lib$(f).a))
	$(CC) $(ALL_CFLAGS) $(LINKHARD) -o $@ $^ $(LIBS)

check: all $(UNIT)
	BUILD=$(BUILD) tests/run -j 2

bench: all
	BUILD=$(BUILD) tests/bench/bench

-include $(OBJECTS:.o=.d) $(UNIT:=.d)

clean:
	rm -rf build demo-out

.PHONY: all check bench demo install deps clean fuzz
.DELETE_ON_ERROR:
