package evidence

func added(terms []Term) float64 {
	total := 0.0
	for _, t := range terms {
		total += t.Contribution
	}
	return total
}
