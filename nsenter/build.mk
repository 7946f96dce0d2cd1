# stage1, from the repository's root: make -f nsenter/build.mk ARCH=amd64|arm64
#
# Freestanding: no libc is linked, so any gcc of the architecture will do. Small in memory as much as on
# disk: one read-only segment and one of zeroes, without tables that nothing reads at run time.

ARCH ?= $(or $(GOARCH),$(shell go env GOARCH))

STAGE1_CC_amd64 = gcc
STAGE1_CC_arm64 = aarch64-linux-gnu-gcc
STAGE1_CC = $(or $(STAGE1_CC_$(ARCH)),$(error stage1: no compiler known for ARCH=$(ARCH)))
# arm64 kernels may have pages of 64 kB.
STAGE1_PAGE_amd64 = 4096
STAGE1_PAGE_arm64 = 65536
STAGE1_CFLAGS_amd64 = -fcf-protection=none
STAGE1_CFLAGS_arm64 = -mbranch-protection=none -mno-outline-atomics

STAGE1_CFLAGS = -std=gnu11 -Os -Wall -Wextra -Werror -ffreestanding -fno-pie -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ident -fno-builtin -fno-strict-aliasing \
	-fno-tree-loop-distribute-patterns -ffunction-sections -fomit-frame-pointer -g0 \
	$(STAGE1_CFLAGS_$(ARCH))
STAGE1_LDFLAGS = -static -no-pie -nostdlib -nostartfiles -s -Wl,--gc-sections -Wl,--build-id=none \
	-Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack \
	-Wl,-z,max-page-size=$(STAGE1_PAGE_$(ARCH)) -Wl,--fatal-warnings

STAGE1_SOURCES = $(sort $(wildcard nsenter/stage1/*.c))
STAGE1_HEADERS = nsenter/ops.h $(sort $(wildcard nsenter/stage1/*.h))
STAGE1 = nsenter/run-make-first/stage1-$(ARCH)

stage1: $(STAGE1)

$(STAGE1): $(STAGE1_SOURCES) $(STAGE1_HEADERS) nsenter/build.mk
	@mkdir -p $(@D)
	$(STAGE1_CC) $(STAGE1_CFLAGS) $(STAGE1_LDFLAGS) -o $@.tmp $(STAGE1_SOURCES)
	mv $@.tmp $@

.PHONY: stage1
