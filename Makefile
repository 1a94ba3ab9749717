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

.PHONY: help try test bench soak lint deps clean

help:
	@echo 'make try    see what hugewise does, on a bundled workload'
	@echo 'make test   install what the tests need, lint, run all tests (also in virtual machines)'
	@echo 'make bench  measure; BENCH="scan promote" only these, QUICK=1 for a first look'
	@echo 'make soak   the long tests, on more kernels'
	@echo 'make lint   formatting, clippy, house rules'
	@echo 'make deps   only install what the tests need'
	@echo 'make clean  remove what was built'

try:
	@scripts/deps.sh try
	cargo run --release -p hugewise -- try

deps:
	@scripts/deps.sh test

lint:
	@scripts/deps.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --test tidy

test:
	@scripts/deps.sh test
	@$(MAKE) --no-print-directory lint
	@scripts/test.sh

bench:
	@scripts/deps.sh build
	@scripts/bench.sh

soak:
	@scripts/deps.sh test
	HUGEWISE_SOAK=1 cargo test -p hugewise --test live -- --nocapture
	HUGEWISE_SOAK=1 cargo test --workspace --test vm

clean:
	cargo clean
