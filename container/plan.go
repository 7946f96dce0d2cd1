package container

import (
	"strings"

	"berth/plan"
)

// planID stands for the id in a plan that is only printed.
const planID = "ID"

// Plan returns, as text, what Create would do with a bundle, and its warnings. It changes
// nothing, and works without privileges: what it can't look at counts as usual.
func Plan(dir string, o Options) (text string, warnings []string, err error) {
	b, err := loadBundle(dir)
	if err != nil {
		return "", nil, err
	}
	f, h, err := resolve(planID, b, &o)
	if err != nil {
		return "", nil, err
	}
	f.Privileged = true // as the operator's berth will be
	f.Caps = ^uint64(0)
	p, err := plan.Build(b.spec, f)
	if err != nil {
		return "", nil, err
	}
	if _, err := p.Encode(plan.Layout{FaultOp: -1}); err != nil {
		return "", nil, err
	}
	var w strings.Builder
	for _, write := range h.writes {
		w.WriteString("cgroup " + write.Controller + ": " + write.String() + "\n")
	}
	return w.String() + p.String(), p.Warnings, nil
}
