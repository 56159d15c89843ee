package hook

import (
	"os"
	"path/filepath"
	"runtime"
)

// DataDir returns the platform's directory for the application's data; "" if the platform defines none.
func DataDir() string {
	home, _ := os.UserHomeDir() // empty: handled by each branch
	switch {
	case runtime.GOOS == "windows":
		if d := os.Getenv("LocalAppData"); d != "" {
			return filepath.Join(d, "waymark")
		}
	case filepath.IsAbs(os.Getenv("XDG_DATA_HOME")): // the XDG specification ignores relative ones
		return filepath.Join(os.Getenv("XDG_DATA_HOME"), "waymark")
	case home == "":
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "waymark")
	default:
		return filepath.Join(home, ".local", "share", "waymark")
	}
	return ""
}
