package gateway

func init() { prepare = func() { starter() } }
