package judge

// A Cache keeps accepted replies by the hash of model and question. It may forget any of them at any
// time and must be safe for concurrent use. Its replies are validated again.
type Cache interface {
	Get(key string) (reply string, ok bool)
	Put(key, reply string)
}
