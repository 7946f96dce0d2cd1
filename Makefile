# berth. The usual targets: make, make demo, make test, make bench, make install.
# `make help` lists them all.

PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR  ?= $(DATADIR)/man

# Go's own installer leaves it outside root's PATH.
ifeq ($(shell command -v go 2>/dev/null),)
ifneq ($(wildcard /usr/local/go/bin/go),)
export PATH := $(PATH):/usr/local/go/bin
SHELL := env PATH=$(PATH) /bin/sh
endif
endif
GO := $(shell command -v go 2>/dev/null)

# Everything but these needs Go, 1.21 or newer: older ones can't fetch the toolchain that
# go.mod names. (From / so that it is the installed one that answers.)
ifneq ($(filter-out help deps clean uninstall,$(or $(MAKECMDGOALS),all)),)
ifeq ($(if $(GO),$(shell cd / && $(GO) env GOVERSION 2>/dev/null | grep -E '^(go1\.(2[1-9]|[3-9][0-9])|devel)')),)
$(error berth needs Go 1.21 or newer: https://go.dev/dl/)
endif
endif

ARCH ?= $(if $(GO),$(shell $(GO) env GOARCH))
OUT  ?= berth

VERSION := $(shell cat VERSION)
# Of the tree if it is a git checkout; a tree without git builds as well.
COMMIT      = $(shell git describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null)
TAGS       := urfave_cli_no_docs
LDFLAGS     = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GOBUILD     = CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO) build -trimpath -buildvcs=false -tags $(TAGS)

export GO

.NOTPARALLEL:
.PHONY: all berth stage1 helper
all: berth

# One static program. stage1 and the helper are inside it.
berth: stage1 helper
	$(GOBUILD) -ldflags '$(LDFLAGS)' -o $(OUT) .

stage1: deps-build nsenter/run-make-first/stage1-$(ARCH)
helper: deps-build seccomp/run-make-first/helper-$(ARCH)

include nsenter/build.mk
include helper/build.mk

# Debian packages, by what needs them: only missing ones are installed.
.PHONY: deps deps-build deps-demo deps-test deps-bench deps-cross
deps: deps-build deps-demo deps-test deps-bench deps-cross
deps-build deps-demo deps-test deps-bench deps-cross: deps-%:
	@scripts/deps $*

.PHONY: demo test berth-fault bench lint fuzz cross
demo: berth deps-demo
	@scripts/demo $(OUT)

test: berth berth-fault deps-demo deps-test cross-parts
	@BERTH=$(abspath $(OUT)) BERTH_FAULTY=$(CURDIR)/build/berth-fault $(GO) run -tags $(TAGS) ./tests/runner $(ONLY)

# The same with a variable that makes one operation of the plan fail: for tests alone.
berth-fault: stage1 helper
	@$(GOBUILD) -tags '$(TAGS) berth_fault' -ldflags '$(LDFLAGS)' -o build/berth-fault .

bench: berth deps-demo deps-bench
	$(MAKE) -C bench

lint: berth deps-test cross-parts
	@scripts/lint

# A short run of every fuzz test; FUZZTIME=10m for a long one.
FUZZTIME ?= 10s
fuzz: stage1 helper
	@scripts/fuzz $(FUZZTIME)

# What the arm64 build embeds: without it go vet for arm64 has nothing to embed.
.PHONY: cross-parts
cross-parts: deps-cross
	@$(MAKE) --no-print-directory ARCH=arm64 stage1 helper

cross: deps-cross
	@$(MAKE) --no-print-directory ARCH=arm64 OUT=build/arm64/berth berth

# Man pages and completions are written from the command table by a test; the result is
# committed, so that installing needs nothing.
.PHONY: generate
generate: stage1 helper
	$(GO) test -tags $(TAGS) -count=1 -run '^TestGenerated' . -update

.PHONY: install uninstall clean help
install: berth
	install -D -m 0755 $(OUT) $(DESTDIR)$(BINDIR)/berth
	install -d $(DESTDIR)$(MANDIR)/man8
	install -m 0644 man/*.8 $(DESTDIR)$(MANDIR)/man8
	install -D -m 0644 contrib/completions/berth.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/berth
	install -D -m 0644 contrib/completions/_berth $(DESTDIR)$(DATADIR)/zsh/site-functions/_berth
	install -D -m 0644 contrib/completions/berth.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/berth.fish

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/berth $(patsubst man/%,$(DESTDIR)$(MANDIR)/man8/%,$(wildcard man/*.8))
	rm -f $(DESTDIR)$(DATADIR)/bash-completion/completions/berth
	rm -f $(DESTDIR)$(DATADIR)/zsh/site-functions/_berth
	rm -f $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/berth.fish

clean:
	rm -rf berth build nsenter/run-make-first seccomp/run-make-first

help:
	@echo 'make            build ./berth'
	@echo 'make demo       build it, and show one container from create to delete (root)'
	@echo 'make install    program, man pages, completions (PREFIX=$(PREFIX), DESTDIR)'
	@echo 'make uninstall  remove them'
	@echo 'make test       all tests, with a summary (root); ONLY="unit lint" for some'
	@echo 'make bench      compare with runc and crun; writes docs/performance.md (root)'
	@echo 'make lint       formats, go vet, staticcheck, man pages, scripts'
	@echo 'make fuzz       a short run of each fuzz test (FUZZTIME=10s)'
	@echo 'make cross      build/arm64/berth'
	@echo 'make deps       install the Debian packages that all of these need'
	@echo 'make generate   write man pages and completions from the command table'
	@echo 'make clean      remove what was built'
