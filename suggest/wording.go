package suggest

import (
	"cmp"
	"math"
	"slices"

	"waymark/internal/numeric"
	"waymark/learn/sequence"
	"waymark/semantic"
)

// wording compares the texts of tools with one another and with requests, by cosines of TF-IDF
// vectors: (1 + ln tf)·ln(1 + N/n). It reads the catalog alone. The text index also holds past
// intents, in which a past request would find itself.
type wording struct {
	postings map[string][]sequence.Vote // by word, the tools that have it with its part of their vectors
	idf      map[string]float64
	vectors  [][]part // by tool
	tools    int
}

// part is one component of a sparse vector of unit length.
type part struct {
	word string
	x    float64
}

const (
	leastLike  = .02 // a request is like a tool
	leastAlike = .1  // a tool is like another
	mostAlike  = 30  // tools that a tool is like
)

// newWording reads texts as lists of words, one a tool.
func newWording(texts [][]string) *wording {
	w := &wording{postings: map[string][]sequence.Vote{}, idf: map[string]float64{}, vectors: make([][]part, len(texts)), tools: len(texts)}
	has := map[string]int{}
	for i, words := range texts {
		words = slices.Clone(words)
		slices.Sort(words)
		for at := 0; at < len(words); {
			end := at + 1
			for end < len(words) && words[end] == words[at] {
				end++
			}
			has[words[at]]++
			w.vectors[i] = append(w.vectors[i], part{words[at], 1 + numeric.Ln(float64(end-at))})
			at = end
		}
	}
	for word, n := range has {
		w.idf[word] = numeric.Ln(1 + float64(len(texts))/float64(n))
	}
	for i, v := range w.vectors {
		sum := 0.0
		for k := range v {
			v[k].x *= w.idf[v[k].word]
			sum += float64(v[k].x * v[k].x)
		}
		length := math.Sqrt(sum)
		for k := range v {
			v[k].x /= length
			w.postings[v[k].word] = append(w.postings[v[k].word], sequence.Vote{Tool: int32(i), Share: v[k].x})
		}
	}
	return w
}

// like are the tools whose texts are like a request, rising.
func (w *wording) like(request string) []sequence.Vote {
	words := semantic.Tokens(request)
	slices.Sort(words)
	words = slices.Compact(words)
	sum := 0.0
	for _, word := range words {
		sum += float64(w.idf[word] * w.idf[word])
	}
	if sum == 0 {
		return nil
	}
	length := math.Sqrt(sum)
	score := make([]float64, w.tools)
	for _, word := range words {
		x := w.idf[word] / length
		for _, v := range w.postings[word] {
			score[v.Tool] += float64(x * v.Share)
		}
	}
	var votes []sequence.Vote
	for t, s := range score {
		if s > leastLike {
			votes = append(votes, sequence.Vote{Tool: int32(t), Share: s})
		}
	}
	return votes
}

// alike lists for each tool those whose texts are most like its own. Words that a fifth of the tools
// have tell none apart.
func (w *wording) alike() [][]sequence.Vote {
	alike := make([][]sequence.Vote, w.tools)
	score := make([]float64, w.tools)
	var met []int32
	for t, vector := range w.vectors {
		met = met[:0]
		for _, p := range vector {
			postings := w.postings[p.word]
			if len(postings) > w.tools/5+5 {
				continue
			}
			for _, v := range postings {
				if score[v.Tool] == 0 {
					met = append(met, v.Tool)
				}
				score[v.Tool] += float64(p.x * v.Share)
			}
		}
		var votes []sequence.Vote
		for _, u := range met {
			if int(u) != t && score[u] > leastAlike {
				votes = append(votes, sequence.Vote{Tool: u, Share: score[u]})
			}
			score[u] = 0
		}
		slices.SortFunc(votes, func(a, b sequence.Vote) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Tool, b.Tool))
		})
		alike[t] = slices.Clone(votes[:min(len(votes), mostAlike)])
	}
	return alike
}
