package tests

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A hook of each kind but poststop fails; the container is destroyed, then poststop runs.
func TestHookFailures(t *testing.T) {
	for _, kind := range hookKinds[:5] {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			b := w.bundle(forever, logged(w), hook(w, kind, "bad", "exit=7", "say=the-hooks-own-words"), hook(w, kind, "after"),
				hook(w, "poststop", "stop"))
			c, r := w.tryCreate(b)
			if kind == "startContainer" || kind == "poststart" {
				r.ok()
				r = w.rt("start", c.id).run()
			}
			r.fails(kind, "7", "the-hooks-own-words").lacks("does not exist", "container not running", "permission denied", "no such file")
			c.gone()
			if left := w.leaks(); len(left) > 0 {
				t.Errorf("left after the failed hook: %v", left)
			}
			expect(w, "hooks", w.hookNames(), "bad stop")
			var s state
			w.decode(string(w.record("stop").State), &s)
			expect(w, "status for poststop", s.Status, "stopped")
		})
	}
}

func TestHookFailureInRun(t *testing.T) {
	for _, kind := range hookKinds[:5] {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.runs(w.bundle(forever, logged(w), hook(w, kind, "bad", "exit=3"), hook(w, "poststop", "stop"))).fails(kind)
			expect(w, "hooks", w.hookNames(), "bad stop")
			if entries, _ := os.ReadDir(w.root); len(entries) > 0 {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

// poststop runs after the destruction; its failure is a warning, and the others still run.
func TestPoststopFailureOnlyWarns(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	c := w.id()
	hook(w, "poststop", "one", "exit=1", "check="+filepath.Join(w.root, c))(b.spec)
	hook(w, "poststop", "two")(b.spec)
	b.write()
	w.rt("create", "--bundle", b.dir, c).ok()
	w.rt("start", c).ok()
	r := w.rt("delete", "--force", c).ok()
	if r.err == "" {
		t.Error("no warning about the failed poststop hook")
	}
	expect(w, "hooks", w.hookNames(), "one two")
	if w.record("one").Exist[filepath.Join(w.root, c)] {
		t.Error("poststop ran before the container was destroyed")
	}
}

func TestHookThatCannotRun(t *testing.T) {
	for _, kind := range hookKinds[:5] {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			b := w.bundle(forever, logged(w), hook(w, "poststop", "stop"), func(s *specs.Spec) {
				*hookList(s, kind) = []specs.Hook{{Path: "/no/such/hook"}}
			})
			c, r := w.tryCreate(b)
			if r.code == 0 {
				r = w.rt("start", c.id).run()
			}
			r.fails("/no/such/hook")
			c.gone()
		})
	}
	w := newSerialWorld(t)
	_, r := w.tryCreate(w.bundle(func(s *specs.Spec) { *hookList(s, "prestart") = []specs.Hook{{Path: "relative/hook"}} }))
	r.fails("prestart")
}

func TestHookTimeout(t *testing.T) {
	for _, kind := range hookKinds[:5] {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			b := w.bundle(forever, logged(w), hook(w, kind, "slow", "sleep=30"), hook(w, "poststop", "stop"), func(s *specs.Spec) {
				one := 1
				(*hookList(s, kind))[0].Timeout = &one
			})
			begin := time.Now()
			c, r := w.tryCreate(b)
			if r.code == 0 {
				r = w.rt("start", c.id).run()
			}
			took := time.Since(begin)
			r.fails(kind)
			c.gone()
			if took < 900*time.Millisecond || took > 15*time.Second {
				t.Errorf("a timeout of 1 s took %v", took)
			}
			expect(w, "hooks", w.hookNames(), "slow stop")
		})
	}
}
