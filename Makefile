# The project's commands. `make` alone lists them.

HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')

# Every artifact is a static binary: it then runs on any distribution, and the very same file can
# be /init in a virtual machine that holds nothing but a kernel. The target is named explicitly,
# although it is the host, because cargo then keeps the flags away from procedural macros, which
# are shared libraries and cannot be built with a static C library.
export CARGO_BUILD_TARGET := $(HOST)
ifneq ($(filter %-linux-gnu,$(HOST)),)
HOST_IN_CAPITALS := $(shell echo '$(HOST)' | tr 'a-z-' 'A-Z_')
export CARGO_TARGET_$(HOST_IN_CAPITALS)_RUSTFLAGS := -C target-feature=+crt-static
endif

.PHONY: help try test bench peers soak shop lint deps hooks clean install uninstall package dist

help:
	@echo 'make try    see what hugewise does, on a bundled workload'
	@echo 'make install  build, and install to PREFIX (/usr/local) below DESTDIR; also uninstall'
	@echo 'make package  a static tarball, an image, a .deb and an .rpm for this machine: target/dist'
	@echo 'make dist   the same for x86-64 and for arm64'
	@echo 'make test   install what the tests need, lint, run all tests (also in virtual machines)'
	@echo 'make bench  measure; BENCH="scan promote" only these, QUICK=1 for a first look'
	@echo 'make peers  how much is read of the data of other tools in DIR'
	@echo 'make soak   the long tests, thousands of seeds, packages in a clean Debian, the image'
	@echo 'make shop   faults in a small shop, and whether investigate finds them; FAULTS="pool disk"'
	@echo 'make lint   formatting, clippy, house rules'
	@echo 'make deps   only install what the tests need'
	@echo 'make hooks  have git check the messages of your commits'
	@echo 'make clean  remove what was built'

try:
	@scripts/deps.sh try
	cargo run --release -p hugewise -- try --report target/hugewise-try.html

PREFIX ?= /usr/local
# What is installed; give PROGRAM to install one that is built already.
PROGRAM ?=
BUILT = $(or $(CARGO_TARGET_DIR),target)/$(HOST)/dist/hugewise
ROOT = $(DESTDIR)$(PREFIX)
MAN = $(ROOT)/share/man/man1
UNITS = $(ROOT)/lib/systemd/system
SHARED = $(ROOT)/share/hugewise
BASH_COMPLETION = $(ROOT)/share/bash-completion/completions/hugewise
ZSH_COMPLETION = $(ROOT)/share/zsh/site-functions/_hugewise
FISH_COMPLETION = $(ROOT)/share/fish/vendor_completions.d/hugewise.fish
# Writes the manual pages and completions from the definition of the command line.
PAGES ?= cargo run --quiet -p xtask -- pages

install:
ifeq ($(PROGRAM),)
	@scripts/deps.sh build
	cargo build --profile dist -p hugewise
endif
	install -D -m 0755 '$(or $(PROGRAM),$(BUILT))' '$(ROOT)/bin/hugewise'
	install -d '$(MAN)' '$(dir $(BASH_COMPLETION))' '$(dir $(ZSH_COMPLETION))' \
	    '$(dir $(FISH_COMPLETION))'
	$(PAGES) '$(ROOT)/share'
	install -d '$(UNITS)' '$(SHARED)'
	install -m 0644 dist/*.service dist/*.socket dist/*.timer '$(UNITS)'
	sed -i 's|/usr/bin/hugewise|$(PREFIX)/bin/hugewise|' '$(UNITS)'/hugewise*.service
	cp -r dist/prometheus dist/grafana dist/kubernetes '$(SHARED)'
	install -d '$(SHARED)/rules.d'
	install -m 0644 crates/evidence/data/rules/*.toml '$(SHARED)/rules.d'
	chmod -R u=rwX,go=rX '$(SHARED)'
	@echo 'Installed $(ROOT)/bin/hugewise. As a service: systemctl enable --now hugewise'

package:
	@scripts/deps.sh build
	@scripts/dist.sh

# Where there is nothing to build for arm64 with, that is said, and the rest is made all the same.
ARM64 = $(or $(CARGO_TARGET_DIR),target)/cross/aarch64-unknown-linux-gnu/dist/hugewise
dist: package
ifeq ($(filter aarch64-%,$(HOST)),)
	@cargo run --quiet -p xtask -- cross build --profile dist -p hugewise && \
	    MACHINE=aarch64 PROGRAM='$(ARM64)' scripts/dist.sh || [ $$? = 77 ]
endif

# Without DESTDIR also stops and disables the units, and puts settings back, as the packages do.
# PURGE=1 removes configuration, state and history as well, as far as no changed setting needs them.
PACKAGED = UNITS='$(notdir $(wildcard dist/*.socket dist/*.timer) $(wildcard dist/*.service))' \
    PROGRAM='$(ROOT)/bin/hugewise' sh -e -c '. dist/package/maintain.sh; "$$0"'
uninstall:
ifeq ($(DESTDIR),)
	[ ! -x '$(ROOT)/bin/hugewise' ] || $(PACKAGED) remove
endif
	rm -f '$(ROOT)/bin/hugewise' '$(BASH_COMPLETION)' '$(ZSH_COMPLETION)' '$(FISH_COMPLETION)'
	rm -f '$(MAN)/hugewise.1' '$(MAN)'/hugewise-*.1
	rm -f $(patsubst dist/%,'$(UNITS)/%',$(wildcard dist/*.service dist/*.socket dist/*.timer))
	rm -rf '$(SHARED)'
ifeq ($(DESTDIR),)
	$(PACKAGED) removed
	$(if $(PURGE),$(PACKAGED) purge,@echo 'Kept: /etc/hugewise, /var/lib/hugewise and \
	    /var/lib/hugewise-serve. PURGE=1 removes them, too.')
endif

deps:
	@scripts/deps.sh test

hooks:
	git config core.hooksPath .githooks

lint:
	@scripts/deps.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --test tidy
	cargo run --quiet -p xtask -- density

test:
	@scripts/deps.sh test
	@scripts/test.sh

bench:
	@scripts/deps.sh build
	@scripts/bench.sh

peers:
	@scripts/deps.sh build
	cargo run --quiet --release -p hugewise-evidence --example peers -- "$(DIR)"

soak:
	@scripts/deps.sh soak
	HUGEWISE_SOAK=1 cargo test -p hugewise-manager --test decisions
	HUGEWISE_SOAK=1 cargo test -p hugewise-evidence --lib response
	HUGEWISE_SOAK=1 cargo test --workspace --test live -- --nocapture
	HUGEWISE_SOAK=1 cargo test --workspace --test vm
	cargo build --profile dist -p hugewise
	scripts/walk.py '$(BUILT)' || [ $$? = 77 ]
	PROGRAM='$(BUILT)' scripts/dist.sh
	scripts/clean_root.sh '$(BUILT)' || [ $$? = 77 ]
	scripts/image.sh || [ $$? = 77 ]

shop:
	@scripts/deps.sh test
	cargo build --release -p hugewise
	scripts/shop/shop.py $(or $(CARGO_TARGET_DIR),target)/$(HOST)/release/hugewise $(FAULTS) || \
	    [ $$? = 77 ]

clean:
	cargo clean
