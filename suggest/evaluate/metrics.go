package evaluate

import (
	"slices"

	"waymark/internal/numeric"
)

// reciprocal is 1/rank, and 0 where the rank is 0: not found.
func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

// hit is Hit@k: 1 where the target is among the first k.
func hit(rank, k int) float64 {
	if rank >= 1 && rank <= k {
		return 1
	}
	return 0
}

// Recall is the share of gold among the first k ranked.
//
//	Recall@k = |ranked[:k] ∩ gold| / |gold|
//
// ranked and gold hold distinct ids; without gold it is 0. The same holds for the metrics below.
func Recall(ranked, gold []string, k int) float64 {
	if len(gold) == 0 {
		return 0
	}
	return float64(common(ranked[:min(k, len(ranked))], gold)) / float64(len(gold))
}

// NDCG is the normalised discounted cumulative gain with binary gains, the ideal cut at k as well
// (Järvelin and Kekäläinen, ACM TOIS 20, 2002):
//
//	NDCG@k = Σ_{i<k, ranked[i] ∈ gold} 1/log2(i+2)  /  Σ_{i < min(k,|gold|)} 1/log2(i+2)
func NDCG(ranked, gold []string, k int) float64 {
	gain, ideal := 0.0, 0.0
	for i := range min(k, max(len(ranked), len(gold))) {
		g := 1 / numeric.Log2(float64(i+2))
		if i < len(ranked) && slices.Contains(gold, ranked[i]) {
			gain += g
		}
		if i < len(gold) {
			ideal += g
		}
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// averagePrecision is cut at k:
//
//	AP@k = Σ_{i<k, ranked[i] ∈ gold} (hits up to i)/(i+1)  /  min(k, |gold|)
//
// Its mean over queries is MAP@k.
func averagePrecision(ranked, gold []string, k int) float64 {
	if len(gold) == 0 {
		return 0
	}
	hits, sum := 0, 0.0
	for i, id := range ranked[:min(k, len(ranked))] {
		if slices.Contains(gold, id) {
			hits++
			sum += float64(hits) / float64(i+1)
		}
	}
	return sum / float64(min(k, len(gold)))
}

// F1 is the harmonic mean of precision and recall of two lists. What they share is counted once, but
// each is as long as it is: a prediction that repeats itself loses precision.
//
//	F1 = 2·P·R/(P+R),  P = |set(predicted) ∩ set(gold)| / len(predicted),  R = … / len(gold)
//
// Of lists of distinct elements it is the F1 of sets. It is 0 where either is empty.
func F1[T comparable](predicted, gold []T) float64 {
	both := common(predicted, gold)
	if both == 0 {
		return 0
	}
	p, r := float64(both)/float64(len(predicted)), float64(both)/float64(len(gold))
	return 2 * p * r / (p + r)
}

// exactly is the Node-F1 from which a plan counts as accurate.
const exactly = 0.99

// common counts the distinct elements that both lists have.
func common[T comparable](a, b []T) (n int) {
	for i, x := range a {
		if slices.Contains(b, x) && !slices.Contains(a[:i], x) {
			n++
		}
	}
	return n
}
