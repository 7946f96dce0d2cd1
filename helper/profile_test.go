//go:build cgo && seccomp

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestFaultsNameTheirPath(t *testing.T) {
	rule := func(fields string) string {
		return `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_LOG"},` + fields + `]}`
	}
	for _, c := range []struct{ profile, want string }{
		{``, "linux.seccomp: unexpected end of JSON input at byte 0"},
		{`{"defaultAction":`, "linux.seccomp: unexpected end of JSON input at byte 17"},
		{`[]`, "linux.seccomp: array where an object is expected"},
		{`{"syscalls":[{"names":["read"],"action":"SCMP_ACT_LOG"}]}`, "linux.seccomp.defaultAction: missing"},
		{`{"defaultAction":7}`, "linux.seccomp.defaultAction: number where a string is expected"},
		{`{"defaultAction":"SCMP_ACT_DENY"}`, `linux.seccomp.defaultAction: unknown action "SCMP_ACT_DENY"`},
		{`{"defaultAction":"SCMP_ACT_NOTIFY"}`, "linux.seccomp.defaultAction: SCMP_ACT_NOTIFY can't be the default: berth itself has calls to make under the filter"},
		{`{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":65536}`, "linux.seccomp.defaultErrnoRet: 65536 is more than 65535"},
		{`{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":-1}`, "linux.seccomp.defaultErrnoRet: number -1 where a number of 0 or more is expected"},
		{`{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_X86","amd64"]}`, `linux.seccomp.architectures[1]: unknown architecture "amd64"`},
		{`{"defaultAction":"SCMP_ACT_ALLOW","architectures":["SCMP_ARCH_S390X"]}`, "linux.seccomp.architectures[0]: libseccomp: s390x differs from this machine in byte order"},
		{`{"defaultAction":"SCMP_ACT_ALLOW","flags":["SECCOMP_FILTER_FLAG_TURBO"]}`, `linux.seccomp.flags[0]: unknown flag "SECCOMP_FILTER_FLAG_TURBO"`},
		{`{"defaultAction":"SCMP_ACT_ALLOW","flags":["SECCOMP_FILTER_FLAG_LOG","SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"]}`,
			"linux.seccomp.flags[1]: SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a rule with SCMP_ACT_NOTIFY"},
		{`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":{}}`, "linux.seccomp.syscalls: object where a list is expected"},
		{rule(`"read"`), "linux.seccomp.syscalls[1]: string where an object is expected"},
		{rule(`{"names":"read","action":"SCMP_ACT_LOG"}`), "linux.seccomp.syscalls[1].names: string where a list is expected"},
		{rule(`{"names":["read"]}`), "linux.seccomp.syscalls[1].action: missing"},
		{rule(`{"names":["read"],"action":"SCMP_ACT_NO"}`), `linux.seccomp.syscalls[1].action: unknown action "SCMP_ACT_NO"`},
		{rule(`{"names":["read"],"action":"SCMP_ACT_ERRNO","errnoRet":70000}`), "linux.seccomp.syscalls[1].errnoRet: 70000 is more than 65535"},
		{rule(`{"names":["read",""],"action":"SCMP_ACT_ERRNO"}`), "linux.seccomp.syscalls[1].names[1]: empty name"},
		{rule(`{"names":["read","write"],"action":"SCMP_ACT_NOTIFY"}`), "linux.seccomp.syscalls[1].names[1]: SCMP_ACT_NOTIFY can't be used for write"},
		{rule(`{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"},{"index":"1"}]}`),
			"linux.seccomp.syscalls[1].args[1].index: string where a number of 0 or more is expected"},
		{rule(`{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":0,"value":1,"op":"=="}]}`), `linux.seccomp.syscalls[1].args[0].op: unknown operator "=="`},
		{rule(`{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":6,"value":1,"op":"SCMP_CMP_EQ"}]}`),
			"linux.seccomp.syscalls[1].args[0].index: 6: a syscall has the arguments 0 to 5"},
		{rule(`{"names":["dup"],"action":"SCMP_ACT_LOG","args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"}]},
			{"names":["read","dup"],"action":"SCMP_ACT_ERRNO","args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"}]}`),
			"linux.seccomp.syscalls[2].names[1]: an earlier rule has another action for the same calls of dup"},
		{rule(`{"names":["` + strings.Repeat(`x","`, maxRules) + `x"],"action":"SCMP_ACT_ERRNO"}`), "linux.seccomp.syscalls[1]: more than 32768 names in the profile"},
	} {
		_, err := compile([]byte(c.profile), allFlags)
		var bad *profileError
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("%.200s:\n got %v\nwant %s", c.profile, err, c.want)
		}
	}
}

