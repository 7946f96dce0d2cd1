# bench: runs every workload side by side with crun and runc, as root, and writes
# docs/performance.md and bench/results. Quiet machine wanted; a few minutes. More flags
# with BENCHFLAGS; for a first look: make bench-quick BENCHFLAGS='-only run-default'.
.PHONY: bench bench-quick
bench: berth
	cd bench && $(GO) run . -berth ../berth -write $(BENCHFLAGS)

bench-quick: berth
	cd bench && $(GO) run . -berth ../berth -quick $(BENCHFLAGS)
