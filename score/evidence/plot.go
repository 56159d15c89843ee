package evidence

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// A Trajectory is the entropy of one triangulation, round by round.
type Trajectory struct {
	Name   string
	Shares []float64 // of the largest entropy; Shares[0] is before the first round
	Gates  []Gate    // Gates[i] is that of round i+1
}

// Trajectory returns the entropy round by round. Without a name the line is named after the hypothesis that leads.
func (r Result) Trajectory(name string) Trajectory {
	priors := make([]float64, 0, len(r.Priors))
	for _, s := range r.Ranking {
		priors = append(priors, r.Priors[s.Hypothesis])
	}
	if name == "" && len(r.Ranking) > 0 {
		name = fmt.Sprintf("%s leads, %.2f", r.Ranking[0].Hypothesis, r.Ranking[0].Weight)
	}
	t := Trajectory{Name: name, Shares: []float64{entropyShare(priors)}}
	for _, round := range r.Rounds {
		t.Shares = append(t.Shares, round.EntropyShare)
		t.Gates = append(t.Gates, round.Gate)
	}
	return t
}

// Okabe and Ito's colours, which people with colour blindness tell apart too.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// The drawing: a field of plotWidth × plotHeight with room for the axes around it and names on the right.
const (
	plotLeft, plotTop, plotWidth, plotHeight = 56.0, 44.0, 420.0, 240.0
	imageWidth, imageHeight                  = 680.0, 344.0
	lineOfText                               = 14.0
	titleHeight                              = 18.0   // of each line of the title after the first
	titleWidth, labelWidth                   = 72, 28 // characters that fit the title's line and the room for names
)

// wrapped breaks a text between words, or within one that is longer than a line, into lines of at most width
// characters.
func wrapped(text string, width int) []string {
	var lines []string
	line := []rune{}
	for word := range strings.FieldsSeq(text) {
		w := []rune(word)
		if len(line) > 0 && len(line)+1+len(w) > width {
			lines, line = append(lines, string(line)), line[:0]
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, w...); len(line) > width; line = line[width:] {
			lines = append(lines, string(line[:width]))
		}
	}
	return append(lines, string(line))
}

// shortened is a text of at most width characters, the last of which is … if there were more.
func shortened(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text
}

// EntropySVG draws how undecided each triangulation was after each round, as an SVG image. The dashed line
// is the share below which a quiet round may stop. Equal input gives equal bytes.
func EntropySVG(title string, stopShare float64, lines []Trajectory) []byte {
	rounds := 1
	for _, l := range lines {
		rounds = max(rounds, len(l.Shares)-1)
	}
	x := func(round int) float64 { return plotLeft + float64(plotWidth*float64(round))/float64(rounds) }
	y := func(share float64) float64 { return plotTop + float64(plotHeight*(1-share)) }

	heading := wrapped(oneLine(title), titleWidth)
	below := titleHeight * float64(len(heading)-1)
	height := imageHeight + below
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" font-family="sans-serif" font-size="12">`+"\n",
		imageWidth, height, imageWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(oneLine(title)))
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#ffffff"/>`+"\n", imageWidth, height)
	for i, text := range heading {
		fmt.Fprintf(&b, `<text x="%g" y="%g" font-size="14" font-weight="bold">%s</text>`+"\n", plotLeft, 24+float64(titleHeight*float64(i)), html.EscapeString(text))
	}
	fmt.Fprintf(&b, `<g transform="translate(0 %g)">`+"\n", below)
	for _, share := range []float64{0, .25, .5, .75, 1} {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n", plotLeft, y(share), plotLeft+plotWidth, y(share))
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end">%.2f</text>`+"\n", plotLeft-6, y(share)+4, share)
	}
	every := max(1, (rounds+9)/10)
	for round := 0; round <= rounds; round += every {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x(round), plotTop+plotHeight+18, round)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">round</text>`+"\n", plotLeft+plotWidth/2, plotTop+plotHeight+36)
	fmt.Fprintf(&b, `<text x="16" y="%.1f" text-anchor="middle" transform="rotate(-90 16 %.1f)">entropy / ln k</text>`+"\n", plotTop+plotHeight/2, plotTop+plotHeight/2)
	fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#555555" stroke-dasharray="5 4"/>`+"\n", plotLeft, y(stopShare), plotLeft+plotWidth, y(stopShare))
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="#555555" font-size="11">stop below %.3f</text>`+"\n", plotLeft+4, y(stopShare)-4, stopShare)

	labels := spread(lines, y)
	for i, l := range lines {
		colour := colours[i%len(colours)]
		points := make([]string, len(l.Shares))
		for round, share := range l.Shares {
			points[round] = fmt.Sprintf("%.1f,%.1f", x(round), y(share))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		for round, share := range l.Shares {
			gate := Continue
			if round > 0 && round <= len(l.Gates) {
				gate = l.Gates[round-1]
			}
			point(&b, x(round), y(share), colour, gate)
		}
		if n := len(l.Shares); n > 0 && l.Name != "" {
			fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="0.5"/>`+"\n", x(n-1)+5, y(l.Shares[n-1]), plotLeft+plotWidth+10, labels[i], colour)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s" font-size="%g">%s</text>`+"\n", plotLeft+plotWidth+12, labels[i]+4, colour, min(12, apart(lines)-1), html.EscapeString(shortened(oneLine(l.Name), labelWidth)))
		}
	}
	fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end" font-size="11" fill="#555555">● continue  ○ forced, exhausted  ■ stop</text>`+"\n", imageWidth-8, plotTop+plotHeight+36)
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

func point(b *strings.Builder, x, y float64, colour string, gate Gate) {
	switch gate {
	case Stop:
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"><title>%s</title></rect>`+"\n", x-4, y-4, colour, gate)
	case Forced, Exhausted:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#ffffff" stroke="%s" stroke-width="2"><title>%s</title></circle>`+"\n", x, y, colour, gate)
	default:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
	}
}

// apart is the distance between names: a line of text, or less where so many would not fit the height.
func apart(lines []Trajectory) float64 {
	return min(lineOfText, plotHeight/float64(max(len(lines)-1, 1)))
}

// spread places the names of the lines at their ends, one below the other.
func spread(lines []Trajectory, y func(float64) float64) []float64 {
	at := make([]float64, len(lines))
	order := make([]int, 0, len(lines))
	for i, l := range lines {
		if n := len(l.Shares); n > 0 {
			at[i] = y(l.Shares[n-1])
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	for i := 1; i < len(order); i++ {
		at[order[i]] = max(at[order[i]], at[order[i-1]]+apart(lines))
	}
	lowest := plotTop + plotHeight
	for i := len(order) - 1; i >= 0; i-- {
		at[order[i]] = min(at[order[i]], lowest)
		lowest = at[order[i]] - apart(lines)
	}
	return at
}
