package sequence

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
	total int32
	rows  Table
}

// NewChain is an empty chain over tools 0 … tools-1 that looks back order steps.
func NewChain(tools, order int) *Chain {
	return &Chain{order: order, uses: make([]int32, tools), rows: Table{map[uint64]*Followers{}}}
}

// Tools is the number of tools.
func (c *Chain) Tools() int { return len(c.uses) }

// Grow makes room for more tools.
func (c *Chain) Grow(tools int) {
	if tools > len(c.uses) {
		c.uses = append(c.uses, make([]int32, tools-len(c.uses))...)
	}
}

// Observe counts a task.
func (c *Chain) Observe(task []int32) { c.count(task, 1) }

// Forget takes a task observed before out again.
func (c *Chain) Forget(task []int32) { c.count(task, -1) }

func (c *Chain) count(task []int32, n int32) {
	for i, t := range task {
		c.uses[t] += n
		c.total += n
		for k := 1; k <= min(c.order, i); k++ {
			c.rows.Add(Key(k, task[i-k:i]...), t, n)
		}
	}
}

// Uses is n(t).
func (c *Chain) Uses(t int32) int32 { return c.uses[t] }

// Popularity is P₀(t), never 0.
func (c *Chain) Popularity(t int32) float64 {
	return (float64(c.uses[t]) + .5) / (float64(c.total) + float64(.5*float64(len(c.uses))))
}

// Row is what followed the last k tools of the prefix, or nil.
func (c *Chain) Row(prefix []int32, k int) *Followers {
	if k > len(prefix) {
		return nil
	}
	return c.rows.Row(Key(k, prefix[len(prefix)-k:]...))
}

// Distribution fills p, one value per tool, with the probability of being next after the prefix, and
// returns the length of the longest suffix that was seen. Where first is not nil it receives P₁.
func (c *Chain) Distribution(prefix []int32, p, first []float64) (order int) {
	for t := range p {
		p[t] = c.Popularity(int32(t))
	}
	copy(first, p)
	for k := 1; k <= min(c.order, len(prefix)); k++ {
		row := c.Row(prefix, k)
		if row == nil {
			break
		}
		Interpolate(row, p)
		order = k
		if k == 1 {
			copy(first, p)
		}
	}
	return order
}

// Interpolate lets a row of counts speak on top of the distribution p, in place.
func Interpolate(row *Followers, p []float64) {
	scale := 1 / (float64(row.Total) + Mass)
	rest := Escape(row) * scale
	for t := range p {
		p[t] *= rest
	}
	for _, x := range row.Counts {
		p[x.Tool] += float64((float64(x.N) - Discount) * scale)
	}
}

// Escape is e(s), the weight a row leaves to the distribution below it.
func Escape(row *Followers) float64 { return float64(Discount*float64(len(row.Counts))) + Mass }
