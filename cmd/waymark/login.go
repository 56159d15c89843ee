package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waymark/gateway"
)

func (a *app) gatewayLogin() *cobra.Command {
	var as gateway.LoginClient
	var secret string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to a server that asks for OAuth",
		Long: `Prints a link to the authorization server of the server, waits up to five minutes until access is granted there, and
stores the tokens in logins.json of the data directory, readable only by you. Waymark registers itself unless --client-id
is given.`,
		Example: `  waymark gateway login crm --client-id waymark --client-secret-variable CRM_CLIENT_SECRET`,
		RunE: a.atServer("logged_in", func(ctx context.Context, d gateway.Definition, logins *gateway.Logins) error {
			if as.Secret = os.Getenv(secret); secret != "" && (as.Secret == "" || as.ID == "") {
				return usagef("--client-secret-variable names a variable with a value, and needs --client-id")
			}
			ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
			defer cancel()
			err := logins.Login(ctx, d, gateway.Options{Version: version().Version, Logins: logins}, as, func(link string) {
				fmt.Fprintf(a.errs, "open this link in a browser and grant access:\n%s\n", link)
			})
			if err != nil {
				err = rejected{err}
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&as.ID, "client-id", "", "`id` of Waymark at the authorization server")
	cmd.Flags().StringVar(&secret, "client-secret-variable", "", "environment `variable` that holds the secret of the client")
	return cmd
}

func (a *app) gatewayLogout() *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Delete the tokens of a server",
		Long:  `Deletes the tokens that gateway login stored. They stay valid at the authorization server.`,
		RunE: a.atServer("logged_out", func(_ context.Context, d gateway.Definition, logins *gateway.Logins) error {
			return logins.Forget(d.ID)
		}),
	}
}

// atServer runs f for the server in the first argument.
func (a *app) atServer(done string, f func(context.Context, gateway.Definition, *gateway.Logins) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		defined, err := gateway.ReadDefinitions(a.data, a.workspace)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(defined.Servers, func(d gateway.Definition) bool { return d.ID == args[0] })
		if i < 0 {
			return fmt.Errorf("there is no server %q; waymark gateway list shows the others", args[0])
		}
		if err := f(cmd.Context(), defined.Servers[i], gateway.OpenLogins(a.data, a.workspace)); err != nil {
			return err
		}
		return a.show(map[string]string{done: args[0]}, "")
	}
}
