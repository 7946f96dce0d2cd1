package main

import (
	"bytes"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// bars are the contenders of the chart, from the top of a group, and their colours.
var bars = []struct {
	name  string
	color color.Color
}{
	{berth, color.RGBA{0x0b, 0x65, 0xa3, 0xff}},
	{crunStatic, color.RGBA{0xf0, 0xb2, 0x67, 0xff}},
	{crun, color.RGBA{0xc8, 0x6a, 0x1b, 0xff}},
	{runc, color.RGBA{0x8a, 0x8f, 0x98, 0xff}},
}

const (
	barWidth   = vg.Length(9)
	groupWidth = vg.Length(46)
	chartWidth = vg.Length(656)
	titleSpace = vg.Length(66)
	margin     = vg.Length(8)

	slack        = "   " // after a title: the viewer's font may be wider
	legendGroups = 1.4   // height of the legend, in groups
)

// drawChart writes an SVG: a group of horizontal bars for each workload, the medians.
func drawChart(r *results) ([]byte, error) {
	p := plot.New()
	sans(p)
	p.BackgroundColor = color.White
	p.Title.Text = "Time to run a container and remove every trace of it: medians, ms (less is better)"
	p.X.Min = 0
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	grid := plotter.NewGrid()
	grid.Horizontal.Width = 0
	grid.Vertical.Color = color.Gray{0xdd}
	p.Add(grid)
	for i := range bars {
		if err := addBars(p, r, i); err != nil {
			return nil, err
		}
	}
	if err := addFloor(p, r); err != nil {
		return nil, err
	}
	var titles []string
	for _, w := range inChart(r) {
		titles = append(titles, shortTitle(w)+slack)
	}
	p.NominalY(titles...)
	p.X.Max *= 1.08         // room for the longest bar's number
	p.Y.Min -= legendGroups // and for the legend
	p.X.Padding, p.Y.Padding = 0, 0
	p.Legend.Padding = vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(14)
	p.Legend.Left, p.Legend.XOffs = true, vg.Points(4)
	canvas := vgsvg.New(chartWidth, groupWidth*vg.Length(float64(len(titles))+legendGroups)+titleSpace)
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	// Where there is no Liberation Sans another sans will do; widths are much the same.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), err
}

// shortTitle is a workload's title without what the text beside the chart says anyway.
func shortTitle(w workloadResult) string {
	return strings.NewReplacer(", runc's default config", "", "with ", "", " cache", "",
		"create+start+delete", "create, start, delete").Replace(w.Title)
}

// wholeTicks marks every 1, 5 or 10 ms, as fits.
func wholeTicks(low, high float64) []plot.Tick {
	step := 10.0
	if high < 50 {
		step = 5
	}
	if high < 12 {
		step = 1
	}
	var ticks []plot.Tick
	for v := 0.0; v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f", v)})
	}
	return ticks
}

// inChart is the workloads from the bottom up: the first of them is on top.
func inChart(r *results) []workloadResult {
	ws := slices.Clone(r.Workloads)
	slices.Reverse(ws)
	return ws
}

func addBars(p *plot.Plot, r *results, i int) error {
	var values plotter.Values
	var ends plotter.XYLabels
	offset := barWidth * vg.Length(float64(len(bars)-1)/2-float64(i))
	for y, w := range inChart(r) {
		m := median(w.Samples[bars[i].name]) / 1000
		values = append(values, m)
		if m > 0 {
			ends.XYs = append(ends.XYs, plotter.XY{X: m, Y: float64(y)})
			ends.Labels = append(ends.Labels, fmt.Sprintf("%.1f", m))
		}
	}
	if len(ends.XYs) == 0 {
		return nil
	}
	chart, err := plotter.NewBarChart(values, barWidth)
	if err != nil {
		return err
	}
	chart.Horizontal, chart.Color, chart.Offset = true, bars[i].color, offset
	chart.LineStyle.Width = 0
	labels, err := plotter.NewLabels(ends)
	if err != nil {
		return err
	}
	labels.Offset = vg.Point{X: vg.Points(3), Y: offset}
	for j := range labels.TextStyle {
		labels.TextStyle[j].Font.Variant = "Sans"
		labels.TextStyle[j].Font.Size = vg.Points(7)
		labels.TextStyle[j].YAlign = text.YCenter
	}
	p.Add(chart, labels)
	p.Legend.Add(barTitle(r, bars[i].name), chart)
	return nil
}

func barTitle(r *results, name string) string {
	for _, c := range r.Contenders {
		if c.Name == name {
			return c.Title
		}
	}
	return name
}

// addFloor draws a line at the time that the kernel alone takes.
func addFloor(p *plot.Plot, r *results) error {
	w := r.workload("run-default")
	if w == nil || len(w.Samples[floor]) == 0 {
		return nil
	}
	x := median(w.Samples[floor]) / 1000
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: -0.5}, {X: x, Y: float64(len(r.Workloads)) - 0.5}})
	if err != nil {
		return err
	}
	line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	line.Color = color.Gray{0x33}
	p.Add(line)
	p.Legend.Add(fmt.Sprintf("the kernel's floor: %.1f", x), line)
	return nil
}

// sans gives every text of the plot one family: the default is a serif.
func sans(p *plot.Plot) {
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		f.Variant = "Sans"
		f.Size = vg.Points(9)
	}
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.Title.Padding = vg.Points(8)
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
}