func TestTooManyInstructions(t *testing.T) {
	var rules []string
	for i := range 5000 {
		rules = append(rules, fmt.Sprintf(`{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":1,"value":%d,"op":"SCMP_CMP_EQ"}]}`, i))
	}
	_, err := compile([]byte(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[`+strings.Join(rules, ",")+`]}`), allFlags)
	if err == nil || !strings.HasPrefix(err.Error(), "linux.seccomp: compiles to ") || !strings.HasSuffix(err.Error(), " instructions; the kernel takes 4096") {
		t.Error(err)
	}
}

func TestNoFilter(t *testing.T) {
	for _, profile := range []string{`null`, `{}`, `{"syscalls":[]}`, `{"architectures":["SCMP_ARCH_X86"]}`} {
		f, err := compile([]byte(profile), allFlags)
		if err != nil || len(f.BPF) != 0 || f.Config != nil {
			t.Errorf("%s: %+v, %v", profile, f, err)
		}
	}
}

func TestFlags(t *testing.T) {
	const log, allow, listener, killable = 2, 4, 8, 32
	const notify = `,"syscalls":[{"names":["mkdirat"],"action":"SCMP_ACT_NOTIFY"}]`
	for _, c := range []struct {
		rest         string
		kernel, want uint64
		err          string
	}{
		{``, allFlags, allow, ""},
		{``, allFlags &^ allow, 0, ""},
		{`,"flags":null`, allFlags, allow, ""},
		{`,"flags":[]`, allFlags, 0, ""},
		{`,"flags":["SECCOMP_FILTER_FLAG_TSYNC"]`, allFlags, 0, ""},
		{`,"flags":["SECCOMP_FILTER_FLAG_LOG"]`, allFlags, log, ""},
		{`,"flags":["SECCOMP_FILTER_FLAG_LOG"]`, allFlags &^ log, 0, "linux.seccomp.flags[0]: SECCOMP_FILTER_FLAG_LOG is not known to this kernel"},
		{`,"flags":["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"]` + notify, allFlags, listener | killable, ""},
		{`,"flags":["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"]` + notify, allFlags &^ killable, 0,
			"linux.seccomp.flags[0]: SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is not known to this kernel"},
		{notify, allFlags &^ listener, 0, "linux.seccomp.syscalls: SCMP_ACT_NOTIFY is not known to this kernel"},
	} {
		f, err := compile([]byte(`{"defaultAction":"SCMP_ACT_ALLOW"`+c.rest+`}`), c.kernel)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s on %#x: error %v, want %s", c.rest, c.kernel, err, c.err)
			}
		} else if err != nil || f.Flags != c.want {
			t.Errorf("%s on %#x: %+v, %v, want %#x", c.rest, c.kernel, f, err, c.want)
		}
	}
}

// The libcontainer form must be what libcontainer itself makes of a profile, byte for byte.
func TestConfigIsLibcontainers(t *testing.T) {
	for name, text := range profiles {
		text = localize(text)
		var spec specs.LinuxSeccomp
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(name, err)
		}
		config, err := specconv.SetupSeccomp(&spec)
		if err != nil {
			t.Fatal(name, err)
		}
		want, _ := json.Marshal(config)
		f, err := compile([]byte(text), allFlags)
		if err != nil || string(f.Config) != string(want) {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, f.Config, want)
		}
	}
}

func TestNotifyAndSkipped(t *testing.T) {
	f, err := compile([]byte(`{"defaultAction":"SCMP_ACT_ALLOW","listenerPath":"/run/agent","listenerMetadata":"m","syscalls":[
		{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_NOTIFY"},{"names":["nosuch","read"],"action":"SCMP_ACT_ERRNO"}]}`), allFlags)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Notify || !reflect.DeepEqual(f.NotifySyscalls, []string{"mkdir", "mkdirat"}) || f.ListenerPath != "/run/agent" ||
		f.ListenerMetadata != "m" || !reflect.DeepEqual(f.Skipped, []string{"nosuch"}) {
		t.Errorf("%+v", f)
	}
}

// Random profiles against runc; the seed is fixed, so that a failure can be seen again.
func TestRandomProgramsAreRuncs(t *testing.T) {
	docker, err := os.ReadFile("../seccomp/testdata/docker.json")
	if err != nil {
		t.Fatal(err)
	}
	var from specs.LinuxSeccomp
	if err := json.Unmarshal(docker, &from); err != nil {
		t.Fatal(err)
	}
	names := from.Syscalls[0].Names
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		p := randomProfile(r, names)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if _, err := compile([]byte(p), allFlags); err != nil {
				refusedByRunc(t, p, err)
				return
			}
			compareWithRunc(t, p)
		})
	}
}

// refusedByRunc: what is refused here must be refused by libcontainer as well.
func refusedByRunc(t *testing.T, profile string, err error) {
	t.Helper()
	var p specs.LinuxSeccomp
	if err := json.Unmarshal([]byte(profile), &p); err != nil {
		t.Fatal(err)
	}
	config, _ := specconv.SetupSeccomp(&p)
	text, _ := json.Marshal(config)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second) // it spins if it is not refused
	defer stop()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	out, failed := cmd.CombinedOutput()
	if failed == nil || !strings.Contains(string(out), "error adding seccomp") {
		t.Errorf("refused (%v); runc: %v: %s", err, failed, out)
	}
}

