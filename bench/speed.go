package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

// warmups are rounds before the first that counts.
const warmups = 2

// measureSpeed runs every workload with every contender, one after the other, round by
// round; each round in the next order.
func measureSpeed(e *env, ws []workload, cs []contender, runs int) ([]workloadResult, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	out := make([]workloadResult, len(ws))
	for i, w := range ws {
		out[i] = newWorkloadResult(w)
	}
	for round := -warmups; round < runs; round++ {
		for i, w := range ws {
			if err := measureRound(e, w, cs, round, &out[i]); err != nil {
				return nil, err
			}
		}
		debug.FreeOSMemory()
		if round >= 0 {
			fmt.Fprintf(os.Stderr, "\rround %d of %d", round+1, runs)
		}
	}
	fmt.Fprintln(os.Stderr)
	return out, nil
}

func measureRound(e *env, w workload, cs []contender, round int, out *workloadResult) error {
	var fit []contender
	for _, c := range cs {
		if w.fits(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	rows := orders(len(fit))
	for _, i := range rows[(round+warmups)%len(rows)] {
		s, err := w.measure(e, fit[i])
		if err != nil {
			return err
		}
		if round >= 0 {
			out.add(fit[i], s)
		}
	}
	return nil
}
