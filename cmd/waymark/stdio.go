package main

import "io"

// stdio are the two ends a host holds. Standard input stays open to be read until the host closes it.
func stdio(in io.Reader, out io.Writer) (io.ReadCloser, io.WriteCloser) {
	r, ok := in.(io.ReadCloser)
	if !ok {
		r = io.NopCloser(in)
	}
	w, ok := out.(io.WriteCloser)
	if !ok {
		w = writeNopCloser{out}
	}
	return r, w
}

type writeNopCloser struct{ io.Writer }

func (writeNopCloser) Close() error { return nil }
