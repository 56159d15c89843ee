package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
)

func (a *app) openCommand() *cobra.Command {
	var print bool
	var server string
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the page of the running server, signed in",
		Long: `Opens the page of the server that has the data directory, in the browser that $BROWSER names or the desktop's own, by a
link that signs in once and within two minutes. No key reaches the browser: the link is exchanged for a session of that
tab, which may do what you may, in --workspace, for 12 hours at most. With --server the link is for another server, as the key in
WAYMARK_KEY.`,
		Example: `  waymark open
  waymark open --print
  WAYMARK_KEY=wmk_… waymark open --server https://waymark.example.org`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := a.signInLink(cmd.Context(), server)
			if err != nil {
				return err
			}
			if print {
				if a.json {
					return a.printValue(map[string]string{"link": link})
				}
				a.printf("%s\n", link)
				return nil
			}
			return openBrowser(cmd.Context(), link)
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the link and open nothing")
	cmd.Flags().StringVar(&server, "server", "", "`URL` of another server; the key comes from WAYMARK_KEY")
	return cmd
}

// signInLink asks the running server for a link.
func (a *app) signInLink(ctx context.Context, server string) (string, error) {
	c := &client.Client{HTTP: &http.Client{Timeout: 10 * time.Second, CheckRedirect: noRedirect}, Base: strings.TrimSuffix(server, "/"), Token: os.Getenv("WAYMARK_KEY")}
	if server == "" {
		own, owner := a.remote(ctx)
		switch {
		case own == nil && owner.Addr == "":
			return "", fmt.Errorf("no server has the data directory %s; `waymark serve` starts one", a.data)
		case own == nil:
			return "", inUse(a.data, owner, "does not answer")
		}
		c = own
	} else if c.Token == "" {
		return "", errors.New("--server needs a key in WAYMARK_KEY")
	}
	body, err := c.Call(ctx, http.MethodPost, "/v1/sign-in-links", nil)
	if err != nil {
		return "", err
	}
	var made struct{ Path string }
	if err := json.Unmarshal(body, &made); err != nil || made.Path == "" {
		return "", errors.Join(errors.New("the answer is not what this program expects"), err)
	}
	return c.Base + made.Path, nil
}

// openBrowser starts the browser and waits for the program that hands the link over to it.
func openBrowser(ctx context.Context, link string) error {
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if browser := strings.Fields(os.Getenv("BROWSER")); len(browser) > 0 {
		opener = browser
	} else if opener == nil {
		opener = []string{"xdg-open"}
	}
	if out, err := exec.CommandContext(ctx, opener[0], append(opener[1:], link)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s did not open the page: %s; `waymark open --print` prints the link", opener[0], cmp.Or(strings.TrimSpace(string(out)), err.Error()))
	}
	return nil
}
