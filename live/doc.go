// Package live maintains the history of a workspace and the model computed from it.
//
//	Record, Put…, Feedback ─▶ writer ─▶ log (durable) ─▶ state ─▶ model ─▶ readers
//	                            ▲                          │        ▲
//	                            └───── measures ◀── build ─┘        one atomic pointer
//
// One goroutine, the writer, appends events, folds them and publishes models. Readers take the current [suggest.Model]
// and never wait. Expensive measures are built in the background. A build is itself an event, and its position in the
// log determines which events it counts. So the model is a pure function of the log, and a replay ([Engine.Rebuild]
// with verify) gives the same bytes.
//
// The state of a server that is not history is not part of a model: API keys, runs and logged
// scores. They are stored in tables:
//
//	system table      key/ID
//	workspace table   runs/…  runs-open/…  runs-data/…  scores/…
package live
