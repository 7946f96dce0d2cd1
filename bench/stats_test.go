package main

import (
	"math"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		q    float64
		want float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0.9, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.9, 10},
		{[]float64{5, 1}, 0, 1},
		{[]float64{5, 1}, 1, 5},
	} {
		if got := quantile(c.xs, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.xs, c.q, got, c.want)
		}
	}
}

func TestQuantileKeepsOrder(t *testing.T) {
	xs := []float64{3, 1, 2}
	quantile(xs, 0.5)
	if !slices.Equal(xs, []float64{3, 1, 2}) {
		t.Errorf("samples were reordered: %v", xs)
	}
}

func TestRatioOfMedians(t *testing.T) {
	a, b := noisy(60, 2, 0.3), noisy(60, 4, 0.3)
	got := ratioOfMedians(a, b)
	if want := median(a) / median(b); got.value != want {
		t.Errorf("value %v, want %v", got.value, want)
	}
	if got.low > got.value || got.high < got.value || got.low < 0.45 || got.high > 0.55 {
		t.Errorf("interval %v does not fit", got)
	}
	if again := ratioOfMedians(a, b); again != got {
		t.Errorf("the same samples gave %v, then %v", got, again)
	}
	if one := ratioOfMedians(a, a); one != (ratio{1, 1, 1}) {
		t.Errorf("ratio to itself, round by round, is %v", one)
	}
	if uneven := ratioOfMedians(a[:50], b); uneven.low >= uneven.high {
		t.Errorf("interval of samples of different sizes: %v", uneven)
	}
	if none := ratioOfMedians(nil, b); none != (ratio{}) {
		t.Errorf("no samples: %v", none)
	}
}

// noisy returns n values between mid-width and mid+width, spread evenly, in a fixed disorder.
func noisy(n int, mid, width float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mid - width + 2*width*float64((i*37)%n)/float64(n-1)
	}
	return out
}

func TestOrders(t *testing.T) {
	for n := 1; n <= 7; n++ {
		rows := orders(n)
		place := map[[2]int]int{}
		follows := map[[2]int]int{}
		for _, row := range rows {
			for i, v := range row {
				place[[2]int{i, v}]++
				if i > 0 {
					follows[[2]int{row[i-1], v}]++
				}
			}
		}
		if len(place) != n*n || !allEqual(place) {
			t.Errorf("n=%d: places are uneven: %v", n, place)
		}
		if len(follows) != n*(n-1) || !allEqual(follows) {
			t.Errorf("n=%d: neighbours are uneven: %v", n, follows)
		}
	}
}

func allEqual(m map[[2]int]int) bool {
	for _, v := range m {
		for _, w := range m {
			if v != w {
				return false
			}
		}
	}
	return true
}
