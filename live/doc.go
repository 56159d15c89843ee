// Package live owns the history of a workspace and the model made from it.
//
//	Record, Put…, Feedback ─▶ writer ─▶ log (durable) ─▶ state ─▶ model ─▶ readers
//	                            ▲                          │        ▲
//	                            └───── measures ◀── build ─┘        one atomic pointer
//
// One goroutine, the writer, appends events, folds them and publishes models. Readers take the
// current [suggest.Model] and never wait. Heavy measures are built in the background: a build is
// itself an event, and its place in the log says what was counted. So the model is a pure function
// of the log, and a replay ([Engine.Rebuild] with verify) gives the same bytes.
//
// What a server knows beside the history is no part of a model: API keys, runs and logged scores, in tables of
// the store.
//
//	system table      key/ID
//	workspace table   runs/…  runs-open/…  runs-data/…  scores/…
package live
