package main

import (
	"fmt"
	"strings"
)

func memorySection(b *strings.Builder, r *results) {
	fmt.Fprintf(b, "## Memory\n\n")
	if len(r.Memory) == 0 {
		fmt.Fprintf(b, "Not measured: it takes a v1 memory hierarchy.\n\n")
		return
	}
	fmt.Fprintf(b, "`run` of /bin/true, kB, median of %d. The largest process is ru_maxrss of the runtime and all that\nit waited for. The peak of all is memory.max_usage of a cgroup that holds the runtime, its\nprocesses and the container: kernel memory counts, file pages that were in memory before do not,\nand the kernel charges in steps of 256 kB a core.\n\n", memoryRuns)
	var peaks, created [][]string
	for _, m := range r.Memory {
		peaks = append(peaks, []string{peerTitle(r, m.Name), kB(median(m.MaxRSS)), kB(median(m.PeakAll))})
		if c := m.Created; c != nil {
			created = append(created, []string{peerTitle(r, m.Name), kB(c.RSS), kB(c.PSS), kB(c.Private), kB(c.Usage),
				fmt.Sprintf("%.1f", c.Processes), fmt.Sprintf("%.1f", c.Mounts), fmt.Sprintf("%.1f", c.Cgroups),
				fmt.Sprintf("%.1f, %.0f bytes", c.Files, c.FileBytes)})
		}
	}
	table(b, []string{"", "largest process", "peak of all"}, peaks)
	fmt.Fprintf(b, "One container that waits in `created`, of %d at once. Memory in kB is that of its waiting process\n(smaps_rollup) and what is charged to its memory cgroup; the rest is what remains on the host.\n\n", createdContainers)
	table(b, []string{"", "RSS", "PSS", "private", "cgroup", "processes", "host mounts", "cgroups", "state files"}, created)
}

func kB(v float64) string { return fmt.Sprintf("%.0f", v) }

func traceSection(b *strings.Builder, r *results) {
	fmt.Fprintf(b, "## Where the time goes\n\n")
	if len(r.Traces) == 0 {
		fmt.Fprintf(b, "Not traced: %s.\n\n", r.NoTraces)
		return
	}
	fmt.Fprintf(b, "Medians of %d runs each, milliseconds, taken apart from those above with the kernel's trace points\non for every system call (which costs some time: compare the totals). Phases overlap with what a\nruntime does beside them; `child` is all that it starts.\n\n", traceRuns)
	for _, w := range r.Workloads {
		phaseTable(b, r, w)
	}
	for _, x := range r.Traces {
		if x.Name == berth {
			slowTable(b, r, x)
		}
	}
}

func phaseTable(b *strings.Builder, r *results, w workloadResult) {
	head := []string{w.Title}
	total, untraced, calls := []string{"total, traced"}, []string{"total, not traced"}, []string{"system calls"}
	rows := make([][]string, len(phases))
	for i, p := range phases {
		rows[i] = []string{p}
	}
	for _, x := range r.Traces {
		if x.Workload != w.Name {
			continue
		}
		head = append(head, peerTitle(r, x.Name))
		for i, p := range phases {
			rows[i] = append(rows[i], ms(x.Phases[p]))
		}
		total = append(total, ms(x.Total))
		untraced = append(untraced, ms(median(w.Samples[x.Name])))
		calls = append(calls, kB(x.Syscalls))
	}
	if len(head) > 1 {
		table(b, head, append(rows, total, untraced, calls))
	}
}

func ms(micros float64) string { return fmt.Sprintf("%.2f", micros/1000) }

func slowTable(b *strings.Builder, r *results, x traceResult) {
	title := x.Workload
	if w := r.workload(x.Workload); w != nil {
		title = w.Title
	}
	fmt.Fprintf(b, "berth's longest system calls in one run near the median (%s), ms; those that only wait for\nanother process are left out:\n\n", title)
	var rows [][]string
	for _, s := range x.Slowest {
		rows = append(rows, []string{"`" + s.Name + "`", s.Who, ms(s.At), ms(s.Took)})
	}
	table(b, []string{"call", "in", "at", "took"}, rows)
}

func methodSection(b *strings.Builder, r *results) {
	m := r.Machine
	fmt.Fprintf(b, "## How it was measured\n\n%s\n\n", strings.TrimSpace(method))
	table(b, []string{"machine", ""}, [][]string{
		{"processor", fmt.Sprintf("%s, %d cores", m.CPU, m.Cores)},
		{"memory", m.Memory}, {"kernel", m.Kernel}, {"system", m.OS}, {"cgroups", m.Cgroups},
		{"state directories on", m.State},
		{"load average before, after", m.Load + ", " + m.After},
		{"pause before each run", r.Settle + " (\"after a pause\": " + idlePause.String() + ")"},
	})
	var rows [][]string
	for _, c := range r.Contenders {
		rows = append(rows, []string{c.Title, c.Version, "`" + c.Digest[:min(12, len(c.Digest))] + "`", c.Inside})
	}
	table(b, []string{"program", "says of itself", "SHA-256", "the container saw (with seccomp)"}, rows)
}

const method = `
- One round runs every workload with every contender, one after the other; the order changes from
  round to round so that each comes equally often after each other one. A ratio is one of medians;
  its interval is a bootstrap that draws whole rounds, with a fixed seed.
- The bundle is runc's default config (ociVersion 1.0.2, which Debian's crun wants) for /bin/true of
  busybox-static; with seccomp it also has a profile of the size of Docker's. All get the same command
  line but the program's name, and a --root of their own.
- The clock runs from just before the fork until wait4 returns the last command. Then every cgroup
  hierarchy, the mount table, the state directory and the process table are searched with the clock
  stopped; if anything is left the clock goes on until it is gone. A run that fails or leaves something for
  good ends the benchmark: there are no results of such a run.
- create+start+delete is done as a shim does it: the measuring program is the reaper of the container,
  and deletes it when it has seen its end.
- Cold cache: the compiled filters that berth and crun keep are removed before each run. Debian's crun
  keeps none (it is built without libgcrypt), the static one does; runc never does.
- "After a pause": on cgroup v1 the kernel moves a process to another cgroup quickly only while moves
  follow each other; after some idle time it first waits for an RCU grace period. No goal is set for it.
- The static crun is built from Debian's source package without systemd, CRIU and loadable handlers.
- The floor is bench/native/floor.c: it makes the namespaces, mounts, device nodes and masks of the config
  with plain system calls, pivots, and executes /bin/true. It has no config to read, no state, no
  capabilities to drop; "with cgroups" makes, joins and removes a cgroup in every hierarchy too.
- All of it runs in one mount namespace, with a hugetlb hierarchy added where the host has cgroup v1
  without it (Debian's crun refuses that), for all alike.
- Raw samples: [bench/results/results.json](../bench/results/results.json).
`
