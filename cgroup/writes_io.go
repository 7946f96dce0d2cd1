package cgroup

import (
	"sort"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func device(major, minor int64) string { return signed(major) + ":" + signed(minor) }

// blkioV1: the files' names depend on the kernel's schedulers: blkio.weight is CFQ's (gone
// with Linux 5.0), blkio.bfq.weight BFQ's.
func (t *table) blkioV1(b *specs.LinuxBlockIO) {
	if b == nil {
		return
	}
	blkio := func(file, v, field string) Write {
		return Write{Controller: "blkio", File: file, Value: v, Field: fBlockIO + field}
	}
	either := func(file, v, field string) {
		bfq := blkio("blkio.bfq."+file, v, field)
		w := blkio("blkio."+file, v, field)
		w.Else = &bfq
		t.add(w)
	}
	if n := value(b.Weight); n != 0 {
		either("weight", unsigned(uint64(n)), "weight")
	}
	if n := value(b.LeafWeight); n != 0 {
		t.add(blkio("blkio.leaf_weight", unsigned(uint64(n)), "leafWeight"))
	}
	for i, d := range b.WeightDevice {
		dev := device(d.Major, d.Minor) + " "
		if n := value(d.Weight); n != 0 {
			either("weight_device", dev+unsigned(uint64(n)), index("weightDevice", i))
		}
		if n := value(d.LeafWeight); n != 0 {
			t.add(blkio("blkio.leaf_weight_device", dev+unsigned(uint64(n)), index("weightDevice", i)+".leafWeight"))
		}
	}
	for _, l := range throttles(b) {
		for i, d := range l.list {
			t.add(blkio("blkio.throttle."+l.v1, device(d.Major, d.Minor)+" "+unsigned(d.Rate), index(l.field, i)))
		}
	}
}

type throttle struct {
	field, v1, v2 string
	list          []specs.LinuxThrottleDevice
}

func throttles(b *specs.LinuxBlockIO) [4]throttle {
	return [4]throttle{
		{"throttleReadBpsDevice", "read_bps_device", "rbps", b.ThrottleReadBpsDevice},
		{"throttleWriteBpsDevice", "write_bps_device", "wbps", b.ThrottleWriteBpsDevice},
		{"throttleReadIOPSDevice", "read_iops_device", "riops", b.ThrottleReadIOPSDevice},
		{"throttleWriteIOPSDevice", "write_iops_device", "wiops", b.ThrottleWriteIOPSDevice},
	}
}

// ioV2: BFQ takes weights as v1 had them; io.weight (io.cost) has another scale.
func (t *table) ioV2(b *specs.LinuxBlockIO) {
	if b == nil {
		return
	}
	weight := func(prefix string, n uint16, field string) {
		w := Write{Controller: "io", File: "io.bfq.weight", Value: prefix + unsigned(uint64(n)), Field: fBlockIO + field}
		other := w
		other.File, other.Value = "io.weight", prefix+unsigned(IOWeight(n))
		w.Else = &other
		t.add(w)
	}
	if n := value(b.Weight); n != 0 {
		weight("", n, "weight")
	}
	if value(b.LeafWeight) != 0 {
		t.v1Only(fBlockIO + "leafWeight")
	}
	for i, d := range b.WeightDevice {
		if n := value(d.Weight); n != 0 {
			weight(device(d.Major, d.Minor)+" ", n, index("weightDevice", i))
		}
		if value(d.LeafWeight) != 0 {
			t.v1Only(fBlockIO + index("weightDevice", i) + ".leafWeight")
		}
	}
	for _, l := range throttles(b) {
		for i, d := range l.list {
			t.add(Write{Controller: "io", File: "io.max", Field: fBlockIO + index(l.field, i),
				Value: device(d.Major, d.Minor) + " " + l.v2 + "=" + unsigned(d.Rate)})
		}
	}
}

// hugetlb sets the limit of use and, where the kernel has it (5.7), of reservations: a mapping
// over the limit then fails instead of ending in SIGBUS.
func (t *table) hugetlb(list []specs.LinuxHugepageLimit) {
	suffix := ".limit_in_bytes"
	if t.f.V2 {
		suffix = ".max"
	}
	for i, l := range list {
		field := index(fHuge, i)
		if !pageSize(l.Pagesize) {
			t.fail(field+".pageSize", `"`+l.Pagesize+`" is not a page size such as 64KB, 2MB or 1GB`)
			return
		}
		w := Write{Controller: "hugetlb", File: "hugetlb." + l.Pagesize + suffix, Value: unsigned(l.Limit), Field: field}
		t.add(w)
		w.File, w.Optional = "hugetlb."+l.Pagesize+".rsvd"+suffix, true
		t.add(w)
	}
}

// pageSize is digits and KB, MB or GB: it becomes part of a file's name.
func pageSize(s string) bool {
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s, "KB"), "MB"), "GB")
	if digits == "" || len(digits) != len(s)-2 {
		return false
	}
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

func (t *table) rdma(devices map[string]specs.LinuxRdma) {
	for _, name := range sortedKeys(devices) {
		d, v := devices[name], name
		if name == "" || strings.ContainsAny(name, " \t\n") {
			t.fail(key(fRdma, name), "not the name of a device")
			return
		}
		if d.HcaHandles != nil {
			v += " hca_handle=" + unsigned(uint64(*d.HcaHandles))
		}
		if d.HcaObjects != nil {
			v += " hca_object=" + unsigned(uint64(*d.HcaObjects))
		}
		t.add(Write{Controller: "rdma", File: "rdma.max", Value: v, Field: key(fRdma, name)})
	}
}

// unified is v2's own: file names and values as they are, after everything else so that they
// win.
func (t *table) unified(m map[string]string) {
	if len(m) == 0 {
		return
	}
	if !t.f.V2 {
		if t.err == nil {
			t.err = &FieldError{fUnified, ErrUnifiedOnV1}
		}
		return
	}
	for _, file := range sortedKeys(m) {
		controller, _, ok := strings.Cut(file, ".")
		if !ok || controller == "" || strings.ContainsAny(file, "/\x00") {
			t.fail(key(fUnified, file), "must be in the form CONTROLLER.PARAMETER")
			return
		}
		w := Write{Controller: controller, File: file, Value: m[file], Field: key(fUnified, file)}
		if controller == "cgroup" {
			w.Controller = ""
			if t.err == nil {
				t.list = append(t.list, w)
			}
			continue
		}
		t.add(w)
	}
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
