# Builds the helper for ARCH into seccomp/run-make-first/, from where stage0 embeds it:
#   helper-$(ARCH)      the static, stripped program
#   helper-$(ARCH).id   its SHA-256 and libseccomp's version; part of every cache key
# Works for ARCH=amd64 and arm64, native or cross. Run from the repository's root. Cross-building
# takes libseccomp.a from Debian's package for ARCH, fetched once into build/libseccomp-$(ARCH)
# with apt's own verification and without touching this machine's apt configuration.

ARCH ?= $(shell go env GOHOSTARCH)
HELPER_OUT := seccomp/run-make-first/helper-$(ARCH)
HELPER_HOST := $(shell go env GOHOSTARCH)
HELPER_TRIPLET_amd64 := x86_64-linux-gnu
HELPER_TRIPLET_arm64 := aarch64-linux-gnu
HELPER_TRIPLET := $(HELPER_TRIPLET_$(ARCH))
HELPER_TAGS := seccomp netgo osusergo

ifeq ($(ARCH),$(HELPER_HOST))
HELPER_CC := gcc
HELPER_DEV :=
HELPER_PKG_CONFIG :=
else
HELPER_CC := $(HELPER_TRIPLET)-gcc
HELPER_DEV := build/libseccomp-$(ARCH)/libseccomp.stamp
HELPER_SYSROOT := $(CURDIR)/build/libseccomp-$(ARCH)/root
HELPER_PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(HELPER_SYSROOT) \
	PKG_CONFIG_LIBDIR=$(HELPER_SYSROOT)/usr/lib/$(HELPER_TRIPLET)/pkgconfig
endif

HELPER_SRC := $(filter-out %_test.go,$(wildcard helper/*.go seccomp/wire/*.go)) go.mod go.sum helper/build.mk

.PHONY: helper
helper: $(HELPER_OUT) $(HELPER_OUT).id

$(HELPER_OUT): $(HELPER_SRC) $(HELPER_DEV)
	@mkdir -p $(@D)
	$(HELPER_PKG_CONFIG) CC=$(HELPER_CC) CGO_ENABLED=1 GOOS=linux GOARCH=$(ARCH) \
	go build -trimpath -buildvcs=false -tags '$(HELPER_TAGS)' \
		-ldflags '-s -w -linkmode external -extldflags "-static -Wl,--build-id=none"' \
		-o $@ ./helper

# The version is read from the header, so that a helper for another machine need not run.
$(HELPER_OUT).id: $(HELPER_OUT)
	@version=$$(printf '#include <seccomp.h>\nSCMP_VER_MAJOR.SCMP_VER_MINOR.SCMP_VER_MICRO\n' | \
		$(HELPER_CC) $$($(HELPER_PKG_CONFIG) pkg-config --cflags libseccomp) -E -P - | tail -n 1 | tr -d ' ') && \
	sum=$$(sha256sum $< | cut -d ' ' -f 1) && echo "$$sum $$version" > $@.tmp && mv $@.tmp $@

build/libseccomp-$(ARCH)/libseccomp.stamp:
	helper/fetch-libseccomp $(ARCH) $(@D)
	@touch $@
