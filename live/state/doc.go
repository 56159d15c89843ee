// Package state keeps what a server knows besides the history, in the tables of the store: API keys, runs and their
// statistics, logged scores, and answers to requests that may be repeated. Nothing here is part of a model.
//
//	system table      key/ID
//	workspace table   runs/…  runs-open/…  runs-data/…  capability-stats/…  scores/…  once/…
package state
