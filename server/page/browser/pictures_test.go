//go:build browser

package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Pictures of the real page with the sample, for the README: `make page-shots` writes them into the folder PICTURES.
func TestPictures(t *testing.T) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		t.Skip("PICTURES names no folder: make page-shots")
	}
	browser(t)
	base := serveAt(t, withSample(t), "127.0.0.1")
	ctx, _ := tab(t)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for name, s := range map[string]struct{ address, wait string }{
		"map":  {"map?paths=25&id=forge:commit_files", "section.card table button"},
		"next": {"next?profile=seed&context=metrics:list_alerts&context=metrics:query_metrics", "article svg"},
	} {
		require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(1280, 860)))
		open(t, ctx, base, s.address, s.wait)
		var picture []byte
		require.NoError(t, chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
			picture, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(70).Do(ctx)
			return err
		})))
		require.Less(t, len(picture), 150<<10, name)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".webp"), picture, 0o644))
	}
}
