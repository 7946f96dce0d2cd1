package tests

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// together runs calls at once and returns how they ended.
func together(calls ...*call) []result {
	out := make([]result, len(calls))
	for _, c := range calls {
		c.start()
	}
	for i, c := range calls {
		out[i] = c.wait()
	}
	return out
}

func winners(rs []result) int {
	n := 0
	for _, r := range rs {
		if r.code == 0 {
			n++
		}
	}
	return n
}

func TestRaceOfCreates(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 6 {
		id := w.id()
		var calls []*call
		for range 8 {
			calls = append(calls, w.rt("create", "--bundle", b.dir, id))
		}
		rs := together(calls...)
		expect(w, "creates of one id that succeed", winners(rs), 1)
		for _, r := range rs {
			if r.code != 0 {
				r.fails("exist").lacks("does not exist")
			}
		}
		c := &container{w: w, id: id}
		c.hasStatus("created")
		c.start()
		c.hasStatus("running")
		c.delete("--force")
		expect(w, "leaks", strings.Join(w.leaks(), "\n"), "")
	}
}

func TestRaceOfStarts(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(sh("echo once >>/log/started; exec probe term"), logged(w))
	for i := range 6 {
		c := w.create(b)
		var calls []*call
		for range 6 {
			calls = append(calls, w.rt("start", c.id))
		}
		expect(w, "starts that succeed", winners(together(calls...)), 1)
		c.prints("ready")
		c.hasStatus("running")
		expect(w, "times it ran", len(lines(w.read(w.dir+"/log/started"))), i+1)
		c.delete("--force")
	}
}

func TestRaceOfDeletes(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 6 {
		c := w.started(b)
		rs := together(w.rt("delete", "--force", c.id), w.rt("delete", "-f", c.id), w.rt("delete", "-f", c.id), w.rt("state", c.id), w.rt("list"), w.rt("kill", c.id, "KILL"))
		for _, r := range rs[:3] {
			r.ok()
		}
		rs[4].ok()
		if rs[3].code != 0 {
			rs[3].fails("does not exist")
		}
		c.gone()
	}
}

// create against delete of the same id: whatever wins, the id is in one piece.
func TestRaceOfCreateAndDelete(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 12 {
		id := w.id()
		rs := together(w.rt("create", "--bundle", b.dir, id), w.rt("delete", "--force", id), w.rt("state", id), w.rt("delete", "--force", id))
		rs[1].ok()
		rs[3].ok()
		if r := w.rt("state", id).run(); r.code == 0 {
			holds(w, "state", r.out, `"created"`)
		} else {
			r.fails("does not exist")
		}
		w.rt("delete", "--force", id).ok()
		var left []string
		if !eventually(3*time.Second, func() bool { left = w.leaks(); return len(left) == 0 }) {
			t.Fatalf("left: %v", left)
		}
	}
}

func TestRaceOfStartAndKill(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 12 {
		c := w.create(b)
		rs := together(w.rt("start", c.id), w.rt("kill", c.id, "KILL"))
		rs[1].ok()
		if rs[0].code != 0 {
			rs[0].fails()
		}
		c.becomes("stopped")
		c.delete()
	}
}

// Twenty containers at once, each through its whole life, in one root.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	var ids []string
	for range 20 {
		ids = append(ids, w.id())
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	step := func(id string, args ...string) {
		mu.Lock() // only the test's own bookkeeping is serial
		c := w.rt(args...).start()
		mu.Unlock()
		if r := c.wait(); r.code != 0 {
			t.Errorf("%s: %v", id, r)
		}
	}
	for _, id := range ids {
		all.Go(func() {
			for range 2 {
				step(id, "create", "--bundle", b.dir, id)
				step(id, "start", id)
				step(id, "state", id)
				step(id, "list")
				step(id, "delete", "--force", id)
			}
		})
	}
	all.Wait()
	expect(w, "list", w.rt("list", "-q").ok().out, "")
}
