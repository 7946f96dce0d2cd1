package main

import (
	"math/rand/v2"
	"slices"
)

// quantile returns the q-quantile (0..1) of xs, interpolated between neighbours; 0 when
// there are none. xs is not changed.
func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return sortedQuantile(slices.Sorted(slices.Values(xs)), q)
}

func sortedQuantile(s []float64, q float64) float64 {
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func median(xs []float64) float64 { return quantile(xs, 0.5) }

// A ratio is one of medians, with its 95% interval.
type ratio struct {
	value, low, high float64
}

const (
	resamples     = 4000
	bootstrapSeed = 1
)

// ratioOfMedians is median(a)/median(b). The interval is a percentile bootstrap over
// rounds: sample i of a and of b were taken in the same round, next to each other, so a
// round is drawn as a whole and what disturbed the machine for both is kept together.
// With a different number of samples each is drawn on its own. The generator's seed is
// fixed: the same samples give the same interval.
func ratioOfMedians(a, b []float64) ratio {
	r := rand.New(rand.NewPCG(bootstrapSeed, 0))
	if len(a) == 0 || len(b) == 0 || median(b) == 0 {
		return ratio{}
	}
	drawA, drawB := make([]float64, len(a)), make([]float64, len(b))
	got := make([]float64, resamples)
	for i := range got {
		resample(r, a, b, drawA, drawB)
		slices.Sort(drawA)
		slices.Sort(drawB)
		got[i] = sortedQuantile(drawA, 0.5) / sortedQuantile(drawB, 0.5)
	}
	slices.Sort(got)
	return ratio{
		value: median(a) / median(b),
		low:   sortedQuantile(got, 0.025),
		high:  sortedQuantile(got, 0.975),
	}
}

func resample(r *rand.Rand, a, b, drawA, drawB []float64) {
	if len(a) == len(b) {
		for i := range drawA {
			at := r.IntN(len(a))
			drawA[i], drawB[i] = a[at], b[at]
		}
		return
	}
	for i := range drawA {
		drawA[i] = a[r.IntN(len(a))]
	}
	for i := range drawB {
		drawB[i] = b[r.IntN(len(b))]
	}
}

// orders returns the rows of a Williams square for n contenders: over all rows each one
// runs equally often in each place, and equally often right after each other one, so what
// one leaves behind in the kernel is shared out evenly.
func orders(n int) [][]int {
	first := make([]int, n)
	for i := range first {
		if i%2 == 1 {
			first[i] = (i + 1) / 2
		} else {
			first[i] = (n - i/2) % n
		}
	}
	var rows [][]int
	for shift := range n {
		row := make([]int, n)
		for i, v := range first {
			row[i] = (v + shift) % n
		}
		rows = append(rows, row)
	}
	if n%2 == 0 {
		return rows
	}
	for _, row := range rows[:n:n] {
		back := slices.Clone(row)
		slices.Reverse(back)
		rows = append(rows, back)
	}
	return rows
}
