// Package labels predicts the labels of a text from texts whose labels are known: which tools a request
// will use, from past requests and what they used.
//
//	texts ──▶ Vocabulary ──▶ Vector ──┬─▶ Ridge     one linear model a label, all fitted at once
//	                                  └─▶ Nearest   the texts most like a new one
//
// A text becomes a vector of its words and pairs of neighbouring words, weighted tf·idf and of length 1.
// Labels are dense numbers 0 to L-1, texts are the rows 0 to n-1.
//
// The same rows give the same bits at any number of processors.
package labels
