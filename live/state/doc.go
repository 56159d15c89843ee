// Package state keeps what a server knows besides the history, in the tables of the store: API keys, runs and
// logged scores. Nothing here is part of a model.
//
//	system table      key/ID  runs-secret
//	workspace table   runs/…  runs-open/…  runs-data/…  scores/…
package state
