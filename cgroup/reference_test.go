//go:build cgo

// specconv, which turns linux.resources into what runc's module takes, needs cgo.

package cgroup

import (
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/cgroups"
	_ "github.com/opencontainers/cgroups/devices"
	devices "github.com/opencontainers/cgroups/devices/config"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// What runc's own module does is the reference, here and in real_test.go.

func TestConversionsAsReference(t *testing.T) {
	for shares := uint64(0); shares < 1<<18+10; shares++ {
		if got, want := CPUWeight(shares), cgroups.ConvertCPUSharesToCgroupV2Value(shares); got != want {
			t.Fatalf("CPUWeight(%d) = %d, want %d", shares, got, want)
		}
	}
	for w := uint16(10); w <= 1000; w++ {
		if got, want := IOWeight(w), cgroups.ConvertBlkIOToIOWeightValue(w); got != want {
			t.Fatalf("IOWeight(%d) = %d, want %d", w, got, want)
		}
	}
	sizes := []int64{-2, -1, 0, 1, 4096, 4097, 1 << 30}
	for _, limit := range sizes {
		for _, swap := range sizes[1:] {
			want, err := cgroups.ConvertMemorySwapToCgroupV2Value(swap, limit)
			tb := table{}
			got, set := tb.swapV2(limit, swap)
			if (err != nil) != (tb.err != nil) {
				t.Errorf("limit %d swap %d: error %v, want %v", limit, swap, tb.err, err)
			}
			if err == nil && set && got != want {
				t.Errorf("limit %d swap %d: %d, want %d", limit, swap, got, want)
			}
			if err == nil && !set && want != 0 {
				t.Errorf("limit %d swap %d: not set, want %d", limit, swap, want)
			}
		}
	}
}

func maybe[T any](r *rand.Rand, values ...T) *T {
	if r.Intn(3) == 0 {
		return nil
	}
	return ptr(values[r.Intn(len(values))])
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// randomResources keeps to what both say the same about; the differences are in
// writes_test.go.
func randomResources(r *rand.Rand, v2 bool) *specs.LinuxResources {
	res := &specs.LinuxResources{
		Memory: &specs.LinuxMemory{
			Limit:       maybe[int64](r, -1, 1<<20, 1<<30),
			Reservation: maybe[int64](r, -1, 1<<19),
		},
		CPU: &specs.LinuxCPU{
			Shares: maybe[uint64](r, 0, 2, 3, 512, 1024, 1<<18), Quota: maybe[int64](r, -1, 0, 20000),
			Period: maybe[uint64](r, 0, 100000, 50000), Burst: maybe[uint64](r, 10000, 5000),
			Cpus: deref(maybe(r, "0", "0-1")), Mems: deref(maybe(r, "0")),
		},
		Pids:    &specs.LinuxPids{Limit: maybe[int64](r, -1, 0, 5)},
		BlockIO: &specs.LinuxBlockIO{Weight: maybe[uint16](r, 0, 10, 500, 1000)},
	}
	if res.Memory.Limit != nil && *res.Memory.Limit != -1 {
		res.Memory.Swap = maybe[int64](r, -1, *res.Memory.Limit, *res.Memory.Limit+4096)
	}
	if r.Intn(2) == 0 {
		d := specs.LinuxThrottleDevice{Rate: 1000}
		d.Major, d.Minor = 8, 16
		res.BlockIO.ThrottleReadBpsDevice = []specs.LinuxThrottleDevice{d}
		res.HugepageLimits = []specs.LinuxHugepageLimit{{Pagesize: "2MB", Limit: 1 << 21}}
		res.Rdma = map[string]specs.LinuxRdma{"mlx5_1": {HcaHandles: maybe[uint32](r, 3), HcaObjects: ptr(uint32(10000))}}
	}
	if v2 {
		if r.Intn(2) == 0 {
			res.Unified = map[string]string{"memory.high": "1000", "io.weight": "default 100"}
		}
		return res
	}
	res.Memory.Swappiness = maybe[uint64](r, 0, 100)
	res.Memory.DisableOOMKiller = maybe(r, true, false)
	res.CPU.RealtimePeriod = maybe[uint64](r, 1000000)
	res.CPU.RealtimeRuntime = maybe[int64](r, 950000)
	res.Network = &specs.LinuxNetwork{ClassID: maybe[uint32](r, 0, 1048577),
		Priorities: []specs.LinuxInterfacePriority{{Name: "eth0", Priority: 500}, {Name: "lo", Priority: 0}}}
	return res
}

// The last value that each file gets is the same as with runc's module, on files that stand in
// for cgroupfs.
func TestWritesAsReference(t *testing.T) {
	cgroups.TestMode = true
	defer func() { cgroups.TestMode = false }()
	r := rand.New(rand.NewSource(1))
	for _, v2 := range []bool{false, true} {
		for range 60 {
			res := randomResources(r, v2)
			f := everything(v2)
			list, err := UpdateWrites(res, f)
			if err != nil {
				t.Fatal(err)
			}
			want := reference(t, res, v2)
			got := map[string]string{}
			for i := range list {
				w := &list[i]
				if w.Else != nil && w.Else.File == "blkio.bfq.weight" {
					w = w.Else // the stand-ins are empty directories: no blkio.weight there
				}
				got[w.File] = w.Value
			}
			// Where runc leaves a file out, since it is not there or has no effect.
			if v2 {
				if _, ok := want["io.weight"]; ok && got["io.bfq.weight"] != "" {
					got["io.weight"] = want["io.weight"]
					delete(got, "io.bfq.weight")
				}
			} else if got["memory.memsw.limit_in_bytes"] == "-1" {
				want["memory.memsw.limit_in_bytes"] = "-1"
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("v2 %v\n got %v\nwant %v", v2, got, want)
			}
		}
	}
}

// reference lets runc's module write, into a directory for each controller of v1.
func reference(t *testing.T, res *specs.LinuxResources, v2 bool) map[string]string {
	t.Helper()
	cg, err := specconv.CreateCgroupConfig(&specconv.CreateOpts{Spec: &specs.Spec{Linux: &specs.Linux{Resources: res}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if v2 {
		prepare(t, dir, "cgroup.controllers", "memory cpu")
		m, err := fs2.NewManager(cg, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set(cg.Resources); err != nil {
			t.Fatal(err)
		}
		return contents(t, dir)
	}
	prepare(t, dir, "memory.limit_in_bytes", "9223372036854771712")
	for _, s := range []interface {
		Set(string, *cgroups.Resources) error
	}{&fs.MemoryGroup{}, &fs.CpuGroup{}, &fs.CpusetGroup{}, &fs.PidsGroup{}, &fs.BlkioGroup{}, &fs.HugetlbGroup{},
		&fs.NetClsGroup{}, &fs.NetPrioGroup{}, &fs.RdmaGroup{}} {
		if err := s.Set(dir, cg.Resources); err != nil {
			t.Fatal(err)
		}
	}
	return contents(t, dir)
}

func prepare(t *testing.T, dir, file, text string) {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	m := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		text := strings.TrimSpace(string(b))
		if e.Name() == "cgroup.controllers" || text == "9223372036854771712" {
			continue
		}
		m[e.Name()] = text
	}
	return m
}

// runc's module, given the same rules, leaves the same devices.list.
func TestRealDevicesAsReference(t *testing.T) {
	h := hostV1(t)
	r := rand.New(rand.NewSource(7))
	compared := 0
	for i := range 60 {
		linux := randomRules(r)
		cg, err := specconv.CreateCgroupConfig(&specconv.CreateOpts{Spec: &specs.Spec{Linux: linux}}, specconv.AllowedDevices)
		must(t, err)
		g := resolve(t, h, testPath(t)+itoa(i))
		must(t, g.Create(nil))
		dir := g.Paths()["devices"]
		ref := dir + "-ref"
		must(t, os.Mkdir(ref, 0o755))
		wantErr := cgroups.DevicesSetV1(ref, cg.Resources)
		want := ""
		if wantErr == nil {
			want = read(t, ref+"/devices.list")
		}
		must(t, os.Remove(ref))
		w, err := Writes(linux, h.Facts())
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%v: error %v, want %v", show2(cg.Resources.Devices), err, wantErr)
		}
		if err != nil {
			continue
		}
		must(t, g.Apply(w))
		got := strings.Split(read(t, dir+"/devices.list"), "\n")
		wanted := strings.Split(want, "\n")
		slices.Sort(got)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%v\n got %q\nwant %q", show2(cg.Resources.Devices), got, wanted)
		}
		compared++
		g.Undo()
	}
	if compared < 20 {
		t.Errorf("only %d compared", compared)
	}
}

func show2(list []*devices.Rule) (out []string) {
	for _, r := range list {
		out = append(out, r.CgroupString())
	}
	return out
}
