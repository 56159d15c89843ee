package sequence

import (
	"cmp"
	"sort"
)

// Discount and prior mass of the interpolation. An absolute discount of 0.4 is between those of
// PPM method D (½) and of Kneser and Ney for rows of single counts; 0.3 keeps a row seen once from
// being sure. Chosen, not tuned.
const (
	Discount = 0.4
	Mass     = 0.3
)

// A Chain predicts the next tool from the last 1, 2, …, order tools, each order resting on the one
// below:
//
//	P₀(t)    = (n(t) + ½) / (N + T/2)
//	Pₖ(t|s)  = (max(n(s,t) - δ, 0) + e(s)·Pₖ₋₁(t)) / (n(s) + μ)      e(s) = δ·u(s) + μ
//
// with s the last k tools, n(s,t) how often t came after s, n(s) their sum, u(s) the number of
// different t, δ = [Discount] and μ = [Mass]. This is interpolated absolute discounting (Ney, Essen
// and Kneser, Computer Speech and Language 8, 1994) with a Dirichlet mass. Contexts never seen are
// passed over: the longest seen suffix is the last to speak. Every Pₖ adds up to 1.
type Chain struct {
	order int
	uses  []int32 // n(t), first steps included
	byUse []int32 // tools with the largest P₀ first, then by number
	total int32
	scale float64 // 1 / (N + T/2)
	rows  Table
}

// NewChain is an empty chain over tools 0 … tools-1 that looks back order steps.
func NewChain(tools, order int) *Chain {
	c := &Chain{order: order, uses: make([]int32, tools), byUse: make([]int32, tools)}
	for t := range c.byUse {
		c.byUse[t] = int32(t)
	}
	c.rescale()
	return c
}

// Tools is the number of tools.
func (c *Chain) Tools() int { return len(c.uses) }

func (c *Chain) rescale() { c.scale = 1 / (float64(c.total) + float64(.5*float64(len(c.uses)))) }

// Observe counts a task.
func (c *Chain) Observe(task []int32) {
	for i, t := range task {
		c.add(t, 1)
		for k := 1; k <= min(c.order, i); k++ {
			c.rows.Add(Key(k, task[i-k:i]...), t, 1)
		}
	}
	c.rescale()
}

// Used adds n ≥ 0 uses of a tool to P₀ whose surroundings are unknown.
func (c *Chain) Used(t, n int32) {
	c.add(t, n)
	c.rescale()
}

// add keeps byUse sorted: the tool moves forward past those that it overtakes.
func (c *Chain) add(t, n int32) {
	was := c.place(t, len(c.byUse))
	c.uses[t] += n
	c.total += n
	is := c.place(t, was)
	copy(c.byUse[is+1:was+1], c.byUse[is:was])
	c.byUse[is] = t
}

// place is where t belongs among the first n tools by use, which are in order.
func (c *Chain) place(t int32, n int) int {
	return sort.Search(n, func(i int) bool {
		other := c.byUse[i]
		return cmp.Or(cmp.Compare(c.uses[t], c.uses[other]), cmp.Compare(other, t)) >= 0
	})
}

// ByUse is all tools, those with the largest P₀ first, then by number. It must not be changed, and is good until the
// next task is observed.
func (c *Chain) ByUse() []int32 { return c.byUse }

// Uses is n(t).
func (c *Chain) Uses(t int32) int32 { return c.uses[t] }

// Popularity is P₀(t), never 0.
func (c *Chain) Popularity(t int32) float64 {
	return (float64(c.uses[t]) + .5) * c.scale
}

// Row is what followed the last k tools of the prefix, of Total 0 if nothing did; see [Table.Row].
func (c *Chain) Row(prefix []int32, k int) Followers {
	if k > len(prefix) {
		return Followers{}
	}
	return c.rows.Row(Key(k, prefix[len(prefix)-k:]...))
}

// A Blend is what a chain says after one prefix. Only tools that followed the last one have a row of
// their own; the others share what is left, in proportion to P₀. Its zero value is ready, and it is
// filled anew by each [Chain.Blend].
type Blend struct {
	Order int     // length of the longest suffix that was seen
	Tools []int32 // tools that followed the last one, ascending
	Ratio float64 // P(t)/P₀(t) of all others
	rest  float64 // the same of P₁
	all   []float64
	first []float64
	chain *Chain
}

// P is the probability of t by all orders.
func (b *Blend) P(t int32) float64 {
	return b.all[t] + float64(b.Ratio*b.chain.Popularity(t))
}

// Followed reports whether t followed the last tool.
func (b *Blend) Followed(t int32) bool { return b.first[t] > 0 }

// First is P₁(t).
func (b *Blend) First(t int32) float64 {
	return b.first[t] + float64(b.rest*b.chain.Popularity(t))
}

// Blend fills b with what may come after the prefix.
func (c *Chain) Blend(prefix []int32, b *Blend) {
	if len(b.all) != len(c.uses) {
		b.all, b.first, b.Tools = make([]float64, len(c.uses)), make([]float64, len(c.uses)), nil
	}
	for _, t := range b.Tools {
		b.all[t], b.first[t] = 0, 0
	}
	b.chain, b.Tools, b.Order, b.Ratio, b.rest = c, b.Tools[:0], 0, 1, 1
	for b.Order < min(c.order, len(prefix)) && c.Row(prefix, b.Order+1).Total > 0 {
		b.Order++
	}
	for k := b.Order; k >= 1; k-- {
		row := c.Row(prefix, k)
		scale := 1 / (float64(row.Total) + Mass)
		for _, x := range row.Counts {
			own := float64((float64(x.N) - Discount) * scale)
			b.all[x.Tool] += float64(b.Ratio * own)
			if k == 1 {
				b.first[x.Tool] = own
				b.Tools = append(b.Tools, x.Tool)
			}
		}
		b.Ratio *= float64(Escape(row) * scale)
		b.rest = float64(Escape(row) * scale)
	}
}

// Escape is e(s), the weight a row leaves to the distribution below it.
func Escape(row Followers) float64 { return float64(Discount*float64(len(row.Counts))) + Mass }
