package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// String prints the plan, one line an operation: index, name, slots (p: passed by stage0,
// s: opened by stage1), operands, the alternative, and what it is for.
func (p *Plan) String() string {
	var w strings.Builder
	if p.Early != 0 {
		fmt.Fprintf(&w, "beforehand, on a thread of its own: %s\n", namespaceList(p.Early))
	}
	if p.Cloneflags != 0 {
		fmt.Fprintf(&w, "clone with %s\n", namespaceList(p.Cloneflags))
	}
	for i, s := range p.Pass {
		fmt.Fprintf(&w, "pass p%d: %s\n", i, s.describe())
	}
	for _, r := range p.Rlimits {
		fmt.Fprintf(&w, "at sync %d: set %s to %d, %d\n", SyncFinal, r.Name, r.Soft, r.Hard)
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		fmt.Fprintf(&w, "%3d %s", i, op.operands())
		if op.IfSkipped {
			fmt.Fprintf(&w, " if-skipped=%d", op.Num[3])
		}
		if op.Skip {
			fmt.Fprintf(&w, " {on %s: skip}", op.AltOn)
		} else if op.Alt != nil {
			fmt.Fprintf(&w, " {on %s: %s}", op.AltOn, op.Alt.operands())
		}
		w.WriteString("  # " + op.What)
		if op.Field != "" {
			w.WriteString(" [" + op.Field + "]")
		}
		w.WriteByte('\n')
	}
	return w.String()
}

func (s *Pass) describe() string {
	switch s.Kind {
	case PassFifo:
		return "the start fifo " + s.Path
	case PassNamespace:
		return "namespace " + s.Path
	}
	if s.Recursive {
		return "open_tree " + strconv.Quote(s.Path) + " recursive"
	}
	return "open_tree " + strconv.Quote(s.Path)
}

// String lists the errnos, separated by "|".
func (e Errnos) String() string {
	var names []string
	for _, n := range errnoNames {
		if e&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, "|")
}

func (op *Op) operands() string {
	var w strings.Builder
	w.WriteString(op.Code.String())
	for _, s := range op.Slot {
		switch {
		case s == NoSlot:
		case s >= firstLocal:
			fmt.Fprintf(&w, " s%d", s-firstLocal)
		default:
			fmt.Fprintf(&w, " p%d", s)
		}
	}
	for i := range op.Str {
		op.Str[i].print(&w)
	}
	nums := op.Num[:]
	if op.IfSkipped {
		nums = nums[:3]
	}
	for len(nums) > 0 && nums[len(nums)-1] == 0 {
		nums = nums[:len(nums)-1]
	}
	for _, n := range nums {
		if n < 10 {
			fmt.Fprintf(&w, " %d", n)
		} else {
			fmt.Fprintf(&w, " %#x", n)
		}
	}
	return w.String()
}

func (a *Arg) print(w *strings.Builder) {
	switch a.Kind {
	case 's':
		w.WriteString(" " + strconv.Quote(a.Text))
	case 'b':
		fmt.Fprintf(w, " blob(%q)", a.Text)
	case 'v':
		fmt.Fprintf(w, " %q", a.List)
	case 'p':
		for i := 0; i+1 < len(a.List); i += 2 {
			w.WriteString(" " + a.option(i))
		}
	}
}

// option is the pair that begins at element i, as config.json has it.
func (a *Arg) option(i int) string {
	if a.Null[i+1] {
		return a.List[i]
	}
	return a.List[i] + "=" + a.List[i+1]
}

func namespaceList(flags uint64) string {
	var names []string
	for _, n := range []struct {
		flag uint64
		name string
	}{
		{newUser, "user"}, {newNS, "mount"}, {newPID, "pid"}, {newNet, "network"}, {newIPC, "ipc"},
		{newUTS, "uts"}, {newCgroup, "cgroup"},
	} {
		if flags&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return "new namespaces: " + strings.Join(names, ", ")
}