func randomProfile(r *rand.Rand, names []string) string {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	p := specs.LinuxSeccomp{DefaultAction: specs.LinuxSeccompAction(pick("SCMP_ACT_ERRNO", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_ALLOW", "SCMP_ACT_TRAP"))}
	for _, arch := range []specs.Arch{specs.ArchX86_64, specs.ArchX86, specs.ArchX32, specs.ArchAARCH64, specs.ArchARM} {
		if r.IntN(2) == 0 {
			p.Architectures = append(p.Architectures, arch)
		}
	}
	for range 1 + r.IntN(6) {
		errno := uint(r.IntN(100))
		call := specs.LinuxSyscall{Action: specs.LinuxSeccompAction(pick("SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_ALLOW", "SCMP_ACT_LOG")), ErrnoRet: &errno}
		for range 1 + r.IntN(30) {
			call.Names = append(call.Names, pick(names...))
		}
		for range r.IntN(3) {
			op := specs.LinuxSeccompOperator(pick("SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"))
			call.Args = append(call.Args, specs.LinuxSeccompArg{Index: uint(r.IntN(6)), Value: r.Uint64() >> r.IntN(64), ValueTwo: uint64(r.IntN(9)), Op: op})
		}
		p.Syscalls = append(p.Syscalls, call)
	}
	text, _ := json.Marshal(&p)
	return string(text)
}

// parse sees what a hostile config.json holds, before any of it reaches libseccomp.
func FuzzParse(f *testing.F) {
	for _, text := range profiles {
		f.Add([]byte(localize(text)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parse(data)
		var bad *profileError
		if err != nil && (!errors.As(err, &bad) || !strings.HasPrefix(err.Error(), root)) {
			t.Errorf("%q: error without a path: %v", data, err)
		}
		if err == nil && p != nil && p.DefaultAction == "" {
			t.Errorf("%q: accepted without a default action", data)
		}
	})
}
