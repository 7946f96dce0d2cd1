package main

import (
	"fmt"
	"strings"
)

// Before anything is measured each contender shows that it makes a real container of the
// config: what is seen from inside goes to the report, so that readers can tell whether
// the same work is compared.

// insideScript prints what the container sees.
const insideScript = `m=$(wc -l </proc/self/mountinfo)
g=$(grep -vc ':/$' /proc/self/cgroup)
s=$(grep ^Seccomp: /proc/self/status)
c=$(grep ^CapBnd: /proc/self/status)
echo "$m mounts, $g cgroups, capabilities ${c#CapBnd:?}, seccomp mode ${s#Seccomp:?}"`

// describeContenders checks each one and says what it is.
func describeContenders(e *env, cs []contender) ([]contenderResult, error) {
	bundle, err := makeBundle(e.dir, "inside", bundleOptions{
		seccomp: true,
		args:    []string{"/bin/sh", "-c", insideScript},
	})
	if err != nil {
		return nil, err
	}
	failing, err := makeBundle(e.dir, "failing", bundleOptions{args: []string{"/bin/sh", "-c", "exit 7"}})
	if err != nil {
		return nil, err
	}
	var out []contenderResult
	for _, c := range cs {
		r := contenderResult{Name: c.name, Title: c.title}
		if r.Version, r.Digest, err = c.version(); err != nil {
			return nil, err
		}
		if !c.floor {
			if r.Inside, err = lookInside(e, c, bundle, failing); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

func lookInside(e *env, c contender, bundle, failing string) (string, error) {
	id := e.newID()
	cmd, err := e.spawner.run(c.run(e, bundle, id))
	if err == nil {
		_, err = e.clean(c, id, cmd.end)
	}
	if err != nil {
		e.destroy(c, id)
		return "", err
	}
	seen := strings.Join(strings.Fields(e.spawner.said()), " ")
	id = e.newID()
	cmd, err = e.spawner.run(c.run(e, failing, id))
	if err == nil || cmd.status.ExitStatus() != 7 {
		e.destroy(c, id)
		return "", fmt.Errorf("%s: a container that exits with 7: %v", c.name, err)
	}
	return seen, nil
}
