package cgroup

import (
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Write is one value for one cgroup file, and the field of config.json that asks for it.
type Write struct {
	Controller string // "memory", on v2 "io", "devices", …; "" for cgroup.* files of v2
	File       string // in the container's directory: "memory.max"
	Value      string
	Field      string // "linux.resources.memory.limit"

	Optional bool // the file need not be there: the kernel can't do it, and it does no harm
	Early    bool // needed before a process joins
	// Later: EINVAL may only mean that another value of the controller has to come first
	// (limit and limit+swap, period and quota): tried again after them.
	Later bool
	Else  *Write // instead, where File is not there
	// Limit, if not 0: nothing is written, but the number in File must be below Limit.
	Limit uint64
	// Program, with File "": the device program of v2; Value lists its rules.
	Program []byte
}

// String is the write as `berth plan` shows it.
func (w *Write) String() string {
	switch {
	case w.Limit != 0:
		return w.File + " < " + strconv.FormatUint(w.Limit, 10)
	case w.Program != nil:
		return "device program: " + w.Value
	}
	return w.File + " = " + w.Value
}

// table collects the writes of one LinuxResources.
type table struct {
	f    Facts
	list []Write
	err  error
}

// Writes turns linux.resources into what has to be written, in order, for a new container.
// The device rules every container gets follow those of the config, also where linux or
// linux.resources is nil. It is pure: the first field that can't be applied on such a machine
// is the error (FieldError, with the JSON path).
func Writes(linux *specs.Linux, f Facts) ([]Write, error) {
	t := &table{f: f, list: make([]Write, 0, 24)}
	var r *specs.LinuxResources
	if linux != nil {
		r = linux.Resources
	}
	t.resources(r)
	t.devices(linux)
	return t.list, t.err
}

// UpdateWrites is the same for a running container: without the device rules, which stay.
func UpdateWrites(r *specs.LinuxResources, f Facts) ([]Write, error) {
	t := &table{f: f, list: make([]Write, 0, 16)}
	t.resources(r)
	return t.list, t.err
}

func (t *table) resources(r *specs.LinuxResources) {
	if r == nil {
		return
	}
	if t.f.V2 {
		t.memoryV2(r.Memory)
		t.cpuV2(r.CPU)
		t.ioV2(r.BlockIO)
		t.networkV2(r.Network)
	} else {
		t.memoryV1(r.Memory)
		t.cpuV1(r.CPU)
		t.blkioV1(r.BlockIO)
		t.networkV1(r.Network)
	}
	t.cpuset(r.CPU)
	t.pids(r.Pids)
	t.hugetlb(r.HugepageLimits)
	t.rdma(r.Rdma)
	t.unified(r.Unified)
}

// add appends w, if its controller is there.
func (t *table) add(w Write) {
	if t.err != nil {
		return
	}
	if !t.f.has(w.Controller) {
		t.err = &FieldError{w.Field, &ControllerError{w.Controller}}
		return
	}
	t.list = append(t.list, w)
}

func (t *table) fail(field, text string) {
	if t.err == nil {
		t.err = fieldError(field, text)
	}
}

// v1Only refuses a field that v2 has nothing for: runtime-spec wants an error for what can't
// be applied. crun refuses them as well; runc passes over them.
func (t *table) v1Only(field string) {
	if t.err == nil {
		t.err = &FieldError{field, ErrV1Only}
	}
}

const (
	fLimit       = "linux.resources.memory.limit"
	fReservation = "linux.resources.memory.reservation"
	fSwap        = "linux.resources.memory.swap"
	fKernelTCP   = "linux.resources.memory.kernelTCP"
	fSwappiness  = "linux.resources.memory.swappiness"
	fOOM         = "linux.resources.memory.disableOOMKiller"
	fShares      = "linux.resources.cpu.shares"
	fQuota       = "linux.resources.cpu.quota"
	fPeriod      = "linux.resources.cpu.period"
	fBurst       = "linux.resources.cpu.burst"
	fIdle        = "linux.resources.cpu.idle"
	fRtRuntime   = "linux.resources.cpu.realtimeRuntime"
	fRtPeriod    = "linux.resources.cpu.realtimePeriod"
	fCpus        = "linux.resources.cpu.cpus"
	fMems        = "linux.resources.cpu.mems"
	fPids        = "linux.resources.pids.limit"
	fBlockIO     = "linux.resources.blockIO."
	fHuge        = "linux.resources.hugepageLimits"
	fClass       = "linux.resources.network.classID"
	fPrio        = "linux.resources.network.priorities"
	fRdma        = "linux.resources.rdma"
	fUnified     = "linux.resources.unified"
	fDevices     = "linux.resources.devices"
)

func signed(n int64) string    { return strconv.FormatInt(n, 10) }
func unsigned(n uint64) string { return strconv.FormatUint(n, 10) }

func index(field string, i int) string { return field + "[" + itoa(i) + "]" }
func key(field, k string) string       { return field + "[" + strconv.Quote(k) + "]" }

// value of an optional number; absent and 0 are the same for most cgroup settings: unset.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
